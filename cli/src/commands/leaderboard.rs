//! `dataperf leaderboard`: who leads.

use std::io::{IsTerminal, Write as _};
use std::pin::pin;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use clap::builder::PossibleValuesParser;
use dataperf::csv_cell;
use dataperf::ports::leaderboard::{Board, Leaderboards, OPEN_ROUND, Ranked};
use serde_json::{Value, json};

use crate::Done;
use crate::cloud::{Cloud, CloudArgs};
use crate::known::Known;
use crate::output::{RowFormat, align_right, print_json, score, table};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  dataperf leaderboard speech-selection en-25 --local\n  \
    dataperf leaderboard speech-selection --watch --local                 again whenever it has changed\n  \
    dataperf leaderboard speech-selection en-25 --round 2026-spring --format csv --local > spring.csv"
)]
pub(crate) struct LeaderboardArgs {
    /// The benchmark
    #[arg(value_parser = PossibleValuesParser::new(dataperf_hosted::IDS))]
    benchmark: String,
    /// The leaderboard; without it, every one that has a score
    leaderboard: Option<String>,
    /// The round; without it, every one that has a score
    #[arg(long)]
    round: Option<String>,
    /// How many rows to show
    #[arg(long, short = 'n', default_value_t = 20)]
    top: usize,
    /// Go on until Ctrl-C, and print again whenever something has changed, asking every so many seconds
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "2")]
    watch: Option<f64>,
    #[command(flatten)]
    cloud: CloudArgs,
}

pub(crate) async fn run(args: LeaderboardArgs, format: RowFormat) -> Result<Done> {
    let interval = args.watch.map(Duration::try_from_secs_f64).transpose();
    let interval = interval.context("`--watch` takes seconds from 0 on")?;
    let cloud = args.cloud.clone().connect().await;
    if args.leaderboard.is_some() || args.round.is_some() {
        let known = Known::of(&cloud, &args.benchmark).await?;
        known.check(args.leaderboard.as_deref(), args.round.as_deref())?;
    }
    let mut shown = None;
    let mut stopped = pin!(super::local::stopped()); // one for all rounds, so that Ctrl-C in the middle of one is heard
    loop {
        let boards = boards_of(
            &cloud,
            &args.benchmark,
            args.leaderboard.clone(),
            args.round.clone(),
            args.top,
        )
        .await?;
        if shown.as_ref() != Some(&boards) {
            if interval.is_some() && format == RowFormat::Text && std::io::stdout().is_terminal() {
                print!("\x1b[2J\x1b[H"); // clears the screen
            }
            print_boards(&args.benchmark, &boards, format)?;
            shown = Some(boards);
        }
        let Some(interval) = interval else {
            return Ok(Done::Fine);
        };
        tokio::select! {
            ended = &mut stopped => return ended.map(|()| Done::Fine),
            () = tokio::time::sleep(interval) => {}
        }
    }
}

fn print_boards(benchmark: &str, boards: &[(Board, Vec<Ranked>)], format: RowFormat) -> Result<()> {
    match format {
        RowFormat::Json => {
            let documents: Vec<Value> = boards.iter().map(|(board, top)| document(board, top)).collect();
            print_json(&documents)?;
        }
        RowFormat::Csv => print!("{}", csv(boards)?),
        RowFormat::Text if boards.is_empty() => println!("{benchmark}: no leaderboard has a score yet"),
        RowFormat::Text => boards.iter().for_each(|(board, top)| print(board, top)),
    }
    std::io::stdout().flush()?;
    Ok(())
}

/// All rows of all boards, each with its board.
fn csv(boards: &[(Board, Vec<Ranked>)]) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "benchmark",
        "leaderboard",
        "round",
        "rank",
        "is_baseline",
        "submitter",
        "score",
        "received_at",
        "submission",
    ])?;
    for (board, top) in boards {
        for ranked in top {
            let entry = &ranked.entry;
            let cells = [
                &board.benchmark,
                &board.leaderboard,
                &board.round,
                &ranked
                    .shown_rank()
                    .map(|rank| rank.to_string())
                    .unwrap_or_default(),
                &entry.is_baseline.to_string(),
                &entry.submitter,
                &entry.score.map(|score| score.to_string()).unwrap_or_default(),
                &entry.received_at.to_string(),
                &entry.id.to_string(),
            ];
            writer.write_record(cells.map(|cell| csv_cell(cell).into_owned()))?;
        }
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

/// The boards with their first rows.
pub(crate) async fn boards(
    cloud: &Cloud,
    benchmark: &str,
    leaderboard: Option<String>,
    n: usize,
) -> Result<Vec<(Board, Vec<Ranked>)>> {
    boards_of(cloud, benchmark, leaderboard, None, n).await
}

/// The same of one round only.
async fn boards_of(
    cloud: &Cloud,
    benchmark: &str,
    leaderboard: Option<String>,
    round: Option<String>,
    n: usize,
) -> Result<Vec<(Board, Vec<Ranked>)>> {
    let leaderboards = cloud.leaderboards();
    let mut wanted = leaderboards.boards(benchmark).await?;
    wanted.retain(|board| leaderboard.as_ref().is_none_or(|name| *name == board.leaderboard));
    wanted.retain(|board| round.as_ref().is_none_or(|round| *round == board.round));
    if let Some(leaderboard) = leaderboard.filter(|_| wanted.is_empty()) {
        wanted.push(Board {
            benchmark: benchmark.to_owned(),
            leaderboard,
            round: round.unwrap_or_else(|| OPEN_ROUND.into()),
        });
    }
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
        .map(|ranked| {
            let entry = &ranked.entry;
            json!({ "rank": ranked.shown_rank(), "is_baseline": entry.is_baseline, "submitter": entry.submitter,
                    "score": entry.score, "received_at": entry.received_at, "submission": entry.id })
        })
        .collect();
    json!({ "benchmark": board.benchmark, "leaderboard": board.leaderboard, "round": board.round,
            "is_post_round": board.is_post_round(), "places": places })
}

/// A board as a table.
pub(crate) fn print(board: &Board, top: &[Ranked]) {
    let mark = if board.is_post_round() {
        " (after its closing)"
    } else {
        ""
    };
    println!(
        "\n{} · {} · round {}{mark}",
        board.benchmark, board.leaderboard, board.round
    );
    if top.is_empty() {
        println!(
            "no score yet; `dataperf leaderboard {}` shows the boards that have one",
            board.benchmark
        );
        return;
    }
    let mut table = table(&["rank", "score", "submitter", "received", "submission"]);
    for ranked in top {
        let entry = &ranked.entry;
        table.add_row([
            ranked
                .shown_rank()
                .map_or("baseline".to_owned(), |rank| rank.to_string()),
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
