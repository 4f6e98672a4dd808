//! `dataperf demo`: everything on this machine, with the data that ships with the project.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use dataperf::challenge::check;
use dataperf::progress::Silent;
use dataperf::{Benchmark as _, Ending, Receipt, SubmitterName};
use dataperf_benchmarks::IDS;
use dataperf_benchmarks::own_data::curation::Curation;
use dataperf_benchmarks::own_data::curation::numerals::write_contest;
use futures_util::future::try_join_all;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::json;

use super::baseline::{MakeBaseline, Methods, make_into};
use super::dataset::{ImportSource, Switch, leaderboards, open, publish};
use super::leaderboard::{Shown, boards, document, print};
use super::local::{FunctionArgs, config, organizer_token, start, with_token};
use super::submit::{receipt, upload};
use super::{demo_closed, demo_integrity};
use crate::Done;
use crate::cloud::{Cloud, CloudArgs, now};
use crate::extension::ExtensionDemo;
use crate::output::{Format, print_json, table};
use crate::progress;
use crate::registry::{EXTENSIONS, with_benchmark};
use crate::stop::stopped;

const UPLOADS_AT_ONCE: usize = 8;
const POLL: Duration = Duration::from_millis(250);

#[derive(Debug, Args)]
#[command(
    after_help = "The demo imports the shipped data sets, starts S3, DynamoDB and the functions on free ports, drops good and bad \
    submissions into the bucket, the baselines of each benchmark among them, and prints what became of them. Nothing leaves this machine.\n\n\
    `dataperf demo curation` draws 3,570 Roman numerals instead, publishes a contest on them, and submits its baselines. It trains \
    the network 15 times: a few minutes of four cores.\n\n\
    `dataperf demo closed` opens a round that takes programs: it uploads the examples in Rust and C, one that never ends, and a file that is no \
    program, and runs them on data that none has seen.\n\n\
    `dataperf demo integrity` makes a twentieth of an eval set's labels wrong, has twelve submissions scored with them, audits the \
    eval set, puts right what the audit doubts, and shows whose rank changes."
)]
pub(crate) struct DemoArgs {
    /// Another demo: of `curation`, on images of Roman numerals, `closed`, of programs that run on hidden data, or `integrity`, on wrong
    /// labels in an eval set
    #[arg(value_parser = [Curation::ID, demo_closed::NAME, demo_integrity::NAME])]
    of: Option<String>,
    /// The demo data's directory; by default the one that ships with the project
    #[arg(long, value_name = "DIR")]
    pub(super) data: Option<PathBuf>,
    /// Keep the demo's cloud in this directory, new or empty, to look into it or to start `dataperf local` on it
    #[arg(long, value_name = "DIR")]
    pub(super) data_dir: Option<PathBuf>,
    /// Go on running after the leaderboards are printed, until Ctrl-C
    #[arg(long)]
    pub(super) keep_running: bool,
}

/// A submission of the demo: a file in `submissions/LEADERBOARD/SUBMITTER/`.
struct Planned {
    benchmark: &'static str,
    leaderboard: String,
    submitter: SubmitterName,
    file: PathBuf,
}

impl Planned {
    /// Files that break a rule on purpose say so in their names.
    fn is_bad(&self) -> bool {
        self.file
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("bad_"))
    }
}

/// How one of them ended.
struct Outcome {
    planned: Planned,
    receipt: Receipt,
    seconds: f64,
}

pub(crate) async fn run(args: DemoArgs, format: Format) -> Result<Done> {
    if args.of.as_deref() == Some(demo_integrity::NAME) {
        return Box::pin(demo_integrity::run(args, format)).await;
    }
    if args.of.as_deref() == Some(demo_closed::NAME) {
        return Box::pin(demo_closed::run(args, format)).await;
    }
    if args.of.is_some() && args.data.is_some() {
        bail!(
            "`dataperf demo {}` draws its data: leave `--data` out",
            Curation::ID
        );
    }
    Box::pin(play_all(args, format)).await
}

/// Everything of a directory like `demo/`.
async fn play_all(args: DemoArgs, format: Format) -> Result<Done> {
    let scratch = tempfile::tempdir().context("can't make a temporary directory")?;
    let data = match (args.of, args.data) {
        (Some(_), _) => drawn_data(&scratch.path().join("drawn"))?,
        (None, Some(data)) => data,
        (None, None) => shipped_data()?,
    };
    if !dataperf_hosted::IDS.iter().any(|id| data.join(id).is_dir()) {
        bail!(
            "`{}` has no directory of a benchmark: name one with `demo`'s layout",
            data.display()
        );
    }
    let data_dir = args
        .data_dir
        .clone()
        .unwrap_or_else(|| scratch.path().join("cloud"));
    let functions = FunctionArgs::default();
    let mut config = config(&data_dir, &functions)?;
    config.http_port = Some(0);
    let local = start(config, &functions).await?;
    let cloud = CloudArgs::of(&local).connect().await;

    let mut shown: Vec<&'static str> = IDS.iter().copied().filter(|id| data.join(id).is_dir()).collect();
    let mut planned = Vec::new();
    for benchmark in &shown {
        let (from, out) = (data.join(benchmark), scratch.path().join(benchmark));
        with_benchmark(
            benchmark,
            ImportSource {
                from: &from,
                out: &out,
            },
        )
        .await?;
        publish(&cloud, &out, &open(&out)?, Switch::Replace).await?;
        show_everything(&cloud, benchmark).await?;
        planned.extend(plan(benchmark, &from.join("submissions"))?);
        planned.extend(plan_baselines(benchmark, &out, scratch.path()).await?);
    }
    let mut extensions = Vec::new();
    for extension in EXTENSIONS {
        let (id, demo) = (extension.descriptor().id, extension.demo());
        let shipped = data.join(id);
        if shipped.is_dir() {
            demo.prepare(&cloud, &local, &shipped, scratch.path()).await?;
            shown.push(id);
            extensions.push(demo);
        }
    }
    let all = async {
        let plays = extensions.iter().map(|demo| demo.play(&cloud));
        tokio::try_join!(drop_all(&cloud, planned), try_join_all(plays))
    };
    let ended = tokio::select! {
        ended = all => ended,
        fault = failed_for_good(&local) => Err(fault),
    };
    let (outcomes, played) = match ended {
        Ok(ended) => ended,
        Err(error) => bail!("{error:#}{}", failures(&local).await?),
    };
    let mut surprises: Vec<String> = outcomes.iter().filter_map(surprise).collect();
    let played: Vec<(&dyn ExtensionDemo, Vec<Receipt>)> = extensions.into_iter().zip(played).collect();
    for (demo, receipts) in &played {
        surprises.extend(demo.surprises(receipts));
    }
    match format {
        Format::Json => print_outcomes_json(&cloud, &shown, &outcomes, &played).await?,
        Format::Text => {
            for (demo, receipts) in &played {
                demo.print(receipts);
            }
            print_outcomes(&cloud, &shown, &outcomes).await?;
            let kept = args.data_dir.as_deref().filter(|_| !args.keep_running);
            print_next_steps(&local, args.keep_running, kept).await?;
        }
    }
    if args.keep_running {
        stopped().await?;
    }
    local.shutdown().await;
    if !surprises.is_empty() {
        bail!(
            "the demo did not go as planned:\n  - {}",
            surprises.join("\n  - ")
        );
    }
    Ok(Done::Fine)
}

/// Puts a challenge without rounds in force: the demo's data ships with the project, labels and all, so nothing is withheld.
pub(super) async fn show_everything(cloud: &Cloud, benchmark: &str) -> Result<()> {
    let document =
        json!({ "schema": 1, "title": "Demo", "feedback": "full", "benchmarks": { benchmark: {} } });
    let challenges =
        check(&document, dataperf_hosted::HOSTED).map_err(|refused| anyhow!("{:?}", refused.reasons()))?;
    for (benchmark, challenge) in &challenges {
        let (datasets, table) = (cloud.datasets(), cloud.leaderboards());
        challenge.publish(&datasets, &table, benchmark, now()).await?;
    }
    Ok(())
}

/// A directory like `demo/` with one contest in it, on drawn Roman numerals, and without submissions but baselines.
fn drawn_data(directory: &Path) -> Result<PathBuf> {
    let contest = directory.join(Curation::ID);
    let spinner = progress::waiting("drawing Roman numerals");
    fs::create_dir_all(contest.join("submissions"))?;
    write_contest(&contest).with_context(|| format!("can't write `{}`", contest.display()))?;
    spinner.finish_and_clear();
    Ok(directory.to_owned())
}

/// `demo/` of the project: beside the working directory, or above this program.
pub(super) fn shipped_data() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let above = program.ancestors().map(|directory| directory.join("demo"));
    let mut candidates = std::iter::once(PathBuf::from("demo")).chain(above);
    let found = candidates.find(|directory| IDS.iter().any(|id| directory.join(id).is_dir()));
    found.context("the demo data is not here: run this in the project's directory, or name it with `--data`")
}

fn plan(benchmark: &'static str, submissions: &Path) -> Result<Vec<Planned>> {
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

/// Every baseline of the benchmark on every board, made on the spot.
async fn plan_baselines(benchmark: &'static str, dataset: &Path, scratch: &Path) -> Result<Vec<Planned>> {
    let manifest = open(dataset)?.manifest;
    let boards = leaderboards(&manifest)?;
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
    bar.finish();
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
async fn drop_all(cloud: &Cloud, planned: Vec<Planned>) -> Result<Vec<Outcome>> {
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
    bar.finish();
    Ok(outcomes)
}

/// Waits until a function has failed for good, which leaves an upload without a receipt.
async fn failed_for_good(local: &dataperf_local::LocalCloud) -> anyhow::Error {
    loop {
        match local.on_failure().await {
            Ok(records) if records.is_empty() => tokio::time::sleep(POLL).await,
            Ok(_) => return anyhow!("a submission could not be evaluated"),
            Err(error) => return error.into(),
        }
    }
}

/// What the functions said that failed for good, for the error message.
async fn failures(local: &dataperf_local::LocalCloud) -> Result<String> {
    let records = local.on_failure().await?;
    let said = records
        .iter()
        .take(3)
        .map(|record| format!("\n  - {}: {}", record.function, record.record["responsePayload"]));
    Ok(said.collect())
}

/// What of an outcome was not expected.
fn surprise(outcome: &Outcome) -> Option<String> {
    let expected = if outcome.planned.is_bad() {
        Ending::Rejected
    } else {
        Ending::Scored
    };
    let actual = outcome.receipt.verdict.status;
    let file = outcome.planned.file.display();
    (actual != expected).then(|| {
        format!(
            "`{file}` was {} instead of {}",
            actual.as_str(),
            expected.as_str()
        )
    })
}

/// Boards are compared within a second or two of their last score, and the demo waits no longer for it.
const COMPARED_WITHIN: Duration = Duration::from_secs(10);

/// Waits until the rows of all boards have been compared.
pub(super) async fn compared(cloud: &Cloud, shown: &[&str]) -> Result<()> {
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

async fn print_outcomes(cloud: &Cloud, shown: &[&str], outcomes: &[Outcome]) -> Result<()> {
    compared(cloud, shown).await?;
    for benchmark in shown {
        boards(cloud, benchmark, None, 20).await?.iter().for_each(print);
    }
    let mut rejected = table(&["leaderboard", "submitter", "code", "at", "what to change"]);
    for Outcome { planned, receipt, .. } in outcomes {
        for reason in &receipt.verdict.reasons {
            rejected.add_row([
                planned.leaderboard.as_str(),
                planned.submitter.as_str(),
                &reason.code,
                &reason.at,
                &reason.message,
            ]);
        }
    }
    if !rejected.is_empty() {
        println!("\nrejected, with every reason:\n{rejected}");
    }
    let slowest = outcomes.iter().map(|outcome| outcome.seconds).fold(0.0, f64::max);
    println!(
        "{} submissions ended; the slowest took {slowest:.2} s from upload to receipt",
        outcomes.len()
    );
    Ok(())
}

async fn print_outcomes_json(
    cloud: &Cloud,
    shown: &[&str],
    outcomes: &[Outcome],
    played: &[(&dyn ExtensionDemo, Vec<Receipt>)],
) -> Result<()> {
    let mut documents = Vec::new();
    for benchmark in shown {
        documents.extend(boards(cloud, benchmark, None, 20).await?.iter().map(document));
    }
    let receipts: Vec<&Receipt> = outcomes.iter().map(|outcome| &outcome.receipt).collect();
    let mut document = json!({ "leaderboards": documents, "receipts": receipts });
    for (demo, receipts) in played {
        document[demo.name()] = json!(receipts);
    }
    print_json(&document)
}

pub(super) async fn print_next_steps(
    local: &dataperf_local::LocalCloud,
    runs_on: bool,
    kept: Option<&Path>,
) -> Result<()> {
    println!("\nwhere to look next:");
    if runs_on {
        let (s3, dynamodb) = (local.s3_endpoint(), local.dynamodb_endpoint());
        let token = organizer_token(local).await?;
        println!("  page      {}", with_token(local, &token));
        println!(
            "  receipts  aws --endpoint-url {s3} s3 ls --recursive s3://results/   (key `local`, secret `local`)"
        );
        println!("  table     aws --endpoint-url {dynamodb} dynamodb scan --table-name dataperf");
        println!("  submit    dataperf submit --s3-endpoint {s3} --dynamodb-endpoint {dynamodb} --help");
        println!("Stop with Ctrl-C.");
    } else {
        match kept {
            Some(directory) => println!(
                "  dataperf local --data-dir {}      this demo's cloud, running",
                directory.display()
            ),
            None => {
                println!("  dataperf demo --keep-running                 the same, and the cloud stays up");
            }
        }
        println!("  dataperf score --help                        judge an artifact offline");
        println!("  docs/leaderboard-schema.md                   query the table yourself");
    }
    Ok(())
}
