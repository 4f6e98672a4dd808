//! `dataperf challenge`: rounds, limits and rankings, written by an organizer as one document.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use dataperf::challenge::{Challenge, Round};
use dataperf::dataset::{Dataset, DatasetError, Integrity, dataset_prefix};
use dataperf::frozen::FrozenError;
use dataperf::ports::bucket::Bucket;
use dataperf::{Digest, Reason, Reasons, Rejection, Timestamp, pointer, quote};
use dataperf_datasets::Import;
use dataperf_nibbler::{BENCHMARK as ADVERSARIAL_NIBBLER, Board};
use dataperf_nibbler_aws::Kept;
use serde_json::{Value, json};

use crate::Done;
use crate::cloud::{Cloud, CloudArgs, now};
use crate::output::{Format, print_json, reasons, table};
use crate::registry::{Task, with_benchmark};

const EXAMPLE: &str = "A document, in YAML:\n
  schema: 1
  title: Spring challenge
  benchmarks:
    speech-selection:
      ranking: best                    # best, latest or all of a submitter's scored submissions
      leaderboards:
        pt-25: {ranking: latest}       # where a leaderboard differs
      rounds:
        - id: 2026-spring
          leaderboards: [en-25, pt-25] # all, when left out
          opens: 2026-03-01T00:00:00Z
          closes: 2026-04-01T00:00:00Z # left out: never
          dataset: sha256:...          # left out: the one in force
          daily_limit: 5
          total_limit: 40
          division: closed
          artifacts: private           # or public
          baselines: [organizers]
          messages: {before: ..., open: ..., after: ...}\n
docs/challenges.md explains each of them.";

#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLE)]
pub(crate) enum ChallengeCommand {
    /// Check a document, and show everything that is wrong with it
    Check(CheckArgs),
    /// Check a document, also against the published data sets, and put it in force
    Publish(PublishArgs),
    /// Show a benchmark's challenge that is in force, and which rounds are open
    Show(ShowArgs),
}

#[derive(Debug, Args)]
#[command(
    after_help = "Example: dataperf challenge check challenge.yaml\n\nExit codes: 0 nothing is wrong, 2 something is."
)]
pub(crate) struct CheckArgs {
    /// The document
    file: PathBuf,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Example: dataperf challenge publish challenge.yaml --local\n\nUploads that were made before are not judged \
    again. Benchmarks that the document does not name keep their challenges."
)]
pub(crate) struct PublishArgs {
    /// The document
    file: PathBuf,
    #[command(flatten)]
    cloud: CloudArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Example: dataperf challenge show speech-selection --local")]
pub(crate) struct ShowArgs {
    /// The benchmark
    #[arg(value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: String,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(crate) async fn run(command: ChallengeCommand, format: Format) -> Result<Done> {
    match command {
        ChallengeCommand::Check(args) => {
            match dataperf::challenge::check(&document(&args.file)?, dataperf_hosted::HOSTED) {
                Ok(challenges) => accepted(&challenges, format, "nothing is wrong with it"),
                Err(rejection) => refused(&rejection, format),
            }
        }
        ChallengeCommand::Publish(args) => publish(args, format).await,
        ChallengeCommand::Show(args) => show(args, format).await,
    }
}

fn document(path: &Path) -> Result<Value> {
    let text = fs::read_to_string(path).with_context(|| format!("can't read `{}`", path.display()))?;
    serde_saphyr::from_str(&text).with_context(|| format!("`{}` is not YAML", path.display()))
}

fn accepted(challenges: &BTreeMap<String, Challenge>, format: Format, said: &str) -> Result<Done> {
    match format {
        Format::Json => print_json(&json!({ "accepted": true, "benchmarks": challenges }))?,
        Format::Text => {
            for (benchmark, challenge) in challenges {
                print(benchmark, challenge, now());
            }
            println!("{said}");
        }
    }
    Ok(Done::Fine)
}

fn refused(rejection: &Rejection, format: Format) -> Result<Done> {
    match format {
        Format::Json => print_json(&json!({ "accepted": false, "reasons": rejection.reasons() }))?,
        Format::Text => {
            let n = rejection.n_reasons();
            println!("{n} {} to change:", if n == 1 { "thing" } else { "things" });
            println!("{}", reasons(rejection.reasons()));
        }
    }
    Ok(Done::Rejected)
}

async fn publish(args: PublishArgs, format: Format) -> Result<Done> {
    let challenges = match dataperf::challenge::check(&document(&args.file)?, dataperf_hosted::HOSTED) {
        Ok(challenges) => challenges,
        Err(rejection) => return refused(&rejection, format),
    };
    let cloud = args.cloud.connect().await;
    let mut reasons = Reasons::default();
    for (benchmark, challenge) in &challenges {
        let task = AgainstData {
            cloud: &cloud,
            challenge,
        };
        reasons.append(if benchmark == ADVERSARIAL_NIBBLER {
            task.of_nibbler().await?
        } else {
            with_benchmark(benchmark, task).await?
        });
    }
    if let Err(rejection) = reasons.into_verdict(()) {
        return refused(&rejection, format);
    }
    for (benchmark, challenge) in &challenges {
        let key = Challenge::key(benchmark);
        cloud.datasets().put(&key, challenge.to_json()?).await?;
    }
    accepted(
        &challenges,
        format,
        "in force from now on, for every upload by its own time",
    )
}

/// Holds a challenge against the data sets it is scored with.
struct AgainstData<'a> {
    cloud: &'a Cloud,
    challenge: &'a Challenge,
}

impl Task for AgainstData<'_> {
    type Output = Reasons;

    async fn run<B: Import>(self) -> Result<Reasons> {
        self.held_against(B::ID, async |dataset| boards::<B>(self.cloud, dataset).await)
            .await
    }
}

impl AgainstData<'_> {
    /// Adversarial Nibbler's boards are the same whatever its data set says, which has to be one that functions can use.
    async fn of_nibbler(self) -> Result<Reasons> {
        let boards = Board::ALL.map(|board| board.as_str().to_owned()).to_vec();
        self.held_against(ADVERSARIAL_NIBBLER, async |dataset| {
            let rules = Kept::default().rules(self.cloud.datasets(), dataset).await;
            usable(rules.map(|_| boards.clone()))
        })
        .await
    }

    /// Holds each round against the leaderboards of its data set.
    async fn held_against(
        &self,
        benchmark: &str,
        boards: impl AsyncFn(Option<Digest>) -> Result<Result<Vec<String>, String>>,
    ) -> Result<Reasons> {
        let mut reasons = Reasons::default();
        let at = pointer("/benchmarks", benchmark);
        for (idx, round) in self.challenge.rounds.iter().enumerate() {
            let at = format!("{at}/rounds/{idx}");
            let names = match boards(round.dataset).await? {
                Ok(names) => names,
                Err(why) => {
                    let at = pointer(&at, "dataset");
                    reasons.add(Reason::new("unusable_dataset", at, why));
                    continue;
                }
            };
            for (idx, name) in round
                .leaderboards
                .iter()
                .enumerate()
                .filter(|(_, name)| !names.contains(name))
            {
                let message = format!(
                    "the data set has no leaderboard {}: it has `{}`",
                    quote(name),
                    names.join("`, `")
                );
                reasons.add(Reason::new(
                    "unknown_leaderboard",
                    format!("{at}/leaderboards/{idx}"),
                    message,
                ));
            }
        }
        Ok(reasons)
    }
}

/// The leaderboards of a data set, or of the one in force, or why it can't be used.
async fn boards<B: Import>(cloud: &Cloud, pinned: Option<Digest>) -> Result<Result<Vec<String>, String>> {
    let names = async {
        let digest = match pinned {
            Some(digest) => digest,
            None => Dataset::<B, _>::in_force(&cloud.datasets()).await?,
        };
        let prefix = dataset_prefix(B::ID, digest);
        let dataset =
            Dataset::<B, _>::open(cloud.datasets(), prefix, Some(digest), Integrity::Digests).await?;
        let boards = B::leaderboards(dataset.manifest())?;
        Ok::<_, DatasetError>(boards.into_iter().map(|board| board.name).collect())
    };
    usable(names.await)
}

/// The leaderboards, or why their data set can't be used.
fn usable(names: Result<Vec<String>, DatasetError>) -> Result<Result<Vec<String>, String>> {
    match names {
        Ok(names) => Ok(Ok(names)),
        Err(DatasetError::Frozen(FrozenError::Missing { .. })) => Ok(Err(
            "it is not published: upload it with `dataperf dataset publish --stage`".into(),
        )),
        Err(DatasetError::Frozen(error)) => Ok(Err(error.to_string())),
        Err(DatasetError::Port(error)) => Err(error.into()),
    }
}

async fn show(args: ShowArgs, format: Format) -> Result<Done> {
    let cloud = args.cloud.connect().await;
    let Some(challenge) = Challenge::published(&cloud.datasets(), &args.benchmark).await? else {
        bail!(
            "no challenge is published for {}: its leaderboards have one open round without limits",
            args.benchmark
        );
    };
    match format {
        Format::Json => print_json(&challenge)?,
        Format::Text => print(&args.benchmark, &challenge, now()),
    }
    Ok(Done::Fine)
}

fn print(benchmark: &str, challenge: &Challenge, now: Timestamp) {
    println!("\n{} · {benchmark}", challenge.title);
    let mut table = table(&[
        "round",
        "now",
        "opens",
        "closes",
        "leaderboards",
        "a day",
        "in all",
        "division",
        "artifacts",
        "data set",
    ]);
    for round in &challenge.rounds {
        let Round {
            id,
            opens,
            closes,
            daily_limit,
            total_limit,
            ..
        } = round;
        let state = match (*opens <= now, closes.is_some_and(|closes| closes <= now)) {
            (false, _) => "not open yet",
            (true, false) => "open",
            (true, true) => "closed",
        };
        let number = |limit: &Option<u64>| limit.map_or("-".to_owned(), |limit| limit.to_string());
        let boards = if round.leaderboards.is_empty() {
            "all".to_owned()
        } else {
            round.leaderboards.join(" ")
        };
        table.add_row([
            id.clone(),
            state.to_owned(),
            opens.to_string(),
            closes.map_or("never".to_owned(), |closes| closes.to_string()),
            boards,
            number(daily_limit),
            number(total_limit),
            round.division.clone().unwrap_or_default(),
            format!("{:?}", round.artifacts).to_lowercase(),
            round.dataset.map_or("in force".to_owned(), |digest| {
                digest.to_string().chars().take(15).collect()
            }),
        ]);
    }
    println!("{table}");
}
