//! `dataperf challenge`: rounds, limits and rankings, written by an organizer as one document.

mod against_data;
mod changes;
mod finish;
mod history;
mod init;
mod release;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use dataperf::challenge::{Challenge, ChallengeError, Round, bare_dates, named_by_dataset, unknown_rounds};
use dataperf::ports::bucket::{Bucket, Got};
use dataperf::{Reason, Reasons, Rejection, Timestamp, offer, pointer, quote, text_of_file};
use serde_json::{Value, json};
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};

use self::against_data::AgainstData;
use self::changes::changes_of_rounds;
use crate::Done;
use crate::cloud::{Cloud, CloudArgs, now};
use crate::hosted::descriptor;
use crate::on_disk::{Opened, open};
use crate::output::{Format, n_of, print_json, reasons, short_digest, table, time, visible};
use crate::registry::extension;
use crate::rows::{RowFormat, print_rows, print_tabled};

const MAX_CHALLENGE_BYTES: u64 = 1 << 20;

#[derive(Debug, Subcommand)]
pub(crate) enum ChallengeCommand {
    /// Print a document to start from, with every key explained
    Init(init::InitArgs),
    /// Check a document and list all problems
    Check(CheckArgs),
    /// Check a document and make it the active challenge
    Publish(PublishArgs),
    /// Show a benchmark's active challenge and its rounds
    Show(ShowArgs),
    /// List the challenges that were published, newest first
    History(history::HistoryArgs),
    /// Publish an earlier challenge again
    Rollback(history::RollbackArgs),
    /// Make the final board of a closed round now
    Finish(finish::FinishArgs),
    /// Write the full receipts of a closed round
    Release(release::ReleaseArgs),
    /// End a challenge; one open round without limits remains
    Remove(RemoveArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The document
    file: PathBuf,
    /// Warn about boards that share test data with this data set; repeatable
    #[arg(long, value_name = "DIR")]
    dataset: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct PublishArgs {
    /// The document
    file: PathBuf,
    /// Remove a published round and show what is lost; repeatable
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

pub(crate) async fn run(command: ChallengeCommand, rows: RowFormat) -> Result<Done> {
    let format = rows.of_documents();
    match command {
        ChallengeCommand::Init(args) => format.map(|_| init::run(&args)),
        ChallengeCommand::Check(args) => check(&args, rows),
        ChallengeCommand::Publish(args) => publish(args, rows).await,
        ChallengeCommand::Show(args) => show(args, rows).await,
        ChallengeCommand::History(args) => history::show(args, rows).await,
        ChallengeCommand::Rollback(args) => history::roll_back(args, rows).await,
        ChallengeCommand::Finish(args) => finish::run(args, format?).await,
        ChallengeCommand::Release(args) => release::run(args, format?).await,
        ChallengeCommand::Remove(args) => remove(args, format?).await,
    }
}

fn check(args: &CheckArgs, format: RowFormat) -> Result<Done> {
    let Read {
        document,
        mut challenges,
        dates,
    } = match read(&args.file)? {
        Ok(read) => read,
        Err(rejection) => return refused(&rejection, format),
    };
    let warnings = warnings_of_shared_data(&document, &challenges)?;
    for directory in &args.dataset {
        let Opened { manifest, digest, .. } = open(directory)?;
        let Some(challenge) = challenges.get_mut(&manifest.benchmark) else {
            continue;
        };
        if extension(&manifest.benchmark).is_none() {
            let evaluations = (descriptor(&manifest.benchmark)?.evaluations)(&manifest)?;
            let evaluations = named_by_dataset(evaluations, digest);
            let rounds = challenge.rounds.iter_mut();
            for round in rounds.filter(|round| round.dataset.is_none_or(|pinned| pinned == digest)) {
                round.evaluations.extend(evaluations.clone());
            }
        }
    }
    accepted(&challenges, warnings, &dates, format, "The document is valid.")
}

/// Warnings of rounds of an accepted document that withhold results until another one closes. In `challenges` published rounds follow its own.
fn warnings_of_shared_data(
    document: &Value,
    challenges: &BTreeMap<String, Challenge>,
) -> Result<Vec<Reason>> {
    let mut warnings = Vec::new();
    for (benchmark, challenge) in challenges {
        let rounds = document["benchmarks"][benchmark]["rounds"].as_array();
        let n_own = rounds.map_or(0, Vec::len);
        let place = pointer("/benchmarks", benchmark);
        let of_task = challenge.warnings_of_shared_data(n_own, descriptor(benchmark)?, now());
        warnings.extend(of_task.into_iter().map(|warning| Reason {
            at: format!("{place}{}", warning.at),
            ..warning
        }));
    }
    Ok(warnings)
}

/// Why the document's YAML can't be read.
fn unreadable(error: &serde_saphyr::Error) -> Reason {
    let innermost = std::error::Error::source(error).map(ToString::to_string); // without a drawing of the place
    // the library's advice is for programmers, not for organizers
    let said = innermost
        .unwrap_or_else(|| error.to_string())
        .replace(", set DuplicateKeyPolicy in Options if acceptable", "");
    Reason::new("unreadable_yaml", "", said)
}

/// A document that was accepted.
#[derive(Default)]
struct Read {
    document: Value,
    challenges: BTreeMap<String, Challenge>,
    /// What dates without a time were read as.
    dates: Vec<Reason>,
}

/// The challenges of a document, or everything that is wrong with it. Repeated keys and numbers that are not finite don't hide other problems.
fn read(path: &Path) -> Result<Result<Read, Rejection>> {
    let bytes = fs::read(path).with_context(|| format!("can't read `{}`", path.display()))?;
    let text = match text_of_file(&bytes) {
        Ok(text) => text,
        Err(why) => {
            let message = format!("the file can't be read: {why}");
            return Ok(Err(Reason::new("not_utf8", "", message).into()));
        }
    };
    let (document, repeated) = match serde_saphyr::from_str::<Value>(&text) {
        Ok(document) => (document, None),
        Err(error) => {
            let options = serde_saphyr::options! {
                duplicate_keys: DuplicateKeyPolicy::LastWins,
                non_finite_float_policy: NonFiniteFloatPolicy::AsString,
            };
            let Ok(document) = serde_saphyr::from_str_with_options(&text, options) else {
                return Ok(Err(unreadable(&error).into()));
            };
            (document, Some(unreadable(&error)))
        }
    };
    let checked = dataperf::challenge::check(&document, dataperf_hosted::HOSTED);
    let Some(repeated) = repeated else {
        return Ok(checked.map(|challenges| Read {
            dates: bare_dates(&document),
            challenges,
            document,
        }));
    };
    let mut reasons = Reasons::default();
    reasons.add(repeated);
    if let Err(rejection) = checked {
        rejection
            .reasons()
            .iter()
            .for_each(|reason| reasons.add(reason.clone()));
    }
    Ok(reasons.into_verdict(Read::default()))
}

fn accepted(
    challenges: &BTreeMap<String, Challenge>,
    mut warnings: Vec<Reason>,
    dates: &[Reason],
    format: RowFormat,
    said: &str,
) -> Result<Done> {
    for (benchmark, challenge) in challenges {
        let under = pointer("/benchmarks", benchmark);
        warnings.extend(challenge.warnings(now()).into_iter().map(|warning| Reason {
            at: format!("{under}{}", warning.at),
            ..warning
        }));
    }
    let document =
        || Ok(json!({ "accepted": true, "benchmarks": challenges, "warnings": warnings, "dates": dates }));
    let mut rows = Vec::new();
    for (benchmark, challenge) in challenges {
        for mut round in rounds(challenge)? {
            round["benchmark"] = json!(benchmark);
            rows.push(round);
        }
    }
    let columns: Vec<&str> = std::iter::once("benchmark").chain(COLUMNS).collect();
    print_tabled(
        document,
        &columns,
        || rows,
        format,
        || {
            for (benchmark, challenge) in challenges {
                print(benchmark, challenge, now());
            }
            for date in dates {
                println!("{}: {}", date.at, date.message);
            }
            println!("{said}");
            Ok(())
        },
    )?;
    if format != RowFormat::Json {
        print_warnings(&warnings);
    }
    Ok(Done::Fine)
}

fn print_warnings(warnings: &[Reason]) {
    for warning in warnings {
        eprintln!("warning: {}: {}", warning.at, warning.message);
    }
}

fn refused(rejection: &Rejection, format: RowFormat) -> Result<Done> {
    let document = || Ok(json!({ "accepted": false, "reasons": rejection.reasons() }));
    let rows = || rejection.reasons().iter().map(|reason| json!(reason)).collect();
    print_tabled(document, &["code", "at", "message"], rows, format, || {
        let n = rejection.n_reasons();
        println!("{} to fix:", n_of(n, "problem", "problems"));
        println!("{}", reasons(rejection.reasons()));
        Ok(())
    })?;
    Ok(Done::Rejected)
}

async fn publish(args: PublishArgs, format: RowFormat) -> Result<Done> {
    let Read {
        document,
        mut challenges,
        dates,
    } = match read(&args.file)? {
        Ok(read) => read,
        Err(rejection) => return refused(&rejection, format),
    };
    let cloud = args.cloud.connect().await;
    let (tags, kept) = match merge(&cloud, &document, &mut challenges, &args.remove).await? {
        Ok(merged) => merged,
        Err(rejection) => return refused(&rejection, format),
    };
    let mut warnings = warnings_of_shared_data(&document, &challenges)?;
    let mut reasons = Reasons::default();
    for (benchmark, challenge) in &mut challenges {
        let task = AgainstData {
            cloud: &cloud,
            descriptor: descriptor(benchmark)?,
            challenge,
        };
        let (of_task, of_data) = task.reasons().await?;
        reasons.append(of_task);
        warnings.extend(of_data);
        warnings.extend(changes_of_rounds(&cloud, benchmark, Some(challenge)).await?);
    }
    if let Err(rejection) = reasons.into_verdict(()) {
        return refused(&rejection, format);
    }
    for (benchmark, challenge) in &challenges {
        let tag = tags.get(benchmark).and_then(Option::as_deref);
        replace(&cloud, benchmark, challenge, tag).await?;
        cloud.project_all(benchmark).await?;
    }
    let kept = match kept.as_slice() {
        [] => String::new(),
        kept => format!("; published rounds that stay: {}", kept.join(", ")),
    };
    let said = format!("The challenge is active. The time of an upload decides its round{kept}");
    accepted(&challenges, warnings, &dates, format, &said)
}

/// The entity tags of what was published, `None` where nothing was; and the ids of published rounds that stay.
type Merged = (BTreeMap<String, Option<String>>, Vec<String>);

/// Adds to each challenge the published rounds that it does not have, but for the `removed` ones.
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
        let found = datasets
            .get_tagged(&Challenge::key(benchmark), MAX_CHALLENGE_BYTES)
            .await?;
        tags.insert(benchmark.clone(), found.map(|found| found.tag));
        let published = match Challenge::published(&datasets, benchmark).await {
            Ok(Some(published)) => published,
            Ok(None) => Challenge {
                rounds: Vec::new(),
                ..challenge.clone()
            },
            Err(error @ ChallengeError::Port(_)) => return Err(error.into()),
            Err(error) => {
                return Err(anyhow::Error::new(error).context(format!(
                    "the published challenge of {benchmark} can't be read, so that nobody knows which of its rounds stay: \
                     publish its last version again with `dataperf challenge rollback {benchmark}`, or end it with \
                     `dataperf challenge remove {benchmark}`"
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

/// Puts a challenge in place of the one with this tag, or where there is none, as [`Challenge::publish`] does.
async fn replace(cloud: &Cloud, benchmark: &str, challenge: &Challenge, tag: Option<&str>) -> Result<()> {
    let (datasets, key) = (cloud.datasets(), Challenge::key(benchmark));
    Challenge::note_published(&datasets, &cloud.leaderboards(), benchmark, now()).await?;
    if !datasets.put_if(&key, challenge.to_json()?, tag).await? {
        bail!(
            "somebody else has published a challenge of {benchmark} at this moment: look at it, and give the command again"
        );
    }
    Ok(challenge.mark(&datasets, benchmark).await?)
}

async fn show(args: ShowArgs, format: RowFormat) -> Result<Done> {
    let (cloud, benchmark) = (args.cloud.connect().await, args.benchmark.as_str());
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

/// The columns of rounds as CSV.
const COLUMNS: [&str; 14] = [
    "id",
    "leaderboards",
    "opens",
    "closes",
    "dataset",
    "final",
    "retire",
    "daily_limit",
    "total_limit",
    "division",
    "artifacts",
    "preset",
    "curves",
    "ladder",
];

fn rounds(challenge: &Challenge) -> Result<Vec<Value>> {
    let rounds = challenge.rounds.iter().map(serde_json::to_value);
    Ok(rounds.collect::<Result<_, _>>()?)
}

/// The document that publishes a challenge.
fn yaml(benchmark: &str, challenge: &Challenge) -> Result<String> {
    let text = serde_saphyr::to_string(&challenge.document(descriptor(benchmark)?))?;
    Ok(if text.ends_with('\n') { text } else { text + "\n" })
}

/// Removes the mark before the challenge: if this breaks off in between, the challenge is still in force.
async fn remove(args: RemoveArgs, format: Format) -> Result<Done> {
    let (cloud, benchmark) = (args.cloud.connect().await, &args.benchmark);
    let datasets = cloud.datasets();
    // what it has done stays known
    let published = Challenge::note_published(&datasets, &cloud.leaderboards(), benchmark, now()).await?;
    if let Some(reason) = published.and_then(|published| published.uncovered(None, now())) {
        bail!("{}", reason.message);
    }
    let warnings = changes_of_rounds(&cloud, benchmark, None).await?;
    let keys = [Challenge::mark_key(benchmark), Challenge::key(benchmark)];
    let mut found = false;
    for key in &keys {
        found |= datasets.get(key, None, 1 << 20).await? != Got::Missing;
    }
    if !found {
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

fn print(benchmark: &str, challenge: &Challenge, now: Timestamp) {
    let title: String = challenge.title.chars().map(visible).collect();
    println!("\n{title} · {benchmark}");
    let mut table = table(&[
        "round",
        "now",
        "opens (UTC)",
        "closes (UTC)",
        "leaderboards",
        "a day",
        "in all",
        "division",
        "artifacts",
        "preset",
        "data set",
        "final",
        "retired",
    ]);
    table.spare(&[
        "division",
        "artifacts",
        "retired",
        "final",
        "data set",
        "preset",
        "in all",
        "a day",
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
            time(*opens),
            closes.map_or("never".to_owned(), time),
            boards,
            number(daily_limit),
            number(total_limit),
            round.division.clone().unwrap_or_default(),
            format!("{:?}", round.artifacts).to_lowercase(),
            {
                let preset = round.preset.as_str();
                match (round.curves, round.ladder) {
                    (true, _) => format!("{preset}, curves"),
                    (_, true) => format!("{preset}, ladder"),
                    _ => preset.to_owned(),
                }
            },
            round.dataset.map_or("active".to_owned(), short_digest),
            round.final_dataset.map_or(String::new(), short_digest),
            round.retire.map_or(String::new(), |retire| time(retire.at)),
        ]);
    }
    println!("{table}");
    for round in challenge.rounds.iter().filter(|round| round.title.is_some()) {
        let title: String = challenge.title_of(round).chars().map(visible).collect();
        println!("{}: {title}", round.id);
    }
    for one in &challenge.announcements {
        let mark = if one.date > now { " (not shown yet)" } else { "" };
        let mark = match one.rounds.as_slice() {
            [] => mark.to_owned(),
            rounds => format!(" {}{mark}", rounds.join(" ")),
        };
        let text: String = one.text.chars().map(visible).collect();
        println!("{}{mark} {text}", one.date);
    }
}
