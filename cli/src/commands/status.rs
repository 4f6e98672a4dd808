//! `dataperf status`: what became of a submission, and what is unfinished since when.

use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use dataperf::SubmissionId;
use dataperf::ports::leaderboard::{Entry, Leaderboards};
use indicatif::HumanDuration;
use serde_json::{Value, json};

use super::score::done;
use crate::Done;
use crate::cloud::{CloudArgs, now};
use crate::output::{Format, align_right, print_json, print_verdict, score, table};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  dataperf status --local                                      what is unfinished, and since when\n  \
    dataperf status speech-selection --submitter ada --local     ada's submissions, newest first\n  \
    dataperf status speech-selection --failed --local            what the platform failed to evaluate
  \
    dataperf status speech-selection SUBMISSION --local          one submission, whole"
)]
pub(crate) struct StatusArgs {
    /// The benchmark; without it, what is unfinished of all
    #[arg(value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: Option<String>,
    /// A submission's id
    #[arg(conflicts_with = "submitter", requires = "benchmark")]
    submission: Option<SubmissionId>,
    /// Show this submitter's submissions
    #[arg(long, requires = "benchmark")]
    submitter: Option<String>,
    /// Show what has failed and waits for `dataperf redrive`
    #[arg(long, conflicts_with_all = ["submission", "submitter"])]
    failed: bool,
    /// How many of a submitter's submissions to show
    #[arg(long, short = 'n', default_value_t = 20)]
    newest: usize,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(crate) async fn run(args: StatusArgs, format: Format) -> Result<Done> {
    let leaderboards = args.cloud.connect().await.leaderboards();
    let Some(benchmark) = &args.benchmark else {
        let mut entries = Vec::new();
        for benchmark in dataperf_hosted::IDS {
            entries.extend(leaderboards.unfinished(benchmark).await?);
        }
        print_entries(&entries, format, "nothing is unfinished")?;
        return Ok(Done::Fine);
    };
    if let Some(id) = args.submission {
        let Some(submission) = leaderboards.submission(benchmark, &id).await? else {
            bail!("{benchmark} has no submission `{id}`: check the id, or whether its upload arrived");
        };
        let Some(receipt) = &submission.receipt else {
            print_entries(&[submission.entry()], format, "")?;
            return Ok(Done::Fine);
        };
        match format {
            Format::Json => print_json(receipt)?,
            Format::Text => {
                println!(
                    "{} by {}, received {}, finished {}",
                    id, receipt.submitter, receipt.received_at, receipt.finished_at
                );
                print_verdict(&receipt.verdict);
            }
        }
        return Ok(done(&receipt.verdict));
    }
    let (entries, when_none) = if let Some(submitter) = args.submitter {
        let entries = leaderboards.history(benchmark, &submitter, args.newest).await?;
        (
            entries,
            format!("{benchmark}: `{submitter}` has submitted nothing"),
        )
    } else if args.failed {
        (
            leaderboards.failed(benchmark).await?,
            format!("{benchmark}: nothing has failed"),
        )
    } else {
        (
            leaderboards.unfinished(benchmark).await?,
            format!("{benchmark}: nothing is unfinished"),
        )
    };
    print_entries(&entries, format, &when_none)?;
    Ok(Done::Fine)
}

fn print_entries(entries: &[Entry], format: Format, when_none: &str) -> Result<()> {
    if format == Format::Json {
        let documents: Vec<Value> = entries.iter().map(document).collect();
        return print_json(&documents);
    }
    if entries.is_empty() {
        println!("{when_none}");
        return Ok(());
    }
    let mut table = table(&[
        "received",
        "benchmark",
        "leaderboard",
        "round",
        "submitter",
        "status",
        "score",
        "submission",
    ]);
    for entry in entries {
        table.add_row([
            entry.received_at.to_string(),
            entry.board.benchmark.clone(),
            entry.board.leaderboard.clone(),
            entry.board.round.clone(),
            entry.submitter.clone(),
            match waiting_seconds(entry) {
                Some(seconds) => format!("received {} ago", HumanDuration(Duration::from_secs(seconds))),
                None if entry.withdrawn_at.is_some() => "withdrawn".to_owned(),
                None => status(entry).to_owned(),
            },
            entry.score.map(score).unwrap_or_default(),
            entry.id.to_string(),
        ]);
    }
    align_right(&mut table, 6);
    println!("{table}");
    Ok(())
}

fn status(entry: &Entry) -> &'static str {
    entry.ending.map_or("received", dataperf::Ending::as_str)
}

/// Since when it has been waiting for its verdict.
fn waiting_seconds(entry: &Entry) -> Option<u64> {
    let millis = now().unix_millis() - entry.received_at.unix_millis();
    entry
        .ending
        .is_none()
        .then(|| u64::try_from(millis / 1000).unwrap_or(0))
}

fn document(entry: &Entry) -> Value {
    json!({ "benchmark": entry.board.benchmark, "is_baseline": entry.is_baseline, "withdrawn_at": entry.withdrawn_at,
            "waiting_seconds": waiting_seconds(entry), "submission": entry.id, "leaderboard": entry.board.leaderboard, "round": entry.board.round,
            "submitter": entry.submitter, "received_at": entry.received_at, "status": status(entry), "score": entry.score,
            "is_released": entry.climb.is_some() })
}
