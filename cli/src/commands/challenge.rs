//! `dataperf challenge`: rounds, limits and rankings, written by an organizer as one document.

#[cfg(feature = "cloud")]
mod against_data;
#[cfg(feature = "cloud")]
mod changes;
#[cfg(feature = "cloud")]
mod finish;
#[cfg(feature = "cloud")]
mod history;
mod init;
#[cfg(feature = "cloud")]
mod online;
#[cfg(feature = "local")]
mod preview;
#[cfg(feature = "cloud")]
mod publish;
#[cfg(feature = "cloud")]
mod release;
#[cfg(feature = "cloud")]
mod report;
#[cfg(feature = "cloud")]
mod round;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use dataperf::challenge::{Challenge, Round, bare_dates, named_by_dataset};
use dataperf::{Reason, Reasons, Rejection, Timestamp, pointer, text_of_file};
use serde_json::{Value, json};
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};

use crate::Done;
use crate::clock::now;
use crate::hosted::descriptor;
use crate::on_disk::{Opened, open};
use crate::output::rows::{RowFormat, print_tabled};
use crate::output::{n_of, reasons, short_digest, table, time, visible};
use crate::registry::extension;

#[derive(Debug, Subcommand)]
pub(crate) enum ChallengeCommand {
    /// Print a document to start from, with every key explained
    Init(init::InitArgs),
    /// Check a document and list all problems
    Check(CheckArgs),
    #[cfg(feature = "cloud")]
    #[command(flatten)]
    Online(Box<online::OnlineCommand>),
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The document
    file: PathBuf,
    /// Warn about boards that share test data with this data set; repeatable
    #[arg(long, value_name = "DIR")]
    dataset: Vec<PathBuf>,
}

pub(crate) async fn run(command: ChallengeCommand, rows: RowFormat) -> Result<Done> {
    let format = rows.of_documents();
    match command {
        ChallengeCommand::Init(args) => format.map(|_| init::run(&args)),
        ChallengeCommand::Check(args) => check(&args, rows),
        #[cfg(feature = "cloud")]
        ChallengeCommand::Online(command) => Box::pin(online::run(*command, rows)).await,
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
    let message = innermost
        .unwrap_or_else(|| error.to_string())
        .replace(", set DuplicateKeyPolicy in Options if acceptable", "");
    Reason::new("unreadable_yaml", "", message)
}

/// A document that was accepted.
#[derive(Default)]
struct Read {
    document: Value,
    challenges: BTreeMap<String, Challenge>,
    /// The times that dates without a time stand for.
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

/// The `warnings` of publishing, and those that a document has by itself.
fn all_warnings(challenges: &BTreeMap<String, Challenge>, mut warnings: Vec<Reason>) -> Vec<Reason> {
    for (benchmark, challenge) in challenges {
        let under = pointer("/benchmarks", benchmark);
        warnings.extend(challenge.warnings(now()).into_iter().map(|warning| Reason {
            at: format!("{under}{}", warning.at),
            ..warning
        }));
    }
    warnings
}

fn accepted(
    challenges: &BTreeMap<String, Challenge>,
    warnings: Vec<Reason>,
    dates: &[Reason],
    format: RowFormat,
    message: &str,
) -> Result<Done> {
    let warnings = all_warnings(challenges, warnings);
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
            println!("{message}");
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
