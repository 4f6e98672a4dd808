//! `dataperf closed`: programs instead of artifacts, run on this machine as the closed division runs them.

use std::ffi::OsString;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use dataperf::benchmark::FrozenPart;
use dataperf::benchmark::closed::{ClosedTask, DataFile};
use dataperf::benchmark::dataset::Dataset;
use dataperf::dataset::frozen::FrozenError;
use dataperf::dataset::{DatasetError, Integrity};
use dataperf::evaluation::evaluate::{check, evaluate};
use dataperf::programs::{Layer, Programs};
use dataperf::{Digest, Rejection, Verdict};
use dataperf_benchmarks::IDS;
use dataperf_closed::{ENGINE, Failure, Job, Limits, Probe, Run, Runner};
use dataperf_datasets::Import;
use serde::Serialize;
use serde_json::{Value, json};

use super::score::{done, open};
use crate::Done;
#[cfg(feature = "cloud")]
use crate::cloud::CloudArgs;
use crate::on_disk;
use crate::output::progress::waiting;
use crate::output::rows::{OF_VERDICTS, RowFormat, of_verdict, print_tabled};
use crate::output::{Format, check_new_files, print_json, print_verdict, table};
use crate::registry::{Action, with_benchmark};

/// The default limits, as far as they don't depend on the benchmark.
const DEFAULTS: Limits = Limits::for_artifacts_of(0);

/// Which board a program is for.
#[derive(Debug, Args)]
struct BoardArgs {
    /// The benchmark [default: that of the data set]
    #[arg(value_parser = PossibleValuesParser::new(IDS))]
    benchmark: Option<String>,
    /// The leaderboard [default: the only one]
    #[arg(long, short)]
    leaderboard: Option<String>,
    /// The data set's directory
    #[arg(long, short)]
    dataset: PathBuf,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClosedCommand {
    /// Run a program on a data set and score its artifact
    Run(RunArgs),
    /// Write the files that a program reads below `/data`
    Data(DataArgs),
    /// Show the layers that confine programs
    Probe(ProbeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ProbeArgs {
    /// Probe this machine
    #[cfg(feature = "cloud")]
    #[arg(long)]
    here: bool,
    #[cfg(feature = "cloud")]
    #[command(flatten)]
    cloud: CloudArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The program: `.wasm`, or `.py` or `.zip` with `main.py` for Python
    program: PathBuf,
    #[command(flatten)]
    board: BoardArgs,
    /// Show the program's standard error
    #[arg(long)]
    log: bool,
    /// The program's fuel
    #[arg(long, value_name = "UNITS", default_value_t = DEFAULTS.max_fuel, value_parser = clap::value_parser!(u64).range(1..=Programs::MOST_FUEL))]
    max_fuel: u64,
    /// The Python interpreter
    #[arg(long, value_name = "FILE", default_value = "python3")]
    python: OsString,
    /// Seconds for a Python program
    #[arg(long, value_name = "SECONDS", default_value_t = DEFAULTS.run_seconds, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    max_seconds: u64,
    /// Memory in MiB
    #[arg(long, value_name = "MIB", default_value_t = DEFAULTS.max_memory_bytes >> 20, value_parser = clap::value_parser!(u64).range(1..=Programs::MOST_MEMORY_MIB))]
    max_memory: u64,
    /// Largest program in KiB
    #[arg(long, value_name = "KIB", default_value_t = Programs::MAX_MODULE_BYTES >> 10, value_parser = clap::value_parser!(u64).range(1..=(Programs::MAX_MODULE_BYTES >> 10)))]
    max_module: u64,
    /// Largest standard output in KiB
    #[arg(long, value_name = "KIB", value_parser = clap::value_parser!(u64).range(1..))]
    max_output: Option<u64>,
    /// Write the artifact to this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct DataArgs {
    #[command(flatten)]
    board: BoardArgs,
    /// The directory to make
    #[arg(long)]
    out: PathBuf,
}

pub(crate) async fn run(command: ClosedCommand, format: RowFormat) -> Result<Done> {
    match command {
        ClosedCommand::Run(args) => run_program(args, format).await,
        ClosedCommand::Data(args) => write_data(args, format.of_documents()?).await,
        ClosedCommand::Probe(args) => probe(args, format.of_documents()?).await,
    }
}

async fn probe(args: ProbeArgs, format: Format) -> Result<Done> {
    #[cfg(feature = "cloud")]
    if !args.here {
        let answer = args.cloud.connect().await?.evaluators().probe_programs().await;
        let answer = answer.context("check that the deployment's parameter `Programs` is `true`")?;
        let about = || format!("the function that runs programs answers {answer}");
        let probe = serde_json::from_value(answer.clone()).with_context(about)?;
        return print_probe(&probe, format);
    }
    #[cfg(not(feature = "cloud"))]
    let ProbeArgs {} = args;
    print_probe(&Runner::of_this_program()?.probe()?, format)
}

fn print_probe(probe: &Probe, format: Format) -> Result<Done> {
    match format {
        Format::Json => print_json(probe)?,
        Format::Text => {
            let mut lines = table(&["layer", "holds", "required", "why not"]);
            for layer in Layer::ALL {
                let is = |has: bool| if has { "yes" } else { "no" }.to_owned();
                lines.add_row([
                    json!(layer).as_str().unwrap_or_default().to_owned(),
                    is(probe.layers.contains(&layer)),
                    is(probe.required.contains(&layer)),
                    probe.missing.get(&layer).cloned().unwrap_or_default(),
                ]);
            }
            println!("{lines}\n{}", probe.engine);
        }
    }
    ensure!(
        probe.runs,
        "that machine runs no programs, because not all required layers hold"
    );
    Ok(Done::Fine)
}

async fn run_program(args: RunArgs, format: RowFormat) -> Result<Done> {
    check_new_files(&[args.out.as_deref()])?;
    let benchmark = benchmark_of(&args.board)?;
    let spinner = waiting("running the program");
    let judged = with_benchmark(&benchmark, Judge(&args)).await;
    spinner.finish_and_clear();
    let Judged {
        outcome,
        run,
        engine,
        limits,
    } = judged?;
    let (log, is_log_cut) = run
        .as_ref()
        .map_or((&[][..], false), |run| (&run.log, run.is_log_cut));
    let log = String::from_utf8_lossy(log).into_owned();
    let max_fuel = Some(limits.max_fuel).filter(|_| !is_python(&args.program));
    let mut about = json!({
        "module": run.as_ref().map(|run| run.module), "engine": engine,
        "fuel": run.as_ref().and_then(|run| run.fuel), "max_fuel": max_fuel,
        "output": run.as_ref().and_then(|run| Some(Digest::compute(run.output.as_ref().ok()?))),
    });
    if args.log
        && let Value::Object(about) = &mut about
    {
        about.insert("log".into(), log.as_str().into());
        about.insert("is_log_cut".into(), is_log_cut.into());
    }
    let done = match &outcome {
        Outcome::Judged(verdict) => done(verdict),
        Outcome::Valid { .. } => Done::Fine,
    };
    let report = Report {
        outcome: &outcome,
        run: about,
    };
    let rows = || match &outcome {
        Outcome::Judged(verdict) => of_verdict(verdict),
        valid @ Outcome::Valid { .. } => vec![json!(valid)],
    };
    print_tabled(
        || Ok(&report),
        &OF_VERDICTS,
        rows,
        format,
        || {
            if args.log {
                eprint!("{}", shown(&log));
                if is_log_cut {
                    eprintln!("… the log has more than {} bytes", limits.max_log_bytes);
                }
            }
            match &outcome {
                Outcome::Judged(verdict) => print_verdict(verdict, None),
                Outcome::Valid {
                    benchmark,
                    leaderboard,
                    ..
                } => {
                    println!(
                        "{benchmark} {leaderboard}: valid; the data set has no test set to score it with"
                    );
                }
            }
            if let Some(run) = run {
                let fuel = run.fuel;
                let fuel = fuel.map(|fuel| format!("{fuel} of {} units of fuel, ", limits.max_fuel));
                println!("program {}: {}{engine}", run.module, fuel.unwrap_or_default());
            }
            if !args.log && !log.is_empty() {
                println!(
                    "it wrote {} bytes to standard error: `--log` shows them",
                    log.len()
                );
            }
            Ok(())
        },
    )?;
    Ok(done)
}

/// A program's log, with terminal control characters replaced.
fn shown(log: &str) -> String {
    let visible = |c: char| {
        if c.is_control() && !matches!(c, '\n' | '\t') {
            '\u{fffd}'
        } else {
            c
        }
    };
    log.chars().map(visible).collect()
}

/// The printed document of a run.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    outcome: &'a Outcome,
    run: Value,
}

/// The result for an artifact.
#[derive(Serialize)]
#[serde(untagged)]
enum Outcome {
    /// It was scored or rejected.
    Judged(Box<Verdict>),
    /// It obeys the rules, and there is nothing to score it with.
    Valid {
        status: &'static str,
        benchmark: &'static str,
        leaderboard: String,
        dataset: Digest,
        artifact: Digest,
    },
}

struct Judged {
    outcome: Outcome,
    /// `None` of a file that is too large to be looked at.
    run: Option<Run>,
    engine: String,
    limits: Limits,
}

/// Runs a program and judges what it writes.
struct Judge<'a>(&'a RunArgs);

impl Action for Judge<'_> {
    type Output = Judged;

    async fn run<B: Import>(self) -> Result<Judged> {
        let args = self.0;
        let Opened {
            dataset,
            leaderboard,
            task,
            seed,
        } = opened::<B>(&args.board).await?;
        let max_output_bytes = args.max_output.map(|kib| kib.saturating_mul(1024));
        let max_output_bytes = max_output_bytes.unwrap_or(u64::MAX).min(B::MAX_ARTIFACT_BYTES);
        let limits = Limits {
            max_fuel: args.max_fuel,
            max_memory_bytes: args.max_memory << 20,
            run_seconds: if is_python(&args.program) {
                args.max_seconds
            } else {
                DEFAULTS.run_seconds
            },
            max_module_bytes: args.max_module << 10,
            ..Limits::for_artifacts_of(max_output_bytes)
        };
        let rejected = |rejection: &Rejection, artifact| {
            let verdict = Verdict::rejected(B::ID, &leaderboard, Some(dataset.digest()), artifact, rejection);
            Outcome::Judged(Box::new(verdict))
        };
        let module = match read(&args.program, limits.max_module_bytes)? {
            Ok(module) => module,
            Err(n_bytes) => {
                let reason = Failure::module_too_large(&limits, n_bytes).reason(&limits);
                return Ok(Judged {
                    outcome: rejected(&reason.into(), None),
                    run: None,
                    engine: ENGINE.to_owned(),
                    limits,
                });
            }
        };
        let job = Job {
            module: &module,
            files: &task.files,
            seed,
        };
        let (run, engine) = if is_python(&args.program) {
            in_python(args, job, limits)?
        } else {
            (Runner::of_this_program()?.run(job, limits)?, ENGINE.to_owned())
        };
        let outcome = match run.artifact::<B::ClosedBoards>(&task, &limits) {
            Err(rejection) => rejected(&rejection, None),
            Ok(artifact) => {
                if let Some(out) = &args.out {
                    let about = || format!("can't write `{}`", out.display());
                    fs::write(out, &artifact).with_context(about)?;
                }
                judged(&dataset, &leaderboard, &artifact, rejected).await?
            }
        };
        Ok(Judged {
            outcome,
            run: Some(run),
            engine,
            limits,
        })
    }
}

/// Whether a program is in Python, by its name.
fn is_python(program: &Path) -> bool {
    program.to_str().is_some_and(Programs::is_python)
}

/// A program's bytes, or the size of a program that has more than `max_bytes`. At most one byte more than that is read.
pub(crate) fn read(program: &Path, max_bytes: u64) -> Result<Result<Vec<u8>, u64>> {
    let name = program.display();
    let about = || format!("can't use the program `{name}`");
    // checked before opening, because opening a pipe may never end
    let about_file = fs::metadata(program).with_context(about)?;
    ensure!(
        about_file.is_file(),
        "can't use the program `{name}`: it is not a regular file; name a `.wasm`, `.py` or `.zip` file"
    );
    let mut bytes = Vec::new();
    let file = fs::File::open(program).with_context(about)?;
    file.take(max_bytes + 1)
        .read_to_end(&mut bytes)
        .with_context(about)?;
    // it may have grown meanwhile
    let n_bytes = about_file.len().max(bytes.len() as u64);
    Ok(if n_bytes > max_bytes {
        Err(n_bytes)
    } else {
        Ok(bytes)
    })
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn in_python(args: &RunArgs, job: Job<'_>, limits: Limits) -> Result<(Run, String)> {
    let python = dataperf_closed::Python::new(std::env::current_exe()?, &args.python)?;
    python.check_unreadable(&[("the data set", &args.board.dataset)])?;
    Ok((python.run(job, limits)?, python.engine().to_owned()))
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn in_python(_: &RunArgs, _: Job<'_>, _: Limits) -> Result<(Run, String)> {
    bail!("programs in Python run only on Linux on x86_64")
}

/// The verdict on an artifact; without a test set, only that it is valid.
async fn judged<B: Import>(
    dataset: &Dataset<B>,
    leaderboard: &str,
    artifact: &[u8],
    rejected: impl Fn(&Rejection, Option<Digest>) -> Outcome,
) -> Result<Outcome> {
    let digest = Digest::compute(artifact);
    match evaluate(dataset, leaderboard, artifact).await {
        Ok(verdict) => return Ok(Outcome::Judged(Box::new(verdict))),
        Err(DatasetError::Frozen(FrozenError::ForParticipants { .. })) => {}
        Err(error) => return Err(error.into()),
    }
    match check(dataset, leaderboard, artifact).await {
        Ok(()) => Ok(Outcome::Valid {
            status: "valid",
            benchmark: B::ID,
            leaderboard: leaderboard.to_owned(),
            dataset: dataset.digest(),
            artifact: digest,
        }),
        Err(not_scored) => Ok(rejected(&not_scored.rejection()?, Some(digest))),
    }
}

async fn write_data(args: DataArgs, format: Format) -> Result<Done> {
    check_new_files(&[Some(&args.out)])?;
    let benchmark = benchmark_of(&args.board)?;
    let files = with_benchmark(&benchmark, Data(&args.board)).await?;
    let about = || format!("can't write `{}`", args.out.display());
    fs::create_dir(&args.out).with_context(about)?;
    for file in &files {
        fs::write(args.out.join(&file.name), &file.bytes).with_context(about)?;
    }
    match format {
        Format::Json => {
            let named = files
                .iter()
                .map(|file| json!({ "name": file.name, "n_bytes": file.bytes.len() }));
            print_json(&json!({ "files": named.collect::<Vec<_>>() }))?;
        }
        Format::Text => {
            for file in &files {
                println!(
                    "{:>12} bytes  {}",
                    file.bytes.len(),
                    args.out.join(&file.name).display()
                );
            }
        }
    }
    Ok(Done::Fine)
}

/// Makes the files that a program finds.
struct Data<'a>(&'a BoardArgs);

impl Action for Data<'_> {
    type Output = Vec<DataFile>;

    async fn run<B: Import>(self) -> Result<Vec<DataFile>> {
        Ok(opened::<B>(self.0).await?.task.files)
    }
}

/// A data set with the files that a program sees of one board.
struct Opened<B: Import> {
    dataset: Dataset<B>,
    leaderboard: String,
    task: ClosedTask,
    seed: [u8; 32],
}

async fn opened<B: Import>(args: &BoardArgs) -> Result<Opened<B>> {
    let leaderboard = match &args.leaderboard {
        Some(leaderboard) => leaderboard.clone(),
        None => only_leaderboard::<B>(&args.dataset)?,
    };
    let dataset = open::<B>(&args.dataset, &leaderboard, Integrity::Digests).await?;
    dataset.check_board(&leaderboard)?;
    let task = dataset.closed_task(&leaderboard).await?;
    let (task, seed) = task.with_context(|| {
        let hosted = dataperf_hosted::HOSTED.iter();
        let takers = hosted.filter(|hosted| hosted.takes_programs);
        let takers: Vec<&str> = takers.map(|hosted| hosted.id).collect();
        format!(
            "`{}` takes no programs: name a data set of a benchmark that does, which are `{}`",
            B::ID,
            takers.join("`, `")
        )
    })?;
    Ok(Opened {
        dataset,
        leaderboard,
        task,
        seed,
    })
}

fn only_leaderboard<B: Import>(directory: &Path) -> Result<String> {
    let names: Vec<String> = B::Frozen::leaderboards(&on_disk::open(directory)?.manifest)?
        .into_iter()
        .map(|board| board.name)
        .collect();
    match &names[..] {
        [only] => Ok(only.clone()),
        _ => bail!(
            "the data set has several leaderboards: choose one with `--leaderboard`: `{}`",
            names.join("`, `")
        ),
    }
}

/// The requested benchmark, or that of the data set.
fn benchmark_of(args: &BoardArgs) -> Result<String> {
    match &args.benchmark {
        Some(benchmark) => Ok(benchmark.clone()),
        None => Ok(on_disk::open(&args.dataset)?.manifest.benchmark),
    }
}
