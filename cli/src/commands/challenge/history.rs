//! `dataperf challenge history` and `rollback`: the challenges that a benchmark has had.
//!
//! The datasets bucket keeps all versions of `challenge.json`, so the history needs no other
//! storage.

use anyhow::{Context, Result, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use dataperf::challenge::{Challenge, Round};
use dataperf::ports::bucket::{Bucket, Got};
use dataperf::{Timestamp, Upload};
use dataperf_aws::versions;
use serde_json::{Value, json};

use super::against_data::AgainstData;
use super::changes::changes_of_rounds;
use super::publish::{MAX_CHALLENGE_BYTES, replace};
use super::{accepted, refused};
use crate::Done;
use crate::cloud::{Cloud, CloudArgs};
use crate::hosted::descriptor;
use crate::output::rows::{RowFormat, print_rows};
use crate::output::{table, time};

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// The benchmark
    #[arg(value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: String,
    #[command(flatten)]
    cloud: CloudArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RollbackArgs {
    /// The benchmark
    #[arg(value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: String,
    /// The number that `challenge history` shows; without it, the previous one
    #[arg(long, value_name = "NUMBER")]
    to: Option<usize>,
    #[command(flatten)]
    cloud: CloudArgs,
}

/// A challenge that was published.
struct Published {
    /// 1 for the first.
    number: usize,
    at: Timestamp,
    /// Its text, or why it can't be read.
    challenge: Result<Challenge, String>,
}

/// All that were published, newest first.
async fn published(cloud: &Cloud, benchmark: &str) -> Result<Vec<Published>> {
    let (datasets, key) = (cloud.datasets(), Challenge::key(benchmark));
    let mut listed: Vec<Upload> = Vec::new();
    let mut place = None;
    loop {
        let page = versions(
            &cloud.clients.s3,
            &cloud.names.datasets_bucket,
            &key,
            place.as_ref(),
        )
        .await?;
        listed.extend(page.uploads.into_iter().filter(|version| version.key == key));
        place = page.next;
        if place.is_none() {
            break;
        }
    }
    // S3 lists the newest version of a key first
    let n = listed.len();
    let mut challenges = Vec::new();
    for (idx, version) in listed.into_iter().enumerate() {
        let id = version.version.as_deref().unwrap_or("null");
        let challenge = match datasets.get(&key, Some(id), MAX_CHALLENGE_BYTES).await? {
            Got::Object(object) => {
                serde_json::from_slice::<Challenge>(&object.bytes).map_err(|error| error.to_string())
            }
            Got::Missing | Got::TooLarge { .. } => Err("it can't be read".to_owned()),
        };
        challenges.push(Published {
            number: n - idx,
            at: version.received_at,
            challenge,
        });
    }
    Ok(challenges)
}

pub(super) async fn show(args: HistoryArgs, format: RowFormat) -> Result<Done> {
    let (cloud, benchmark) = (args.cloud.connect().await?, &args.benchmark);
    let history = published(&cloud, benchmark).await?;
    let in_force = Challenge::published(&cloud.datasets(), benchmark).await?;
    let is_in_force = |idx: usize| idx == 0 && in_force.is_some();
    let documents: Vec<Value> = history
        .iter()
        .enumerate()
        .map(|(idx, one)| {
            let challenge = one.challenge.as_ref().ok();
            let rounds = challenge.map(|challenge| challenge.rounds.iter().map(|round| round.id.clone()).collect::<Vec<_>>());
            json!({ "number": one.number, "published_at": one.at, "in_force": is_in_force(idx),
                    "title": challenge.map(|challenge| &challenge.title), "rounds": rounds, "damage": one.challenge.as_ref().err(),
                    "challenge": challenge })
        })
        .collect();
    let columns = ["number", "published_at", "in_force", "title", "rounds"];
    print_rows(&documents, &columns, format, || {
        if history.is_empty() {
            println!("{benchmark} has had no challenge.");
            return Ok(());
        }
        let mut lines = table(&["number", "published (UTC)", "title", "rounds", ""]);
        for (idx, one) in history.iter().enumerate() {
            let (title, rounds) = match &one.challenge {
                Ok(challenge) => {
                    let ids: Vec<&str> = challenge
                        .rounds
                        .iter()
                        .map(|Round { id, .. }| id.as_str())
                        .collect();
                    (challenge.title.clone(), ids.join(" "))
                }
                Err(damage) => (String::new(), damage.clone()),
            };
            let mark = if is_in_force(idx) { "active" } else { "" };
            lines.add_row([
                one.number.to_string(),
                time(one.at),
                title,
                rounds,
                mark.to_owned(),
            ]);
        }
        println!("{lines}");
        Ok(())
    })?;
    Ok(Done::Fine)
}

pub(super) async fn roll_back(args: RollbackArgs, format: RowFormat) -> Result<Done> {
    let (cloud, benchmark) = (args.cloud.connect().await?, args.benchmark.as_str());
    let (datasets, key) = (cloud.datasets(), Challenge::key(benchmark));
    // the tag first: what is published after it does not have it
    let current = datasets.get_tagged(&key, MAX_CHALLENGE_BYTES).await?;
    let now_in_force = current
        .as_ref()
        .and_then(|current| serde_json::from_slice::<Challenge>(&current.bytes).ok());
    let history = published(&cloud, benchmark).await?;
    let wanted = match args.to {
        Some(number) => history.into_iter().find(|one| one.number == number),
        None => history
            .into_iter()
            .find(|one| one.challenge.is_ok() && one.challenge.as_ref().ok() != now_in_force.as_ref()),
    };
    let Some(wanted) = wanted else {
        bail!(
            "there is no earlier challenge of {benchmark} to go back to, or none with this number: \
             `dataperf challenge history {benchmark}` lists the challenges with their numbers"
        );
    };
    let mut challenge = wanted
        .challenge
        .map_err(anyhow::Error::msg)
        .with_context(|| format!("the challenge number {} is damaged", wanted.number))?;
    let held = AgainstData {
        cloud: &cloud,
        descriptor: descriptor(benchmark)?,
        challenge: &mut challenge,
    };
    let (reasons, mut warnings) = held.reasons().await?;
    if let Err(rejection) = reasons.into_verdict(()) {
        return refused(&rejection, format);
    }
    warnings.extend(changes_of_rounds(&cloud, benchmark, Some(&challenge)).await?);
    let tag = current.map(|current| current.tag);
    replace(&cloud, benchmark, &challenge, tag.as_deref()).await?;
    cloud.project_all(benchmark).await?;
    let message = format!(
        "Challenge number {} of {} is active again.",
        wanted.number, wanted.at
    );
    accepted(
        &[(benchmark.to_owned(), challenge)].into(),
        warnings,
        &[],
        format,
        &message,
    )
}
