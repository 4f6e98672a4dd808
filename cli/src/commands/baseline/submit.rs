//! `dataperf baseline submit`: baselines on a cloud's boards.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, value_parser};
use dataperf::Receipt;
use dataperf::challenge::BASELINE_PREFIX;
use dataperf::dataset::frozen::Manifest;
use dataperf_baselines::{Baselines, Method};
use dataperf_datasets::Import;
use serde_json::json;

use super::{MAX_JOBS, MakeBaseline, write};
use crate::Done;
use crate::cloud::{Cloud, CloudArgs};
use crate::commands::participant::submit::{receipt, upload};
use crate::hosted::{descriptor, leaderboards};
use crate::on_disk::open as open_manifest;
use crate::output::progress::PhaseBars;
use crate::output::rows::{RowFormat, print_tabled};
use crate::output::{align_right, score, table};
use crate::registry::{Action, with_benchmark};

#[derive(Debug, Args)]
pub(super) struct SubmitArgs {
    /// Submit only this method [default: all of the benchmark's]
    method: Option<String>,
    /// The active data set's directory
    #[arg(long, short, value_name = "DIR")]
    dataset: PathBuf,
    /// Submit only to this leaderboard [default: all of the data set's]
    #[arg(long, short)]
    leaderboard: Option<String>,
    /// The seed for random choices
    #[arg(long, default_value_t = 0)]
    seed: u32,
    /// How long to wait for each verdict
    #[arg(long, value_name = "SECONDS", default_value_t = 900)]
    timeout: u64,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, value_parser = value_parser!(u16).range(0..=MAX_JOBS))]
    jobs: u16,
    #[command(flatten)]
    cloud: CloudArgs,
}

/// The methods that work on a data set.
pub(crate) struct Methods<'a>(pub(crate) &'a Manifest);

impl Action for Methods<'_> {
    type Output = Vec<&'static Method>;

    async fn run<B: Import + Baselines>(self) -> Result<Vec<&'static Method>> {
        Ok(B::methods(self.0)?)
    }
}

/// Makes one baseline into `directory` and returns the file, which is named after the method and the seed.
pub(crate) async fn make_into(directory: &Path, benchmark: &str, task: MakeBaseline<'_>) -> Result<PathBuf> {
    let name = format!(
        "{benchmark}-{}-{}-{}.json",
        task.leaderboard, task.method, task.seed
    );
    let file = directory.join(name);
    write(&file, &with_benchmark(benchmark, task).await?.artifact)?;
    Ok(file)
}

pub(super) async fn run(args: SubmitArgs, format: RowFormat) -> Result<Done> {
    let manifest = open_manifest(&args.dataset)?.manifest;
    let benchmark = manifest.benchmark.clone();
    ensure!(
        !descriptor(&benchmark)?.only_programs,
        "{benchmark} takes programs alone, and a baseline is an artifact: a board would refuse it. Submit a program that does the same, \
         such as one of `examples/closed`"
    );
    let boards = leaderboards(&manifest)?;
    let boards = boards.into_iter().map(|board| board.name);
    let boards: Vec<String> = args
        .leaderboard
        .map_or_else(|| boards.collect(), |name| vec![name]);
    let methods: Vec<String> = if let Some(method) = args.method {
        vec![method]
    } else {
        let all = with_benchmark(&benchmark, Methods(&manifest)).await?;
        all.iter().map(|method| method.name.to_owned()).collect()
    };
    let cloud = args.cloud.connect().await?;
    let scratch = tempfile::tempdir().context("can't make a temporary directory")?;
    let bars = PhaseBars::default();
    let mut receipts = Vec::new();
    let ended = async {
        for leaderboard in &boards {
            for method in &methods {
                let task = MakeBaseline {
                    dataset: &args.dataset,
                    leaderboard,
                    method,
                    seed: args.seed,
                    jobs: args.jobs.into(),
                    progress: &bars,
                };
                let file = make_into(scratch.path(), &benchmark, task).await?;
                receipts.push(send(&cloud, &benchmark, (leaderboard, method), &file, args.timeout).await?);
            }
        }
        Ok::<(), anyhow::Error>(())
    }
    .await;
    bars.finish();
    // report the results that exist, whatever happens next
    let printed = if receipts.is_empty() && ended.is_err() {
        Ok(Done::Fine)
    } else {
        print_receipts(&receipts, format)
    };
    ended.and(printed)
}

async fn send(
    cloud: &Cloud,
    benchmark: &str,
    (leaderboard, method): (&str, &str),
    file: &Path,
    timeout: u64,
) -> Result<Receipt> {
    let submitter = format!("{BASELINE_PREFIX}{method}").parse()?;
    let uploaded = upload(cloud, benchmark, leaderboard, &submitter, file).await?;
    let waited = tokio::time::timeout(Duration::from_secs(timeout), receipt(cloud, &uploaded)).await;
    waited.unwrap_or_else(|_| {
        bail!(
            "the baseline `{method}` has no verdict after {timeout} s: try `dataperf status {benchmark} {}` later",
            uploaded.id
        )
    })
}

fn print_receipts(receipts: &[Receipt], format: RowFormat) -> Result<Done> {
    let rows = || {
        let row = |receipt: &Receipt| {
            let verdict = &receipt.verdict;
            json!({ "leaderboard": verdict.leaderboard, "submitter": receipt.submitter, "status": verdict.status,
                    "score": verdict.score, "submission": receipt.submission })
        };
        receipts.iter().map(row).collect()
    };
    let columns = ["leaderboard", "submitter", "status", "score", "submission"];
    print_tabled(
        || Ok(receipts),
        &columns,
        rows,
        format,
        || {
            let mut ended = table(&["leaderboard", "submitter", "ended", "score"]);
            align_right(&mut ended, 3);
            for Receipt {
                submitter, verdict, ..
            } in receipts
            {
                ended.add_row([
                    verdict.leaderboard.as_str(),
                    submitter,
                    verdict.status.as_str(),
                    &verdict.score.map(score).unwrap_or_default(),
                ]);
            }
            println!("{ended}");
            Ok(())
        },
    )?;
    let is_scored = |receipt: &&Receipt| receipt.verdict.status != dataperf::Ending::Scored;
    let unscored: Vec<&str> = receipts
        .iter()
        .filter(is_scored)
        .map(|r| r.key.as_str())
        .collect();
    if unscored.is_empty() {
        return Ok(Done::Fine);
    }
    bail!(
        "not scored: {}: check that this data set is the active one",
        unscored.join(", ")
    )
}
