//! `dataperf leaderboard`: who leads.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write as _};
use std::pin::pin;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use clap::builder::PossibleValuesParser;
use dataperf::challenge::Challenge;
use dataperf::dataset::DatasetError;
use dataperf::in_force::InForce;
use dataperf::ports::leaderboard::{Board, Leaderboards, OPEN_ROUND, Ranked, with_shared_ranks};
use dataperf::{Descriptor, Digest, csv_cell};
use serde_json::{Value, json};

use crate::Done;
use crate::cloud::{Cloud, CloudArgs, now};
use crate::in_force::{BoardInForce, Boards};
use crate::known::Known;
use crate::output::{RowFormat, align_right, print_json, score, table};
use crate::registry::descriptor;

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
    let mut stopped = pin!(crate::stop::stopped()); // one for all rounds, so that Ctrl-C in the middle of one is heard
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

fn print_boards(benchmark: &str, boards: &[Shown], format: RowFormat) -> Result<()> {
    match format {
        RowFormat::Json => {
            let documents: Vec<Value> = boards.iter().map(document).collect();
            print_json(&documents)?;
        }
        RowFormat::Csv => print!("{}", csv(boards)?),
        RowFormat::Text if boards.is_empty() => println!("{benchmark}: no leaderboard has a score yet"),
        RowFormat::Text => boards.iter().for_each(print),
    }
    std::io::stdout().flush()?;
    Ok(())
}

/// All rows of all boards, each with its board.
fn csv(boards: &[Shown]) -> Result<String> {
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
        "dataset",
        "is_of_other_dataset",
    ])?;
    for Shown { board, top, .. } in boards {
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
                &entry
                    .dataset
                    .map(|dataset| dataset.to_string())
                    .unwrap_or_default(),
                &ranked.is_of_other_dataset.to_string(),
            ];
            writer.write_record(cells.map(|cell| csv_cell(cell).into_owned()))?;
        }
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

/// A board with its first rows, and the data set that it is scored with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shown {
    pub(crate) board: Board,
    pub(crate) dataset: Option<Digest>,
    pub(crate) top: Vec<Ranked>,
    /// How many digits after the decimal point its data set says that scores are shown with.
    pub(crate) digits: Option<u8>,
}

/// The boards with their first rows.
#[cfg(feature = "local")]
pub(crate) async fn boards(
    cloud: &Cloud,
    benchmark: &str,
    leaderboard: Option<String>,
    n: usize,
) -> Result<Vec<Shown>> {
    boards_of(cloud, benchmark, leaderboard, None, n).await
}

/// The same of one round only.
async fn boards_of(
    cloud: &Cloud,
    benchmark: &str,
    leaderboard: Option<String>,
    round: Option<String>,
    n: usize,
) -> Result<Vec<Shown>> {
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
    let (datasets, hosted) = (cloud.datasets(), descriptor(benchmark)?);
    let in_force = InForce::read(&datasets, benchmark).await?;
    let challenge = Challenge::published(&datasets, benchmark).await?;
    let said = said(cloud, hosted).await?;
    let mut boards = Vec::with_capacity(wanted.len());
    for board in wanted {
        let dataset = leaderboards
            .scored_with(hosted, &in_force, challenge.as_ref(), &board, now())
            .await?;
        let top = leaderboards.top(&board, n).await?;
        let top = with_shared_ranks(top.into_iter().map(|ranked| ranked.entry), dataset);
        let digits = said
            .get(&board.leaderboard)
            .and_then(|said| said.leaderboard.digits);
        boards.push(Shown {
            board,
            dataset,
            top,
            digits,
        });
    }
    Ok(boards)
}

/// What the data sets in force say of their boards; nothing where one can't be used, since scores are shown all the same.
async fn said(cloud: &Cloud, hosted: &Descriptor) -> Result<BTreeMap<String, BoardInForce>> {
    match Boards::of(&cloud.datasets(), hosted).await {
        Ok(boards) => Ok(boards.boards),
        Err(DatasetError::Frozen(_)) => Ok(BTreeMap::new()),
        Err(error @ DatasetError::Port(_)) => Err(error.into()),
    }
}

/// A board as JSON.
pub(crate) fn document(shown: &Shown) -> Value {
    let Shown {
        board, dataset, top, ..
    } = shown;
    let places: Vec<Value> = top
        .iter()
        .map(|ranked| {
            let entry = &ranked.entry;
            json!({ "rank": ranked.shown_rank(), "is_baseline": entry.is_baseline, "submitter": entry.submitter,
                    "score": entry.score, "received_at": entry.received_at, "submission": entry.id,
                    "dataset": entry.dataset, "is_of_other_dataset": ranked.is_of_other_dataset })
        })
        .collect();
    json!({ "benchmark": board.benchmark, "leaderboard": board.leaderboard, "round": board.round,
            "is_post_round": board.is_post_round(), "dataset": dataset, "places": places })
}

/// A board as a table.
pub(crate) fn print(shown: &Shown) {
    let Shown {
        board,
        dataset,
        top,
        digits,
    } = shown;
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
            place(ranked),
            entry
                .score
                .map(|score| shown_score(score, *digits))
                .unwrap_or_default(),
            entry.submitter.clone(),
            entry.received_at.to_string(),
            entry.id.to_string(),
        ]);
    }
    align_right(&mut table, 0);
    align_right(&mut table, 1);
    println!("{table}");
    if let Some(dataset) = dataset.filter(|_| top.iter().any(|ranked| ranked.is_of_other_dataset)) {
        println!(
            "the board is scored with {dataset}; what was scored with another data set has no rank until `dataperf rescore {} {}`",
            board.benchmark, board.leaderboard
        );
    }
}

/// A row's rank, or why it has none.
fn place(ranked: &Ranked) -> String {
    match ranked.shown_rank() {
        Some(rank) => rank.to_string(),
        None if ranked.entry.is_baseline => "baseline".into(),
        None => "other data set".into(),
    }
}

fn shown_score(value: f64, digits: Option<u8>) -> String {
    digits.map_or_else(
        || score(value),
        |digits| format!("{value:.*}", usize::from(digits)),
    )
}
