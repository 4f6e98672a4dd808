//! `dataperf challenge release`: whole receipts in the results bucket, once a round has closed.

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use dataperf::challenge::{Challenge, shown_of_receipt};
use dataperf::ports::leaderboard::{Board, Entry, Leaderboards as _, POST_ROUND};
use dataperf::ports::maintenance::Maintenance;
use dataperf::release::all_scored;
use dataperf::{Feedback, quote, write_where_it_shows_less};
use dataperf_benchmarks::IDS;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::json;

use crate::Done;
use crate::cloud::{Cloud, CloudArgs, now};
use crate::output::{Format, print_json};
use crate::registry::descriptor;

const AT_ONCE: usize = 8;

#[derive(Debug, Args)]
#[command(
    after_help = "Example: dataperf challenge release speech-selection 2026-spring --local\n\nThe caretaker does the same within half an \
    hour of the closing. May be given again at any time: receipts that show everything and are signed are left as they are. The boards of a round with a Ladder show submissions' own scores from then on."
)]
pub(crate) struct ReleaseArgs {
    /// The benchmark
    #[arg(value_parser = PossibleValuesParser::new(IDS))]
    benchmark: String,
    /// The round, which has closed
    round: String,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(super) async fn run(args: ReleaseArgs, format: Format) -> Result<Done> {
    let cloud = args.cloud.connect().await;
    let Some(challenge) = Challenge::published(&cloud.datasets(), &args.benchmark).await? else {
        bail!(
            "no challenge is published for {}: there is no round to release",
            args.benchmark
        );
    };
    let Some(round) = challenge.round(&args.round) else {
        let ids: Vec<String> = challenge.rounds.iter().map(|round| quote(&round.id)).collect();
        bail!(
            "there is no round {}: the rounds are {}",
            quote(&args.round),
            ids.join(", ")
        );
    };
    let boards = cloud.leaderboards().boards(&args.benchmark).await?;
    let of_round = |board: &&Board| board.round.strip_suffix(POST_ROUND).unwrap_or(&board.round) == round.id;
    let (mut n_scored, mut n_written, mut n_lifted) = (0, 0, 0);
    for board in boards.iter().filter(of_round) {
        let scored = all_scored(&cloud.leaderboards(), board).await?;
        n_scored += scored.len();
        let written = scored.iter().map(|entry| write(&cloud, &challenge, entry));
        let done: Vec<Written> = stream::iter(written)
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await?;
        n_written += done.iter().filter(|done| done.is_written).count();
        let n_of_board = done.iter().filter(|done| done.is_lifted).count();
        if n_of_board > 0 {
            cloud.leaderboards().mark_to_compare(board).await?;
        }
        n_lifted += n_of_board;
    }
    match format {
        Format::Json => {
            print_json(
                &json!({ "round": round.id, "receipts": n_written, "scores": n_scored, "lifted": n_lifted }),
            )?;
        }
        Format::Text => {
            println!(
                "{n_written} receipts of {} were written whole and signed; {} of {n_scored} were so before",
                quote(&round.id),
                n_scored - n_written
            );
            if n_lifted > 0 {
                println!(
                    "its boards show the own scores of {n_lifted} submissions in place of what the Ladder had released"
                );
            }
        }
    }
    Ok(Done::Fine)
}

/// What was done about one submission.
#[derive(Default)]
struct Written {
    /// Its receipt was not there, whole and signed, before.
    is_written: bool,
    /// Its board has shown another score before.
    is_lifted: bool,
}

/// Writes one receipt, if it may be shown whole, and has its board show its own score.
async fn write(cloud: &Cloud, challenge: &Challenge, entry: &Entry) -> Result<Written> {
    let found = cloud
        .leaderboards()
        .submission(&entry.board.benchmark, &entry.id)
        .await?;
    let Some(receipt) = found.and_then(|submission| submission.receipt) else {
        return Ok(Written::default()); // reopened since
    };
    let shown = shown_of_receipt(Some(challenge), &receipt, now());
    if shown.level < Feedback::Full {
        let until = shown.whole_at.map_or_else(
            || "no time is set at which the last round with the same data closes".to_owned(),
            |at| format!("the last round that may be scored with the same data closes at {at}"),
        );
        bail!(
            "round {} shows `{}`, and {until}: wait for it, or publish `feedback: full` for the round",
            quote(&entry.board.round),
            shown.level.as_str()
        );
    }
    let hosted = descriptor(&entry.board.benchmark)?;
    let ranking = hosted.ranking(challenge.ranking(&entry.board.leaderboard));
    let table = cloud.leaderboards();
    let lifted = table
        .lift(&entry.board.benchmark, &entry.id, hosted, ranking)
        .await?;
    let is_lifted = lifted.is_some();
    let receipt = lifted.unwrap_or(receipt);
    let (results, signer) = (cloud.results(), cloud.signer());
    let is_written =
        write_where_it_shows_less(&results, &signer, &receipt, hosted, shown.level, now()).await?;
    Ok(Written {
        is_written,
        is_lifted,
    })
}
