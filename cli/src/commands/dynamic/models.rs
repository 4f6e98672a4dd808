//! `dataperf dynamic models`: programs that answer the test sets of rounds, compared.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use dataperf::benchmark::closed::DataFile;
use dataperf::programs::Programs;
use dataperf::{Benchmark as _, Digest};
use dataperf_benchmarks::adversarial_text_models::AdversarialTextModels;
use dataperf_closed::{ENGINE, Failure, Job, Limits, Runner};
use dataperf_collections::text::Task;
use dataperf_collections::text::compare::{Measured, Outcome, Rates, Report, Trial, TrialItem, TrialRun};
use dataperf_collections::text::export::{Row, Split};
use serde::Serialize;
use serde_json::{Value, json};

use super::comparison::{print_report, weights};
use super::training::data::{Named, check_names, lines, part};
use crate::Done;
use crate::commands::participant::closed::read;
use crate::output::progress;
use crate::output::rows::{RowFormat, print_tabled};
use crate::output::{line_of, print_json};

/// Bytes of answers that are read of a program: as many as a board reads.
const MAX_ANSWERS_BYTES: u64 = AdversarialTextModels::MAX_ARTIFACT_BYTES;
/// The settings that do not depend on the command line.
const DEFAULTS: Limits = Limits::for_artifacts_of(MAX_ANSWERS_BYTES);

#[derive(Debug, Args)]
pub(crate) struct ModelsArgs {
    /// Programs, each by NAME=FILE or by its file
    #[arg(
        long = "program",
        value_name = "[NAME=]FILE",
        required_unless_present = "data"
    )]
    programs: Vec<Named>,
    /// Exported rounds, each by NAME=DIR or by its directory
    #[arg(long = "round", value_name = "[NAME=]DIR", required = true)]
    rounds: Vec<Named>,
    /// The price of a point of performance in fuel, memory, robustness and fairness
    #[arg(
        long,
        value_name = "FUEL,MIB,ROBUSTNESS,FAIRNESS",
        value_delimiter = ',',
        num_args = 1
    )]
    rates: Option<Vec<f64>>,
    /// Weights: performance, compute, memory, robustness, fairness
    #[arg(long, value_name = "W,W,W,W,W", value_delimiter = ',', num_args = 1)]
    weights: Option<Vec<f64>>,
    /// The most fuel that a program may use
    #[arg(long, value_name = "UNITS", default_value_t = DEFAULTS.max_fuel, value_parser = clap::value_parser!(u64).range(1..=Programs::MOST_FUEL))]
    max_fuel: u64,
    /// A program's memory in MiB
    #[arg(long, value_name = "MIB", default_value_t = DEFAULTS.max_memory_bytes >> 20, value_parser = clap::value_parser!(u64).range(1..=Programs::MOST_MEMORY_MIB))]
    max_memory: u64,
    /// Also write the input of programs to this new directory
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// A program's run and how it did.
#[derive(Serialize)]
struct Ran {
    name: String,
    module: Digest,
    /// Of what it wrote.
    output: Digest,
    measured: Measured,
    outcome: Outcome,
}

/// The printed document.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    report: &'a Report,
    engine: &'static str,
    n_inputs: usize,
    runs: &'a [Ran],
}

pub(super) fn run(args: &ModelsArgs, format: RowFormat) -> Result<Done> {
    check_names(&args.rounds)?;
    check_names(&args.programs)?;
    let (rates, weights) = (rates(args)?, weights(args.weights.as_deref())?);
    let trial = trial(&args.rounds)?;
    let files = data_files(&trial)?;
    if let Some(out) = &args.data {
        fs::create_dir(out).with_context(|| format!("can't make the directory `{}`", out.display()))?;
        for file in &files {
            let path = out.join(&file.name);
            fs::write(&path, &file.bytes).with_context(|| format!("can't write `{}`", path.display()))?;
        }
        if args.programs.is_empty() {
            let file = |file: &DataFile| json!({ "file": file.name, "bytes": file.bytes.len() });
            let rows: Vec<Value> = files.iter().map(file).collect();
            let document = || Ok(json!({ "directory": out, "files": rows }));
            print_tabled(
                document,
                &["file", "bytes"],
                || rows.clone(),
                format,
                || {
                    println!(
                        "`{}` has what programs read: {} files",
                        out.display(),
                        files.len()
                    );
                    Ok(())
                },
            )?;
            return Ok(Done::Fine);
        }
    }
    let runs = run_all(args, &trial, &files)?;
    let n_inputs = trial.lines().len();
    let (shown, judged): (Vec<Ran>, Vec<TrialRun>) = runs.into_iter().unzip();
    let report = trial.report(&judged, rates, weights);
    if format == RowFormat::Json {
        print_json(&Document {
            report: &report,
            engine: ENGINE,
            n_inputs,
            runs: &shown,
        })?;
        return Ok(Done::Fine);
    }
    let outcomes: Vec<(&str, &Outcome)> = shown
        .iter()
        .map(|ran| (ran.name.as_str(), &ran.outcome))
        .collect();
    print_report(&report, &outcomes, n_inputs, format)?;
    Ok(Done::Fine)
}

fn rates(args: &ModelsArgs) -> Result<Rates> {
    let rates = match args.rates.as_deref() {
        None => Rates::default(),
        Some(&[fuel, memory, robustness, fairness]) => Rates {
            fuel,
            memory,
            robustness,
            fairness,
        },
        Some(other) => bail!(
            "`--rates` are {} numbers and have to be 4: fuel, memory, robustness, fairness",
            other.len()
        ),
    };
    rates.check()?;
    Ok(rates)
}

/// The test sets of all rounds.
fn trial(rounds: &[Named]) -> Result<Trial> {
    let mut items = Vec::new();
    for round in rounds {
        let rows: Vec<Row> = lines(&part(&round.path, Split::Test), Ok::<Row, String>)?;
        ensure!(
            !rows.is_empty(),
            "the test set of the round `{}` has no examples: leave the round out",
            round.name
        );
        items.extend(rows.into_iter().map(|row| TrialItem::of_row(&round.name, row)));
    }
    Ok(Trial::new(items))
}

/// The files that a program finds below `/data`.
fn data_files(trial: &Trial) -> Result<Vec<DataFile>> {
    let labels = Task::ALL.map(|task| (task.as_str().to_owned(), json!(task.labels())));
    let task = json!({
        "schema": 1, "benchmark": dataperf_collections::text::BENCHMARK, "n_inputs": trial.lines().len(),
        "labels": Value::Object(labels.into_iter().collect()),
    });
    let mut inputs = Vec::new();
    for line in trial.lines() {
        serde_json::to_writer(&mut inputs, line)?;
        inputs.push(b'\n');
    }
    let file = |name: &str, bytes| DataFile {
        name: name.to_owned(),
        bytes,
    };
    Ok(vec![
        file("task.json", format!("{task:#}\n").into_bytes()),
        file("inputs.jsonl", inputs),
    ])
}

/// Runs all programs, or says of each one that fails why.
fn run_all(args: &ModelsArgs, trial: &Trial, files: &[DataFile]) -> Result<Vec<(Ran, TrialRun)>> {
    let runner = Runner::of_this_program()?;
    let limits = Limits {
        max_fuel: args.max_fuel,
        max_memory_bytes: args.max_memory << 20,
        ..DEFAULTS
    };
    let seed = Digest::compute(
        &files
            .iter()
            .flat_map(|file| file.bytes.clone())
            .collect::<Vec<u8>>(),
    )
    .bytes();
    let (mut ran, mut problems) = (Vec::new(), Vec::new());
    let bar = progress::counting(args.programs.len() as u64, "running programs");
    for program in &args.programs {
        let path = program.path.display();
        let module = match read(&program.path, limits.max_module_bytes)? {
            Ok(module) => module,
            Err(n_bytes) => {
                let failure = Failure::module_too_large(&limits, n_bytes);
                problems.push(format!("`{path}`: {}", failure.reason(&limits).message));
                bar.inc(1);
                continue;
            }
        };
        let job = Job {
            module: &module,
            files,
            seed,
        };
        let run = runner.run(job, limits)?;
        let answers = match &run.output {
            Ok(written) => trial.answers(written).map_err(|error| error.to_string()),
            Err(failure) => Err(failure.reason(&limits).message),
        };
        match (answers, run.fuel, run.memory_bytes) {
            (Ok(answers), Some(fuel), Some(memory_bytes)) => {
                let measured = Measured { fuel, memory_bytes };
                let judged = trial.judged(&answers);
                let shown = Ran {
                    name: program.name.clone(),
                    module: run.module,
                    output: Digest::compute(run.output.as_deref().unwrap_or_default()),
                    measured,
                    outcome: trial.outcome(&judged),
                };
                let judged = TrialRun {
                    name: program.name.clone(),
                    measured,
                    judged,
                };
                ran.push((shown, judged));
            }
            (Err(why), ..) => problems.push(format!("`{path}`: {}", line_of(&why))),
            _ => problems.push(format!("`{path}`: nothing was measured of its run")),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    ensure!(
        problems.is_empty(),
        "there are programs without usable answers:\n  - {}",
        problems.join("\n  - ")
    );
    Ok(ran)
}
