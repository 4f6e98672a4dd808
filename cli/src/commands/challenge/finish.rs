//! `dataperf challenge finish`: the final board of a round that has closed, without waiting for the caretaker.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use dataperf::board::Board;
use dataperf::challenge::{Challenge, Round, shown_of_released};
use dataperf::closing::finishing::FinishRequest;
use dataperf::table::leaderboard::Leaderboards as _;
use dataperf::table::maintenance::Maintenance as _;
use dataperf::{Feedback, Timestamp, quote};
use dataperf_benchmarks::IDS;
use serde_json::{Value, json};

use super::round::published_round;
use crate::Done;
use crate::cloud::{Cloud, CloudArgs, now};
use crate::hosted::descriptor;
use crate::output::{Format, print_json};

const POLL: Duration = Duration::from_millis(500);

#[derive(Debug, Args)]
pub(crate) struct FinishArgs {
    /// The benchmark
    #[arg(value_parser = PossibleValuesParser::new(IDS))]
    benchmark: String,
    /// The closed round
    round: String,
    /// Do not wait 15 minutes for uploads that were sent before the close
    #[arg(long)]
    early: bool,
    /// How long to wait for the boards
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    timeout: u64,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(super) async fn run(args: FinishArgs, format: Format) -> Result<Done> {
    let cloud = args.cloud.connect().await?;
    let benchmark = &args.benchmark;
    let (challenge, round) = published_round(&cloud, benchmark, &args.round).await?;
    let round = &round;
    let id = quote(&round.id);
    if !round.has_work() {
        bail!("the round {id} has neither a `final` data set nor a `ladder`: there is nothing to finish");
    }
    let Some(due) = challenge.due_from(round) else {
        bail!("the round {id}, or another one with the same `final` data set, never closes");
    };
    if !challenge.is_due(round, dataperf::closing::finishing::due_time(now(), args.early)) {
        let early = if round.is_closed(now()) && !args.early {
            ". `--early` does not wait for them"
        } else {
            ""
        };
        bail!(
            "the round {id} can be finished from {due} on: until then uploads from before the close may still arrive{early}"
        );
    }
    if let Some(why) = held(&cloud, benchmark, &challenge, round).await? {
        bail!("the round {id} can't be finished yet: {why}");
    }
    let request = FinishRequest {
        round: Some(round.id.clone()),
        early: args.early,
    };
    cloud
        .evaluators()
        .finish(descriptor(benchmark)?, &request)
        .await?;
    let finished = finished(&cloud, benchmark, &round.id, Duration::from_secs(args.timeout)).await?;
    match format {
        Format::Json => {
            let boards = finished.iter().map(|(board, at)| -> Value {
                json!({ "leaderboard": board.leaderboard, "finished_at": at })
            });
            print_json(&json!({ "round": round.id, "boards": boards.collect::<Vec<_>>() }))?;
        }
        Format::Text if finished.is_empty() => println!("the round {id} has no scores"),
        Format::Text => {
            for (board, at) in &finished {
                println!("{} {}: finished at {at}", board.leaderboard, board.round);
            }
            if round.final_dataset.is_some() {
                println!(
                    "`dataperf leaderboard {benchmark} --round {}` shows the final boards",
                    Board::final_of(&round.id)
                );
            }
        }
    }
    Ok(Done::Fine)
}

/// Why submissions' own scores, which the Ladder of a round withholds, can't be shown yet. The final board is made after they are.
async fn held(
    cloud: &Cloud,
    benchmark: &str,
    challenge: &Challenge,
    round: &Round,
) -> Result<Option<String>> {
    let table = cloud.leaderboards();
    for board in table.boards(benchmark).await? {
        if board.round != round.id {
            continue;
        }
        for line in table.series(&board).await? {
            let shown = shown_of_released(Some(challenge), &board, line.dataset, now());
            if line.climb.is_none() || shown.level == Feedback::Full {
                continue;
            }
            let last = challenge.last_with_data_of(&board, line.dataset).unwrap_or(round);
            let closes = last.closes.map_or_else(
                || "never closes".to_owned(),
                |closes| format!("closes at {closes}"),
            );
            return Ok(Some(format!(
                "what its Ladder withholds is shown once the round {} has closed, which may be scored with the same data and {closes}",
                quote(&last.id)
            )));
        }
    }
    Ok(None)
}

/// The boards of a round and when each was finished, once all are.
async fn finished(
    cloud: &Cloud,
    benchmark: &str,
    round: &str,
    patience: Duration,
) -> Result<Vec<(Board, Timestamp)>> {
    let (table, began) = (cloud.leaderboards(), Instant::now());
    let mut boards = table.boards(benchmark).await?;
    boards.retain(|board| board.round == round);
    let mut finished = Vec::new();
    for board in boards {
        loop {
            let run = table.run(&board.of_final()).await?;
            if let Some(at) = run.and_then(|run| run.ended_at) {
                finished.push((board, at));
                break;
            }
            if began.elapsed() > patience {
                bail!(
                    "`{}` was not finished within {} seconds; the function may still work on it. `dataperf status {benchmark}` lists uploads that \
                     are not evaluated yet, and the function's log has errors. Give the command again",
                    board.leaderboard,
                    patience.as_secs()
                );
            }
            tokio::time::sleep(POLL).await;
        }
    }
    Ok(finished)
}
