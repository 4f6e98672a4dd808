//! `dataperf leaderboard`: who leads.

use anyhow::Result;
use clap::Args;
use clap::builder::PossibleValuesParser;
use dataperf::benchmarks::IDS;
use dataperf::ports::leaderboard::{Board, Leaderboards, OPEN_ROUND, Ranked};
use serde_json::{Value, json};

use crate::Done;
use crate::cloud::{Cloud, CloudArgs};
use crate::output::{Format, align_right, print_json, score, table};

#[derive(Debug, Args)]
#[command(after_help = "Example: dataperf leaderboard speech-selection en-25 --local")]
pub(crate) struct LeaderboardArgs {
    /// The benchmark
    #[arg(value_parser = PossibleValuesParser::new(IDS))]
    benchmark: String,
    /// The leaderboard; without it, every one that has a score
    leaderboard: Option<String>,
    /// How many submitters to show
    #[arg(long, short = 'n', default_value_t = 20)]
    top: usize,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(crate) async fn run(args: LeaderboardArgs, format: Format) -> Result<Done> {
    let cloud = args.cloud.connect().await;
    let boards = boards(&cloud, &args.benchmark, args.leaderboard, args.top).await?;
    match format {
        Format::Json => {
            let documents: Vec<Value> = boards.iter().map(|(board, top)| document(board, top)).collect();
            print_json(&documents)?;
        }
        Format::Text if boards.is_empty() => println!("{}: no leaderboard has a score yet", args.benchmark),
        Format::Text => boards.iter().for_each(|(board, top)| print(board, top)),
    }
    Ok(Done::Fine)
}

/// The boards with their first places.
pub(crate) async fn boards(
    cloud: &Cloud,
    benchmark: &str,
    leaderboard: Option<String>,
    n: usize,
) -> Result<Vec<(Board, Vec<Ranked>)>> {
    let leaderboards = cloud.leaderboards();
    let wanted = match leaderboard {
        None => leaderboards.boards(benchmark).await?,
        Some(leaderboard) => vec![Board {
            benchmark: benchmark.to_owned(),
            leaderboard,
            round: OPEN_ROUND.into(),
        }],
    };
    let mut boards = Vec::with_capacity(wanted.len());
    for board in wanted {
        let top = leaderboards.top(&board, n).await?;
        boards.push((board, top));
    }
    Ok(boards)
}

/// A board as JSON.
pub(crate) fn document(board: &Board, top: &[Ranked]) -> Value {
    let places: Vec<Value> = top
        .iter()
        .map(|Ranked { entry, rank }| {
            json!({ "rank": rank, "submitter": entry.submitter, "score": entry.score,
                    "received_at": entry.received_at, "submission": entry.id })
        })
        .collect();
    json!({ "benchmark": board.benchmark, "leaderboard": board.leaderboard, "round": board.round, "places": places })
}

/// A board as a table.
pub(crate) fn print(board: &Board, top: &[Ranked]) {
    println!(
        "\n{} · {} · round {}",
        board.benchmark, board.leaderboard, board.round
    );
    let mut table = table(&["rank", "score", "submitter", "received", "submission"]);
    for Ranked { entry, rank } in top {
        table.add_row([
            rank.to_string(),
            entry.score.map(score).unwrap_or_default(),
            entry.submitter.clone(),
            entry.received_at.to_string(),
            entry.id.to_string(),
        ]);
    }
    align_right(&mut table, 0);
    align_right(&mut table, 1);
    println!("{table}");
}
