//! `dataperf dataset init` and `check`: the beginnings of a contest on one's own data.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use clap::builder::PossibleValuesParser;
use dataperf_benchmarks::own_data::TASKS;
use serde_json::json;

use super::meaning::Meaning;
use super::trial::{Trial, try_all};
use crate::Done;
use crate::hosted::leaderboards;
use crate::import::ImportSource;
use crate::on_disk::open;
use crate::output::rows::{RowFormat, print_tabled};
use crate::output::{Format, align_right, print_json, table};
use crate::registry::with_benchmark;

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The task
    #[arg(value_parser = PossibleValuesParser::new(TASKS))]
    task: String,
    /// The folder to begin
    #[arg(long, default_value = ".")]
    out: PathBuf,
    /// Print the JSON Schema of the document and write nothing
    #[arg(long)]
    schema: bool,
}

pub(super) fn init(args: &InitArgs, format: Format) -> Result<Done> {
    if args.schema {
        print!(
            "{}",
            dataperf_benchmarks::own_data::schema(&args.task).unwrap_or_default()
        );
        return Ok(Done::Fine);
    }
    let files = dataperf_benchmarks::own_data::init(&args.task, &args.out)?.unwrap_or_default();
    match format {
        Format::Json => print_json(&json!({ "task": args.task, "files": files }))?,
        Format::Text => {
            for file in &files {
                println!("wrote `{}`", file.display());
            }
            let (task, out) = (&args.task, args.out.display());
            println!(
                "Put your features and labels into the same folder, and name them there. Then run\n  dataperf dataset check \
         {task} --from {out}"
            );
        }
    }
    Ok(Done::Fine)
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The task
    #[arg(value_parser = PossibleValuesParser::new(TASKS))]
    task: String,
    /// The folder with `task.yaml`
    #[arg(long, default_value = ".")]
    from: PathBuf,
}

pub(super) async fn check(args: CheckArgs, format: RowFormat) -> Result<Done> {
    let scratch = tempfile::tempdir().context("can't make a temporary directory")?;
    dataperf_datasets::note_unfinished(scratch.path()); // it has the hidden labels
    let out = scratch.path().join("frozen");
    let task = ImportSource {
        from: &args.from,
        out: &out,
    };
    with_benchmark(&args.task, task).await?;
    let manifest = open(&out)?.manifest;
    let trials = try_all(&out, &manifest).await?;
    let meaning = Meaning::read(&out, &manifest, &trials).await?;
    let report = meaning.as_ref();
    let document = || {
        Ok(json!({
            "task": args.task, "from": args.from, "leaderboards": leaderboards(&manifest)?, "trials": trials,
            "summary": report.map(Meaning::document), "baselines": report.map(|report| &report.baselines),
            "findings": report.map(|report| &report.findings),
        }))
    };
    let columns = ["leaderboard", "artifact_bytes", "score", "seconds", "peak_mb"];
    let rows = || trials.iter().map(|trial| json!(trial)).collect();
    print_tabled(document, &columns, rows, format, || {
        println!("`{}` is a contest of `{}`", args.from.display(), args.task);
        print_trials(&trials);
        if let Some(report) = report {
            println!();
            report.print();
        }
        Ok(())
    })?;
    let mut findings = report.iter().flat_map(|report| &report.findings);
    if findings.any(|finding| finding.refuses) {
        return Ok(Done::Rejected);
    }
    Ok(Done::Fine)
}

fn print_trials(trials: &[Trial]) {
    let mut shown = table(&[
        "leaderboard",
        "largest artifact",
        "score",
        "seconds",
        "memory in MB",
    ]);
    for column in [1, 2, 3, 4] {
        align_right(&mut shown, column);
    }
    for trial in trials {
        shown.add_row([
            trial.leaderboard.clone(),
            format!("{} bytes", trial.artifact_bytes),
            format!("{:.4}", trial.score),
            format!("{:.2}", trial.seconds),
            trial.peak_mb.map(|mb| mb.to_string()).unwrap_or_default(),
        ]);
    }
    println!("{shown}");
}
