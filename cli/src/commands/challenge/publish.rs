//! `dataperf challenge publish`, `show` and `remove`: the active challenge of a cloud.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use dataperf::challenge::{Challenge, ChallengeError, unknown_rounds};
use dataperf::ports::bucket::{Bucket, Got};
use dataperf::{Reason, Reasons, Rejection, offer, pointer, quote};
use serde_json::{Value, json};

use super::against_data::AgainstData;
use super::changes::changes_of_rounds;
use super::{COLUMNS, Read, accepted, print, print_warnings, read, refused, rounds, warnings_of_shared_data};
use crate::Done;
use crate::cloud::{Cloud, CloudArgs, now};
use crate::hosted::descriptor;
use crate::output::rows::{RowFormat, print_rows};
use crate::output::{Format, print_json};

pub(super) const MAX_CHALLENGE_BYTES: u64 = 1 << 20;

#[derive(Debug, Args)]
pub(crate) struct PublishArgs {
    /// The document
    file: PathBuf,
    /// Remove a published round and show the losses; repeatable
    #[arg(long, value_name = "ROUND")]
    remove: Vec<String>,
    #[command(flatten)]
    cloud: CloudArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The benchmark
    #[arg(value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: String,
    #[command(flatten)]
    cloud: CloudArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// The benchmark
    #[arg(value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: String,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(super) async fn publish(args: PublishArgs, format: RowFormat) -> Result<Done> {
    let mut read = match read(&args.file)? {
        Ok(read) => read,
        Err(rejection) => return refused(&rejection, format),
    };
    let cloud = args.cloud.connect().await?;
    let Published { warnings, kept } = match put(&cloud, &mut read, &args.remove).await? {
        Ok(published) => published,
        Err(rejection) => return refused(&rejection, format),
    };
    let kept = match kept.as_slice() {
        [] => String::new(),
        kept => format!("; published rounds that stay: {}", kept.join(", ")),
    };
    let message = format!("The challenge is active. The time of an upload decides its round{kept}");
    accepted(&read.challenges, warnings, &read.dates, format, &message)
}

/// The result of publishing.
pub(super) struct Published {
    pub(super) warnings: Vec<Reason>,
    /// The ids of published rounds that stay.
    kept: Vec<String>,
}

/// Publishes the challenges of a document, and keeps the published rounds except the `removed` ones. Returns all
/// reasons to refuse the document instead, if there are any.
pub(super) async fn put(
    cloud: &Cloud,
    read: &mut Read,
    removed: &[String],
) -> Result<Result<Published, Rejection>> {
    let Read {
        document, challenges, ..
    } = read;
    let (tags, kept) = match merge(cloud, document, challenges, removed).await? {
        Ok(merged) => merged,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let mut warnings = warnings_of_shared_data(document, challenges)?;
    let mut reasons = Reasons::default();
    for (benchmark, challenge) in challenges.iter_mut() {
        let task = AgainstData {
            cloud,
            descriptor: descriptor(benchmark)?,
            challenge,
        };
        let (of_task, of_data) = task.reasons().await?;
        reasons.append(of_task);
        warnings.extend(of_data);
        warnings.extend(changes_of_rounds(cloud, benchmark, Some(challenge)).await?);
    }
    if let Err(rejection) = reasons.into_verdict(()) {
        return Ok(Err(rejection));
    }
    for (benchmark, challenge) in challenges.iter() {
        let tag = tags.get(benchmark).and_then(Option::as_deref);
        replace(cloud, benchmark, challenge, tag).await?;
        cloud.project_all(benchmark).await?;
    }
    Ok(Ok(Published { warnings, kept }))
}

/// The entity tags of the published challenges, `None` if there was none; and the ids of published
/// rounds that stay.
type Merged = (BTreeMap<String, Option<String>>, Vec<String>);

/// Adds the published rounds that a challenge lacks to it, except the `removed` ones.
async fn merge(
    cloud: &Cloud,
    document: &Value,
    challenges: &mut BTreeMap<String, Challenge>,
    removed: &[String],
) -> Result<Result<Merged, Rejection>> {
    let (datasets, mut tags, mut kept) = (cloud.datasets(), BTreeMap::new(), Vec::new());
    let (mut reasons, mut published_ids) = (Reasons::default(), Vec::new());
    let own = challenges.values().flat_map(|challenge| &challenge.rounds);
    let own: Vec<String> = own.map(|round| round.id.clone()).collect();
    for (benchmark, challenge) in challenges {
        // read first: a challenge that is published after this has another tag
        let current = datasets
            .get_tagged(&Challenge::key(benchmark), MAX_CHALLENGE_BYTES)
            .await?;
        tags.insert(benchmark.clone(), current.map(|current| current.tag));
        let published = match Challenge::published(&datasets, benchmark).await {
            Ok(Some(published)) => published,
            Ok(None) => Challenge {
                rounds: Vec::new(),
                ..challenge.clone()
            },
            Err(error @ ChallengeError::Port(_)) => return Err(error.into()),
            Err(error) => {
                return Err(anyhow::Error::new(error).context(format!(
                    "the published challenge of {benchmark} can't be read, so the command can't keep its rounds: publish its \
                        last version again with `dataperf challenge rollback {benchmark}`, or end it with `dataperf challenge \
                        remove {benchmark}`"
                )));
            }
        };
        published_ids.extend(published.rounds.iter().map(|round| round.id.clone()));
        match challenge.clone().merged_into(&published, removed) {
            Ok(both) => {
                kept.extend(
                    both.rounds[challenge.rounds.len()..]
                        .iter()
                        .map(|round| round.id.clone()),
                );
                *challenge = both;
            }
            Err(rejection) => {
                let under = pointer("/benchmarks", benchmark);
                for reason in rejection.reasons() {
                    let at = format!("{under}{}", reason.at);
                    reasons.add(Reason { at, ..reason.clone() });
                }
            }
        }
    }
    if let Some(unknown) = removed.iter().find(|id| !published_ids.contains(id)) {
        let known = published_ids.iter().map(String::as_str);
        bail!(
            "no round {} is published for the benchmarks of the document: {}",
            quote(unknown),
            offer(unknown, known)
        );
    }
    let known = published_ids.into_iter().chain(own).collect();
    reasons.append(unknown_rounds(document, &known));
    Ok(reasons.into_verdict((tags, kept)))
}

/// Replaces the challenge with this tag, or publishes the first one, as [`Challenge::publish`]
/// does.
pub(super) async fn replace(
    cloud: &Cloud,
    benchmark: &str,
    challenge: &Challenge,
    tag: Option<&str>,
) -> Result<()> {
    let (datasets, key) = (cloud.datasets(), Challenge::key(benchmark));
    Challenge::note_published(&datasets, &cloud.leaderboards(), benchmark, now()).await?;
    if !datasets.put_if(&key, challenge.to_json()?, tag).await? {
        bail!(
            "somebody else has published a challenge of {benchmark} at this moment: look at it, and give the command again"
        );
    }
    Ok(challenge.mark(&datasets, benchmark).await?)
}

pub(super) async fn show(args: ShowArgs, format: RowFormat) -> Result<Done> {
    let (cloud, benchmark) = (args.cloud.connect().await?, args.benchmark.as_str());
    let Some(challenge) = Challenge::published(&cloud.datasets(), benchmark).await? else {
        bail!(
            "no challenge is published for {benchmark}: its leaderboards have one open round without limits"
        );
    };
    match format {
        RowFormat::Yaml => print!("{}", yaml(benchmark, &challenge)?),
        RowFormat::Json => print_json(&challenge)?,
        RowFormat::Text => print(benchmark, &challenge, now()),
        RowFormat::Csv => print_rows(&rounds(&challenge)?, &COLUMNS, format, || Ok(()))?,
    }
    Ok(Done::Fine)
}

/// The document that publishes a challenge.
fn yaml(benchmark: &str, challenge: &Challenge) -> Result<String> {
    let text = serde_saphyr::to_string(&challenge.document(descriptor(benchmark)?))?;
    Ok(if text.ends_with('\n') { text } else { text + "\n" })
}

/// Removes the mark before the challenge: after an interruption in between, the challenge is still
/// active.
pub(super) async fn remove(args: RemoveArgs, format: Format) -> Result<Done> {
    let (cloud, benchmark) = (args.cloud.connect().await?, &args.benchmark);
    let datasets = cloud.datasets();
    // what it has done stays known
    let published = Challenge::note_published(&datasets, &cloud.leaderboards(), benchmark, now()).await?;
    if let Some(reason) = published.and_then(|published| published.uncovered(None, now())) {
        bail!("{}", reason.message);
    }
    let warnings = changes_of_rounds(&cloud, benchmark, None).await?;
    let keys = [Challenge::mark_key(benchmark), Challenge::key(benchmark)];
    let mut exists = false;
    for key in &keys {
        exists |= datasets.get(key, None, 1 << 20).await? != Got::Missing;
    }
    if !exists {
        bail!("no challenge is published for {benchmark}: there is nothing to remove");
    }
    let bucket = &cloud.names.datasets_bucket;
    for key in &keys {
        let removed = cloud
            .clients
            .s3
            .delete_object()
            .bucket(bucket)
            .key(key)
            .send()
            .await;
        removed.with_context(|| format!("can't remove `s3://{bucket}/{key}`"))?;
    }
    cloud.project_all(benchmark).await?;
    match format {
        Format::Json => {
            print_json(&json!({ "benchmark": benchmark, "removed": true, "warnings": warnings }))?;
        }
        Format::Text => {
            println!("{benchmark} has no challenge now: one open round without limits.");
            print_warnings(&warnings);
        }
    }
    Ok(Done::Fine)
}
