//! `dataperf challenge release`: whole receipts in the results bucket, once a round has closed.

use std::cell::Cell;

use anyhow::{Result, anyhow};
use clap::Args;
use clap::builder::PossibleValuesParser;
use dataperf::board::Board;
use dataperf::closing::receipt_release::{self, OfOne, Release, all_scored};
use dataperf::table::leaderboard::Leaderboards as _;
use dataperf::{Shown, quote};
use dataperf_benchmarks::IDS;
use futures_util::{StreamExt, stream};
use serde_json::json;

use super::round::published_round;
use crate::Done;
use crate::cloud::{CloudArgs, now};
use crate::hosted::descriptor;
use crate::output::{Format, print_json};

const AT_ONCE: usize = 8;

#[derive(Debug, Args)]
pub(crate) struct ReleaseArgs {
    /// The benchmark
    #[arg(value_parser = PossibleValuesParser::new(IDS))]
    benchmark: String,
    /// The closed round
    round: String,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(super) async fn run(args: ReleaseArgs, format: Format) -> Result<Done> {
    let cloud = args.cloud.connect().await?;
    let (challenge, round) = published_round(&cloud, &args.benchmark, &args.round).await?;
    let (table, results, signer) = (cloud.leaderboards(), cloud.results(), cloud.signer());
    let boards = table.boards(&args.benchmark).await?;
    let (mut n_scored, mut n_written, mut n_lifted) = (0, 0, 0);
    for board in boards.iter().filter(|board| board.is_of_round(&round.id)) {
        let release = Release {
            board: board.clone(),
            hosted: descriptor(&args.benchmark)?,
            challenge: &challenge,
            table: &table,
            results: &results,
            signer: &signer,
            now: &now,
            goes_on: &|| true,
        };
        let scored = all_scored(&table, board).await?;
        n_scored += scored.len();
        let mut of_board = receipt_release::Done::default();
        let mut broken_off: Option<anyhow::Error> = None;
        let mut may_have_lifted = false;
        // what is begun is ended: it may have lifted something
        let goes_on = Cell::new(true);
        let entries = scored.iter().take_while(|_| goes_on.get());
        let mut released =
            stream::iter(entries.map(|entry| release.release(entry))).buffer_unordered(AT_ONCE);
        while let Some(of_one) = released.next().await {
            let error = match of_one {
                Ok(OfOne::Withheld(shown)) => anyhow!("{}", withheld(board, shown)),
                Ok(of_one) => {
                    of_board.add(of_one);
                    continue;
                }
                Err(error) => {
                    may_have_lifted = true;
                    error.into()
                }
            };
            goes_on.set(false);
            broken_off = broken_off.or(Some(error));
        }
        if of_board.n_lifted > 0 || may_have_lifted {
            let marked = table.mark_to_compare(board).await;
            let projected = cloud.project(board).await;
            if broken_off.is_none() {
                marked?;
                projected?;
            }
        }
        if let Some(error) = broken_off {
            return Err(error);
        }
        n_written += of_board.n_written;
        n_lifted += of_board.n_lifted;
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

/// Why a round can't be released yet.
fn withheld(board: &Board, shown: Shown) -> String {
    let until = shown.whole_at.map_or_else(
        || "no time is set at which the last round with the same data closes. Publish".to_owned(),
        |at| {
            format!(
                "the last round that may be scored with the same data closes at {at}. Wait for that close, or \
                 publish"
            )
        },
    );
    format!(
        "receipts of the round {} can't be released yet: they show `{}` only, and {until} the round with \
         `preset: practice` and `curves: true`",
        quote(&board.round),
        shown.level.as_str()
    )
}
