//! `dataperf baseline`: the paper's baselines on a frozen data set.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, Subcommand, value_parser};
use dataperf::benchmark::FrozenPart;
use dataperf::challenge::BASELINE_PREFIX;
use dataperf::dataset::Integrity;
use dataperf::evaluate::check;
use dataperf::frozen::Manifest;
use dataperf::progress::Progress;
use dataperf::{Digest, Receipt};
use dataperf_baselines::{Baselines, Made, Method};
use dataperf_datasets::Import;
use serde_json::json;
use tokio::runtime::Handle;

use super::dataset::leaderboards;
use super::score::open;
use super::submit::{receipt, upload};
use crate::Done;
use crate::cloud::{Cloud, CloudArgs};
use crate::hosted::descriptor;
use crate::on_disk::open as open_manifest;
use crate::output::{Format, align_right, check_files, print_json, score, table};
use crate::progress::PhaseBars;
use crate::registry::{Action, baselines, takes_artifacts, with_benchmark};
use crate::rows::{RowFormat, print_rows, print_tabled};

/// More threads than any machine has cores for them.
const MAX_JOBS: i64 = 1024;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct BaselineArgs {
    #[command(subcommand)]
    command: Option<BaselineCommand>,
    #[command(flatten)]
    make: Option<MakeArgs>,
}

#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant)] // made once a run
enum BaselineCommand {
    /// List the methods with their sources
    List(ListArgs),
    /// Make baselines and submit them; boards show them without a rank
    Submit(SubmitArgs),
}

#[derive(Debug, Args)]
struct ListArgs {
    /// List only methods for this data set or kit
    #[arg(long, short, value_name = "DIR")]
    dataset: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct MakeArgs {
    /// The method; `dataperf baseline list` shows which benchmark has which
    method: String,
    /// The data set's directory, or a participants' kit
    #[arg(long, short, value_name = "DIR")]
    dataset: PathBuf,
    /// The leaderboard, such as `en-25`
    #[arg(long, short)]
    leaderboard: String,
    /// The seed of what the method draws at random
    #[arg(long, default_value_t = 0)]
    seed: u32,
    /// Where to write the artifact
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    /// Also write the intermediate results to this JSON file
    #[arg(long, value_name = "FILE")]
    details: Option<PathBuf>,
    /// Threads; all cores unless given
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, value_parser = value_parser!(u16).range(0..=MAX_JOBS))]
    jobs: u16,
}

#[derive(Debug, Args)]
struct SubmitArgs {
    /// Only this method; all of the benchmark's unless given
    method: Option<String>,
    /// The frozen data set's directory: the one that is in force
    #[arg(long, short, value_name = "DIR")]
    dataset: PathBuf,
    /// Only this leaderboard; all of the data set's unless given
    #[arg(long, short)]
    leaderboard: Option<String>,
    /// The seed of what the methods draw at random
    #[arg(long, default_value_t = 0)]
    seed: u32,
    /// How long to wait for the verdict on each
    #[arg(long, value_name = "SECONDS", default_value_t = 900)]
    timeout: u64,
    /// Threads; all cores unless given
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, value_parser = value_parser!(u16).range(0..=MAX_JOBS))]
    jobs: u16,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(crate) async fn run(args: BaselineArgs, format: RowFormat) -> Result<Done> {
    match (args.command, args.make) {
        (Some(BaselineCommand::List(args)), _) => list(&args, format),
        (Some(BaselineCommand::Submit(args)), _) => submit(args, format).await,
        (None, Some(args)) => make(args, format.of_documents()?).await,
        (None, None) => bail!("name a method: `dataperf baseline list` shows them"),
    }
}

fn list(args: &ListArgs, format: RowFormat) -> Result<Done> {
    let mut methods = baselines();
    if let Some(directory) = &args.dataset {
        let benchmark = open_manifest(directory)?.manifest.benchmark;
        takes_artifacts(&benchmark)?;
        methods.retain(|(of, _)| *of == benchmark);
    }
    if format == RowFormat::Json {
        let of_benchmark = |(benchmark, methods): (&str, &[Method])| {
            let each = methods.iter().map(
                |Method { name, about, source }| json!({ "name": name, "about": about, "source": source }),
            );
            (benchmark.to_owned(), each.collect::<Vec<_>>().into())
        };
        let all: serde_json::Map<_, _> = methods.into_iter().map(of_benchmark).collect();
        print_json(&all)?;
        return Ok(Done::Fine);
    }
    let columns = ["benchmark", "method", "about", "source"];
    let mut listed = table(&columns);
    listed.spare(&["source"]);
    let mut rows = Vec::new();
    for (benchmark, methods) in methods {
        for Method { name, about, source } in methods {
            listed.add_row([benchmark, name, about, source]);
            rows.push(json!({ "benchmark": benchmark, "method": name, "about": about, "source": source }));
        }
    }
    print_rows(&rows, &columns, format, || {
        println!("{listed}");
        Ok(())
    })?;
    Ok(Done::Fine)
}

async fn make(args: MakeArgs, format: Format) -> Result<Done> {
    check_files(&[Some(&args.out), args.details.as_deref()])?;
    let benchmark = open_manifest(&args.dataset)?.manifest.benchmark;
    let bars = PhaseBars::default();
    let task = MakeBaseline {
        dataset: &args.dataset,
        leaderboard: &args.leaderboard,
        method: &args.method,
        seed: args.seed,
        jobs: args.jobs.into(),
        progress: &bars,
    };
    let Made { artifact, details } = with_benchmark(&benchmark, task).await?;
    bars.finish();
    write(&args.out, &artifact)?;
    if let Some(path) = &args.details {
        write(path, &serde_json::to_vec_pretty(&details)?)?;
    }
    let can_score = CanScore {
        dataset: &args.dataset,
        leaderboard: &args.leaderboard,
    };
    let judge = if with_benchmark(&benchmark, can_score).await? {
        "score"
    } else {
        "validate"
    };
    let MakeArgs {
        method,
        leaderboard,
        seed,
        out,
        dataset,
        ..
    } = args;
    match format {
        Format::Json => print_json(&json!({
            "benchmark": benchmark, "leaderboard": leaderboard, "method": method, "seed": seed,
            "out": out, "artifact": Digest::of(&artifact),
        }))?,
        Format::Text => {
            println!(
                "`{}` is `{method}` for {benchmark} {leaderboard}, seed {seed}; judge it with",
                out.display()
            );
            print!(
                "  dataperf {judge} {benchmark} --leaderboard {leaderboard} --dataset {} {}\n",
                dataset.display(),
                out.display()
            );
        }
    }
    Ok(Done::Fine)
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).with_context(|| format!("can't write `{}`", path.display()))
}

/// Makes the artifact of a method.
pub(crate) struct MakeBaseline<'a> {
    pub(crate) dataset: &'a Path,
    pub(crate) leaderboard: &'a str,
    pub(crate) method: &'a str,
    pub(crate) seed: u32,
    /// Threads; 0 is one a core.
    pub(crate) jobs: usize,
    pub(crate) progress: &'a dyn Progress,
}

impl Action for MakeBaseline<'_> {
    type Output = Made;

    async fn run<B: Import + Baselines>(self) -> Result<Made> {
        let Self {
            leaderboard,
            method,
            seed,
            progress,
            ..
        } = self;
        let dataset = open::<B>(self.dataset, leaderboard, Integrity::Sizes).await?;
        let threads = rayon::ThreadPoolBuilder::new().num_threads(self.jobs).build()?;
        let handle = Handle::current();
        let made = threads.install(|| {
            let making = B::artifact(&dataset, leaderboard, method, seed, progress);
            handle.block_on(making) // a data set on disk never waits
        });
        let about = || format!("can't make `{method}` for {} {leaderboard}", B::ID);
        let made = made.with_context(about)?;
        // a market or pool may be such that a method's choice breaks a rule: better said here than by a board
        if let Err(not_scored) = check(&dataset, leaderboard, &made.artifact).await {
            let rejection = not_scored.rejection()?;
            let reasons: Vec<&str> = rejection
                .reasons()
                .iter()
                .map(|reason| reason.message.as_str())
                .collect();
            return Err(anyhow::anyhow!("{}", reasons.join("; ")).context(about()));
        }
        Ok(made)
    }
}

/// Whether a data set can score, or is a participants' kit without an eval set.
struct CanScore<'a> {
    dataset: &'a Path,
    leaderboard: &'a str,
}

impl Action for CanScore<'_> {
    type Output = bool;

    async fn run<B: Import>(self) -> Result<bool> {
        let dataset = open::<B>(self.dataset, self.leaderboard, Integrity::Sizes).await?;
        let frozen = dataset.frozen(self.leaderboard).await?;
        Ok(frozen.eval_items().is_ok())
    }
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

async fn submit(args: SubmitArgs, format: RowFormat) -> Result<Done> {
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
    let cloud = args.cloud.connect().await;
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
    // what has ended is said, whatever came after it
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
