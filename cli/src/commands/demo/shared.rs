//! Code shared by the demos: options, data and cloud, uploading and awaiting submissions, and the
//! commands to type next.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use clap::Args;
use dataperf::progress::Silent;
use dataperf::{Benchmark as _, Receipt, SubmitterName};
use dataperf_benchmarks::IDS;
use dataperf_benchmarks::own_data::curation::Curation;
use dataperf_local::LocalCloud;
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::Done;
use crate::cloud::Cloud;
use crate::commands::baseline::{MakeBaseline, Methods, make_into};
use crate::commands::dataset::{Switch, publish};
use crate::commands::leaderboard::{Shown, boards};
use crate::commands::local::{organizer_token, start_on_free_ports, which_cloud, with_token};
use crate::commands::participant::submit::{receipt, upload};
use crate::hosted::leaderboards;
use crate::import::ImportSource;
use crate::on_disk::open;
use crate::output::progress;
use crate::registry::with_benchmark;
use crate::stop::stopped;

/// The names of the demos on the command line; a contest on drawn data has its task's name.
const ALL: &str = "all";
pub(crate) const CLOSED: &str = "closed";
pub(crate) const DYNAMIC: &str = "dynamic";
pub(crate) const INTEGRITY: &str = "integrity";

const UPLOADS_AT_ONCE: usize = 8;
const POLL: Duration = Duration::from_millis(250);

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Another demo
    #[arg(value_name = "DEMO", value_parser = [ALL, Curation::ID, CLOSED, INTEGRITY, DYNAMIC])]
    pub(crate) demo: Option<String>,
    /// The demo data's directory [default: the project's]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Keep the demo's cloud in this directory, for `dataperf local`
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Keep running until Ctrl-C
    #[arg(long)]
    pub(crate) keep_running: bool,
}

/// A submission of the demo: a file in `submissions/LEADERBOARD/SUBMITTER/`.
pub(crate) struct Planned {
    pub(crate) benchmark: &'static str,
    pub(crate) leaderboard: String,
    pub(crate) submitter: SubmitterName,
    pub(crate) file: PathBuf,
}

impl Planned {
    /// Files that break a rule on purpose say so in their names.
    pub(crate) fn is_bad(&self) -> bool {
        self.file
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("bad_"))
    }
}

/// How one of them ended.
pub(crate) struct Outcome {
    pub(crate) planned: Planned,
    pub(crate) receipt: Receipt,
    pub(crate) seconds: f64,
}

/// Freezes the shipped data of a benchmark and activates its boards, with everything shown. Returns
/// the frozen data set.
pub(crate) async fn put_in_force(
    cloud: &Cloud,
    benchmark: &str,
    shipped: &Path,
    scratch: &Path,
) -> Result<PathBuf> {
    let out = scratch.join(benchmark);
    let source = ImportSource {
        from: shipped,
        out: &out,
    };
    with_benchmark(benchmark, source).await?;
    publish(cloud, &out, &open(&out)?, Switch::Replace).await?;
    Ok(out)
}

/// The directory that is named, or the data that ships.
pub(crate) fn data(args: &DemoArgs) -> Result<PathBuf> {
    args.data.clone().map_or_else(shipped_data, Ok)
}

/// Starts the demo's cloud on free ports, in the directory that is named or below `scratch`.
pub(crate) async fn start_cloud(args: &DemoArgs, scratch: &Path) -> Result<(LocalCloud, Cloud)> {
    let data_dir = args.data_dir.clone();
    start_on_free_ports(&data_dir.unwrap_or_else(|| scratch.join("cloud"))).await
}

/// Ends the demo's cloud, or keeps it running until it is stopped.
pub(crate) async fn end_cloud(args: &DemoArgs, local: &LocalCloud) -> Result<()> {
    if args.keep_running {
        stopped().await?;
    }
    local.shutdown().await;
    Ok(())
}

/// The project's `demo/`: next to the working directory, or above this program.
fn shipped_data() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let above = program.ancestors().map(|directory| directory.join("demo"));
    let mut candidates = std::iter::once(PathBuf::from("demo")).chain(above);
    let shipped = candidates.find(|directory| IDS.iter().any(|id| directory.join(id).is_dir()));
    shipped
        .context("the demo data is not here: run this in the project's directory, or name it with `--data`")
}

/// All files of a benchmark's folder of submissions.
pub(crate) fn plan(benchmark: &'static str, submissions: &Path) -> Result<Vec<Planned>> {
    let mut planned = Vec::new();
    for leaderboard in sorted_entries(submissions)? {
        for submitter in sorted_entries(&leaderboard)? {
            for file in sorted_entries(&submitter)? {
                let name = |path: &Path| {
                    path.file_name()
                        .unwrap_or_default()
                        .to_string_lossy()
                        .into_owned()
                };
                planned.push(Planned {
                    benchmark,
                    leaderboard: name(&leaderboard),
                    submitter: name(&submitter).parse()?,
                    file,
                });
            }
        }
    }
    Ok(planned)
}

/// Every baseline of the benchmark on each of the boards that `is_wanted`, made on the spot.
pub(crate) async fn plan_baselines(
    benchmark: &'static str,
    dataset: &Path,
    scratch: &Path,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Vec<Planned>> {
    let manifest = open(dataset)?.manifest;
    let mut boards = leaderboards(&manifest)?;
    boards.retain(|board| is_wanted(&board.name));
    let methods = with_benchmark(benchmark, Methods(&manifest)).await?;
    let bar = progress::counting(
        (boards.len() * methods.len()) as u64,
        &format!("baselines of {benchmark}"),
    );
    let mut planned = Vec::new();
    for leaderboard in boards.into_iter().map(|board| board.name) {
        for method in &methods {
            bar.set_message(format!("{benchmark} by {}", method.name));
            let task = MakeBaseline {
                dataset,
                leaderboard: &leaderboard,
                method: method.name,
                seed: 0,
                jobs: 0,
                progress: &Silent,
            };
            planned.push(Planned {
                benchmark,
                leaderboard: leaderboard.clone(),
                submitter: method.submitter().parse()?,
                file: make_into(scratch, benchmark, task).await?,
            });
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(planned)
}

fn sorted_entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let about = || format!("can't list `{}`", directory.display());
    let entries = fs::read_dir(directory).with_context(about)?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .with_context(about)?;
    paths.sort();
    Ok(paths)
}

/// Drops all of them into the bucket, several at once, and waits for every receipt, however long a busy machine takes.
pub(crate) async fn drop_all(cloud: &Cloud, planned: Vec<Planned>) -> Result<Vec<Outcome>> {
    let bar = progress::counting(planned.len() as u64, "submissions");
    let one = |planned: Planned| async {
        let Planned {
            benchmark,
            leaderboard,
            submitter,
            file,
        } = &planned;
        let started = Instant::now();
        let submitted = upload(cloud, benchmark, leaderboard, submitter, file).await?;
        let receipt = receipt(cloud, &submitted).await?;
        let board = format!("{benchmark}/{leaderboard}/{submitter}");
        let verdict = &receipt.verdict;
        let outcome = verdict.score.map_or(verdict.status.as_str().to_owned(), |score| {
            format!("scored {score:.4}")
        });
        bar.println(format!("{board:50} {outcome}"));
        bar.inc(1);
        anyhow::Ok(Outcome {
            seconds: started.elapsed().as_secs_f64(),
            receipt,
            planned,
        })
    };
    let outcomes = stream::iter(planned)
        .map(one)
        .buffered(UPLOADS_AT_ONCE)
        .try_collect()
        .await?;
    bar.finish_and_clear();
    Ok(outcomes)
}

/// Waits until a function has failed for good, which leaves an upload without a receipt.
pub(crate) async fn failed_for_good(local: &LocalCloud) -> anyhow::Error {
    loop {
        match local.on_failure().await {
            Ok(records) if records.is_empty() => tokio::time::sleep(POLL).await,
            Ok(_) => return anyhow!("a submission could not be evaluated"),
            Err(error) => return error.into(),
        }
    }
}

/// The messages of functions that failed for good, for the error message.
pub(crate) async fn failures(local: &LocalCloud) -> Result<String> {
    let records = local.on_failure().await?;
    let failures_one = records
        .iter()
        .take(3)
        .map(|record| format!("\n  - {}: {}", record.function, record.record["responsePayload"]));
    Ok(failures_one.collect())
}

/// Boards are compared within a second or two of their last score; on a busy machine, by the caretaker within a minute.
const COMPARED_WITHIN: Duration = Duration::from_mins(2);

/// Waits until the rows of all boards have been compared.
pub(crate) async fn compared(cloud: &Cloud, shown: &[&str]) -> Result<()> {
    let until = Instant::now() + COMPARED_WITHIN;
    while Instant::now() < until {
        let mut is_compared = true;
        for benchmark in shown {
            is_compared &= boards(cloud, benchmark, None, 20)
                .await?
                .iter()
                .all(Shown::is_compared);
        }
        if is_compared {
            break;
        }
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}

/// An error that says what was not as planned, if anything was.
pub(crate) fn as_planned(surprises: &[String]) -> Result<Done> {
    anyhow::ensure!(
        surprises.is_empty(),
        "the demo did not go as planned:\n  - {}",
        surprises.join("\n  - ")
    );
    Ok(Done::Fine)
}

pub(crate) async fn print_next_steps(args: &DemoArgs, local: &LocalCloud) -> Result<()> {
    println!("\nwhere to look next:");
    if args.keep_running {
        let (s3, dynamodb) = (local.s3_endpoint(), local.dynamodb_endpoint());
        let token = organizer_token(local).await?;
        println!("  page      {}", with_token(local, &token));
        print!("  receipts  aws --endpoint-url {s3} s3 ls --recursive s3://results/\n");
        println!("            (key `local`, secret `local`)");
        print!("  table     aws --endpoint-url {dynamodb} dynamodb scan --table-name dataperf\n");
        let flags = which_cloud(local);
        println!("  board     dataperf leaderboard BENCHMARK {flags}");
        print!(
            "  submit    dataperf submit BENCHMARK --leaderboard LEADERBOARD --submitter YOU FILE {flags}\n"
        );
        println!("Stop with Ctrl-C.");
    } else {
        if let Some(directory) = &args.data_dir {
            println!(
                "  dataperf local --data-dir {}      this demo's cloud, running",
                directory.display()
            );
        } else {
            let demo = args
                .demo
                .as_ref()
                .map_or(String::new(), |benchmark| format!(" {benchmark}"));
            let command = format!("dataperf demo{demo} --keep-running");
            println!("  {command:43}  the same, and the cloud stays up");
        }
        println!("  dataperf score --help                        judge an artifact offline");
        println!("  docs/leaderboard-schema.md                   query the table yourself");
    }
    Ok(())
}
