//! `dataperf baseline`: the paper's baselines on a frozen data set.

#[cfg(feature = "cloud")]
mod submit;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand, value_parser};
use dataperf::Digest;
use dataperf::benchmark::FrozenPart;
use dataperf::dataset::Integrity;
use dataperf::evaluation::evaluate::check;
use dataperf::progress::Progress;
use dataperf_baselines::{Baselines, Made, Method};
use dataperf_datasets::Import;
use serde_json::json;
use tokio::runtime::Handle;

use super::participant::score::open;
use crate::Done;
use crate::on_disk::open as open_manifest;
use crate::output::progress::PhaseBars;
use crate::output::rows::{RowFormat, print_rows};
use crate::output::{Format, check_files, print_json, table};
use crate::registry::{Action, baselines, takes_artifacts, with_benchmark};

#[cfg(feature = "cloud")]
pub(crate) use submit::{Methods, make_into};

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
    #[cfg(feature = "cloud")]
    /// Make baselines and submit them; boards show them without a rank
    Submit(submit::SubmitArgs),
}

#[derive(Debug, Args)]
struct ListArgs {
    /// List only methods for this data set or kit
    #[arg(long, short, value_name = "DIR")]
    dataset: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct MakeArgs {
    /// The method; `dataperf baseline list` shows each benchmark's methods
    method: String,
    /// The data set's directory, or a participants' kit
    #[arg(long, short, value_name = "DIR")]
    dataset: PathBuf,
    /// The leaderboard, such as `en-25`
    #[arg(long, short)]
    leaderboard: String,
    /// The seed for random choices
    #[arg(long, default_value_t = 0)]
    seed: u32,
    /// Where to write the artifact
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    /// Also write the intermediate results to this JSON file
    #[arg(long, value_name = "FILE")]
    details: Option<PathBuf>,
    /// Number of threads [default: all cores]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, value_parser = value_parser!(u16).range(0..=MAX_JOBS))]
    jobs: u16,
}

pub(crate) async fn run(args: BaselineArgs, format: RowFormat) -> Result<Done> {
    match (args.command, args.make) {
        (Some(BaselineCommand::List(args)), _) => list(&args, format),
        #[cfg(feature = "cloud")]
        (Some(BaselineCommand::Submit(args)), _) => submit::run(args, format).await,
        (None, Some(args)) => make(args, format.of_documents()?).await,
        (None, None) => bail!("name a method: `dataperf baseline list` shows them"),
    }
}

fn list(args: &ListArgs, format: RowFormat) -> Result<Done> {
    let mut methods = baselines();
    if let Some(directory) = &args.dataset {
        let benchmark = open_manifest(directory)?.manifest.benchmark;
        takes_artifacts(&benchmark)?;
        methods.retain(|(item, _)| *item == benchmark);
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
            "out": out, "artifact": Digest::compute(&artifact),
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
        // in some markets or pools a method's choice breaks a rule: report it here, before a board
        // does
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

/// Whether a data set can score, or is a participants' kit without a test set.
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
