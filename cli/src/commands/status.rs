//! `dataperf status`: what became of a submission, and what is unfinished since when.

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use dataperf::SubmissionId;
use dataperf::benchmarks::IDS;
use dataperf::ports::leaderboard::{Entry, Leaderboards};
use serde_json::{Value, json};

use super::score::done;
use crate::Done;
use crate::cloud::CloudArgs;
use crate::output::{Format, align_right, print_json, print_verdict, score, table};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  dataperf status speech-selection --local                     what is unfinished\n  \
    dataperf status speech-selection --submitter ada --local     ada's submissions, newest first\n  \
    dataperf status speech-selection --failed --local            what the platform failed to evaluate
  \
    dataperf status speech-selection SUBMISSION --local          one submission, whole"
)]
pub(crate) struct StatusArgs {
    /// The benchmark
    #[arg(value_parser = PossibleValuesParser::new(IDS))]
    benchmark: String,
    /// A submission's id
    #[arg(conflicts_with = "submitter")]
    submission: Option<SubmissionId>,
    /// Show this submitter's submissions
    #[arg(long)]
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
    let benchmark = &args.benchmark;
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
        "leaderboard",
        "submitter",
        "status",
        "score",
        "submission",
    ]);
    for entry in entries {
        table.add_row([
            entry.received_at.to_string(),
            entry.board.leaderboard.clone(),
            entry.submitter.clone(),
            status(entry).to_owned(),
            entry.score.map(score).unwrap_or_default(),
            entry.id.to_string(),
        ]);
    }
    align_right(&mut table, 4);
    println!("{table}");
    Ok(())
}

fn status(entry: &Entry) -> &'static str {
    entry.ending.map_or("received", dataperf::Ending::as_str)
}

fn document(entry: &Entry) -> Value {
    json!({ "submission": entry.id, "leaderboard": entry.board.leaderboard, "round": entry.board.round,
            "submitter": entry.submitter, "received_at": entry.received_at, "status": status(entry), "score": entry.score })
}
