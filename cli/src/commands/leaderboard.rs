//! `dataperf leaderboard`: who leads.

mod across;
mod compare;
mod retirement;
mod words;
mod worth;

use std::collections::{BTreeMap, HashSet};
use std::io::{IsTerminal, Write as _};
use std::pin::pin;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use dataperf::challenge::{Announcement, Challenge};
use dataperf::comparison::{CONFIDENCE, Line, Read as Comparison};
use dataperf::dataset::DatasetError;
use dataperf::finishing::FinalReport;
use dataperf::in_force::InForce;
use dataperf::ports::leaderboard::{Board, Leaderboards, OPEN_ROUND, Ranked, with_shared_ranks};
use dataperf::{Column, Descriptor, Digest, SubmissionId};
use dataperf_aws::{BoardPlace, Table};
use dataperf_datasets::{Values, write_csv};
use serde_json::{Value, json};

use crate::Done;
use crate::cloud::{Cloud, CloudArgs, now};
use crate::hosted::descriptor;
use crate::in_force::{BoardInForce, Boards};
use crate::known::Known;
use crate::output::{Table as Lines, align_right, digits_apart, print_json, short, shown_score, table, time};
use crate::rows::RowFormat;
use words::{in_words, interval_in_words, number, place, ranks_in_words, sentence, shaken};
pub(crate) use worth::{Worth, fields, worth_soon, worths};

/// More rows than any board has.
const ALL: usize = u32::MAX as usize;

/// The rows of a board that a person is shown.
const N_SHOWN: usize = 20;
/// The rows that are counted to say how many there are.
const N_COUNTED: usize = 1_000;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct LeaderboardArgs {
    #[command(subcommand)]
    command: Option<LeaderboardCommand>,
    /// The benchmark
    #[arg(value_parser = PossibleValuesParser::new(dataperf_hosted::IDS), required = true)]
    benchmark: Option<String>,
    /// The leaderboard [default: all that have a score]
    leaderboard: Option<String>,
    /// The round [default: all that have a score]
    #[arg(long)]
    round: Option<String>,
    /// How many rows to show [default: 20; all in JSON and CSV]
    #[arg(long, short = 'n')]
    top: Option<usize>,
    /// Show all rows
    #[arg(long, conflicts_with = "top")]
    all: bool,
    /// Print again when something changes, until Ctrl-C
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "2")]
    watch: Option<f64>,
    #[command(flatten)]
    cloud: CloudArgs,
}

#[derive(Debug, Subcommand)]
enum LeaderboardCommand {
    /// Show how far several boards agree
    Across(across::AcrossArgs),
    /// Compare two submissions, with an interval
    Compare(compare::CompareArgs),
    /// Compare scores before and after a data set was retired
    Retirement(retirement::RetirementArgs),
}

pub(crate) async fn run(args: LeaderboardArgs, format: RowFormat) -> Result<Done> {
    match args.command {
        Some(LeaderboardCommand::Across(args)) => {
            return Box::pin(across::run(args, format)).await;
        }
        Some(LeaderboardCommand::Compare(args)) => {
            return Box::pin(compare::run(args, format)).await;
        }
        Some(LeaderboardCommand::Retirement(args)) => {
            return Box::pin(retirement::run(args, format)).await;
        }
        None => {}
    }
    let benchmark = args.benchmark.context("name the benchmark")?;
    let interval = args.watch.map(Duration::try_from_secs_f64).transpose();
    let interval = interval.context("`--watch` needs a number of seconds, 0 or more")?;
    let cloud = args.cloud.clone().connect().await;
    if args.leaderboard.is_some() || args.round.is_some() {
        let known = Known::of(&cloud, &benchmark).await?;
        known.check(args.leaderboard.as_deref(), args.round.as_deref())?;
    }
    let most = args
        .top
        .or((format == RowFormat::Text && !args.all).then_some(N_SHOWN));
    // as many as tell how many there are
    let n_read = most.map_or(ALL, |most| {
        if format == RowFormat::Text {
            most.max(N_COUNTED)
        } else {
            most
        }
    });
    let mut shown = None;
    let mut stopped = pin!(crate::stop::stopped()); // one for all rounds, so that Ctrl-C in the middle of one is heard
    loop {
        let mut boards = boards_of(
            &cloud,
            &benchmark,
            args.leaderboard.clone(),
            args.round.clone(),
            n_read,
        )
        .await?;
        for board in &mut boards {
            board.top.truncate(most.unwrap_or(ALL));
        }
        let mut told = announced(&cloud, &benchmark).await?;
        let is_shown = |one: &Announcement| boards.iter().any(|shown| one.is_of(shown.board.round_id()));
        told.retain(|one| boards.is_empty() || is_shown(one));
        let current = (told, boards);
        if shown.as_ref() != Some(&current) {
            if interval.is_some() && format == RowFormat::Text && std::io::stdout().is_terminal() {
                print!("\x1b[2J\x1b[H"); // clears the screen
            }
            print_boards(&benchmark, &current, format)?;
            shown = Some(current);
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

/// What participants are told by now, newest first.
async fn announced(cloud: &Cloud, benchmark: &str) -> Result<Vec<Announcement>> {
    let challenge = Challenge::published(&cloud.datasets(), benchmark).await?;
    Ok(challenge.map_or_else(Vec::new, |challenge| {
        challenge.announced(now()).cloned().collect()
    }))
}

fn print_boards(
    benchmark: &str,
    (told, boards): &(Vec<Announcement>, Vec<Shown>),
    format: RowFormat,
) -> Result<()> {
    match format {
        RowFormat::Json => {
            let documents: Vec<Value> = boards.iter().map(document).collect();
            print_json(&documents)?;
        }
        RowFormat::Csv => print!("{}", csv(boards)?),
        RowFormat::Text => {
            for Announcement { date, text, .. } in told {
                println!("Announced {date}: {text}");
            }
            if boards.is_empty() {
                println!("{benchmark}: no leaderboard has a score yet");
            }
            boards.iter().for_each(print);
        }
        RowFormat::Yaml => drop(format.of_documents()?),
    }
    std::io::stdout().flush()?;
    Ok(())
}

/// All rows of all boards, each with its board.
pub(super) fn csv(boards: &[Shown]) -> Result<String> {
    let mut csv = Vec::new();
    write_csv(&columns(boards), &mut csv)?;
    Ok(String::from_utf8(csv)?)
}

/// The same as columns.
pub(crate) fn columns(boards: &[Shown]) -> Vec<(String, Values)> {
    let rows = boards
        .iter()
        .flat_map(|shown| shown.top.iter().map(move |ranked| (shown, ranked)));
    let rows: Vec<(&Shown, &Ranked)> = rows.collect();
    let text = |of: &dyn Fn(&Shown, &Ranked) -> String| {
        Values::Text(rows.iter().map(|(shown, ranked)| of(shown, ranked)).collect())
    };
    let whole = |of: &dyn Fn(&Shown, &Ranked) -> Option<i64>| {
        Values::MaybeWhole(rows.iter().map(|(shown, ranked)| of(shown, ranked)).collect())
    };
    let real = |of: &dyn Fn(&Shown, &Ranked) -> Option<f64>| {
        Values::MaybeReal(rows.iter().map(|(shown, ranked)| of(shown, ranked)).collect())
    };
    let flag = |of: &dyn Fn(&Shown, &Ranked) -> Option<bool>| {
        Values::MaybeFlag(rows.iter().map(|(shown, ranked)| of(shown, ranked)).collect())
    };
    let ranks = |shown: &Shown, ranked: &Ranked| shown.line(ranked)?.ranks;
    let interval = |shown: &Shown, ranked: &Ranked| shown.line(ranked)?.interval;
    let columns = [
        ("benchmark", text(&|shown, _| shown.board.benchmark.clone())),
        ("leaderboard", text(&|shown, _| shown.board.leaderboard.clone())),
        ("round", text(&|shown, _| shown.board.round.clone())),
        (
            "rank",
            whole(&|_, ranked| ranked.shown_rank().and_then(|rank| i64::try_from(rank).ok())),
        ),
        ("is_baseline", flag(&|_, ranked| Some(ranked.entry.is_baseline))),
        ("submitter", text(&|_, ranked| ranked.entry.submitter.clone())),
        ("score", real(&|_, ranked| ranked.entry.score)),
        (
            "received_at",
            text(&|_, ranked| ranked.entry.received_at.to_string()),
        ),
        ("submission", text(&|_, ranked| ranked.entry.id.to_string())),
        (
            "dataset",
            text(&|_, ranked| {
                ranked
                    .entry
                    .dataset
                    .map(|dataset| dataset.to_string())
                    .unwrap_or_default()
            }),
        ),
        (
            "is_of_other_dataset",
            flag(&|_, ranked| Some(ranked.is_of_other_dataset)),
        ),
        (
            "rank_first",
            whole(&|shown, ranked| ranks(shown, ranked).map(|ranks| ranks.0.into())),
        ),
        (
            "rank_last",
            whole(&|shown, ranked| ranks(shown, ranked).map(|ranks| ranks.1.into())),
        ),
        (
            "score_low",
            real(&|shown, ranked| interval(shown, ranked).map(|interval| interval.0)),
        ),
        (
            "score_high",
            real(&|shown, ranked| interval(shown, ranked).map(|interval| interval.1)),
        ),
        (
            "n_submissions",
            whole(&|shown, ranked| shown.line(ranked).map(|line| line.n_submissions.into())),
        ),
        (
            "is_above_baselines",
            flag(&|shown, ranked| shown.line(ranked)?.is_above_baselines),
        ),
        (
            "is_released",
            flag(&|_, ranked| Some(ranked.entry.climb.is_some())),
        ),
        (
            "public_rank",
            whole(&|shown, ranked| i64::try_from(shown.public_rank(ranked)?).ok()),
        ),
    ];
    let mut columns: Vec<(String, Values)> = columns.map(|(name, values)| (name.to_owned(), values)).into();
    let mut names: Vec<&str> = boards
        .iter()
        .flat_map(|shown| Column::names(shown.columns))
        .collect();
    let mut known = HashSet::new();
    names.retain(|name| known.insert(*name)); // boards of one benchmark have the same
    columns.extend(names.into_iter().map(|name| {
        let number = |shown: &Shown, ranked: &Ranked| shown.numbers_of(ranked)?.get(name).copied();
        (name.to_owned(), real(&number))
    }));
    columns
}

/// A board with its first rows, and the data set that it is scored with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shown {
    pub(crate) board: Board,
    pub(crate) dataset: Option<Digest>,
    pub(crate) top: Vec<Ranked>,
    /// How many rows were read, also those that are not shown.
    pub(crate) n_rows: usize,
    /// How many digits after the decimal point its data set says that scores are shown with.
    pub(crate) digits: Option<u8>,
    /// What the ranks are worth, once the rows have been compared.
    pub(crate) comparison: Option<Comparison>,
    /// How the board of a final data set differs from the public one.
    pub(crate) report: Option<FinalReport>,
    /// The board's columns beside the score.
    pub(crate) columns: &'static [Column],
    /// Their numbers, by the submission that stands in the row.
    pub(crate) numbers: BTreeMap<SubmissionId, BTreeMap<String, f64>>,
}

impl Shown {
    /// Whether all rows that can be compared have been; true where none can be.
    #[cfg(feature = "local")]
    pub(crate) fn is_compared(&self) -> bool {
        let can_be = descriptor(&self.board.benchmark).is_ok_and(|hosted| hosted.kinds.is_empty());
        !can_be
            || self
                .top
                .iter()
                .all(|row| row.is_of_other_dataset || self.line(row).is_some())
    }

    /// The rank of a row of a final board on the public one.
    fn public_rank(&self, ranked: &Ranked) -> Option<usize> {
        let ranks = self.report.as_ref()?.ranks.get(&ranked.entry.id)?;
        Some(ranks.0)
    }

    /// The numbers of the board's columns in a row.
    fn numbers_of(&self, ranked: &Ranked) -> Option<&BTreeMap<String, f64>> {
        self.numbers.get(&ranked.entry.id)
    }

    /// What the comparison says of a row; `None` for a row of another data set, with which the others are not compared.
    fn line(&self, ranked: &Ranked) -> Option<&Line> {
        if ranked.is_of_other_dataset {
            return None;
        }
        self.comparison.as_ref()?.line(&ranked.entry)
    }
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

/// All boards with all their rows.
pub(crate) async fn all_boards(cloud: &Cloud, benchmark: &str) -> Result<Vec<Shown>> {
    boards_of(cloud, benchmark, None, None, ALL).await
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
        let from = BoardPlace {
            dataset,
            ..BoardPlace::default()
        };
        let (top, _) = leaderboards.board_page(&board, from, n).await?;
        let comparison = Comparison::of(&cloud.results(), &board, 0..top.len()).await?;
        let report = match board.public() {
            Some(public) => FinalReport::read(&leaderboards, &public, hosted.direction).await?,
            None => None,
        };
        let top = with_shared_ranks(top.into_iter().map(|row| row.entry), dataset);
        let numbers = numbers(&leaderboards, hosted, &top).await?;
        let digits = said
            .get(&board.leaderboard)
            .and_then(|said| said.leaderboard.digits);
        boards.push(Shown {
            board,
            dataset,
            n_rows: top.len(),
            top,
            digits,
            comparison,
            report,
            columns: hosted.columns,
            numbers,
        });
    }
    Ok(boards)
}

/// The numbers of the board's columns, which are in the receipts of what stands there.
async fn numbers(
    leaderboards: &Table,
    hosted: &Descriptor,
    top: &[Ranked],
) -> Result<BTreeMap<SubmissionId, BTreeMap<String, f64>>> {
    if hosted.columns.is_empty() {
        return Ok(BTreeMap::new());
    }
    let ids: Vec<SubmissionId> = top.iter().map(|ranked| ranked.entry.id.clone()).collect();
    let receipts = leaderboards.receipts(hosted.id, &ids).await?;
    let numbers = receipts.into_iter().map(|(id, receipt)| {
        let numbers = Column::numbers(hosted.columns, &receipt.verdict.metrics);
        (id, numbers)
    });
    Ok(numbers.collect())
}

/// The digits of a board's scores, where a data set in force says how many.
pub(crate) async fn digits_of(cloud: &Cloud, benchmark: &str, leaderboard: &str) -> Option<u8> {
    let said = said(cloud, descriptor(benchmark).ok()?).await.ok()?;
    said.get(leaderboard)?.leaderboard.digits
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
            let mut place = json!({ "rank": ranked.shown_rank(), "is_baseline": entry.is_baseline, "submitter": entry.submitter,
                    "score": entry.score, "is_released": entry.climb.is_some(), "received_at": entry.received_at, "submission": entry.id,
                    "dataset": entry.dataset, "is_of_other_dataset": ranked.is_of_other_dataset,
                    "rank_interval": shown.line(ranked).and_then(|line| line.ranks),
                    "interval": shown.line(ranked).and_then(|line| line.interval),
                    "n_submissions": shown.line(ranked).map(|line| line.n_submissions),
                    "is_above_baselines": shown.line(ranked).and_then(|line| line.is_above_baselines),
                    "public_rank": shown.public_rank(ranked) });
            if let Some(numbers) = shown.numbers_of(ranked) {
                place["metrics"] = json!(numbers);
            }
            place
        })
        .collect();
    let comparison = shown.comparison.as_ref().map(|comparison| {
        let summary = &comparison.summary;
        json!({ "compared_at": summary.compared_at, "confidence": CONFIDENCE, "n_best": summary.n_best,
                "resolution": summary.resolution, "n_missing": summary.n_missing,
                "is_clustered": summary.is_clustered, "why_none": sentence(summary.why_none),
                "why_no_score_intervals": sentence(summary.why_no_score_intervals) })
    });
    json!({ "benchmark": board.benchmark, "leaderboard": board.leaderboard, "round": board.round,
            "is_post_round": board.is_post_round(), "dataset": dataset, "comparison": comparison, "finish": shown.report,
            "places": places })
}

/// The rows of a board.
fn table_of(shown: &Shown) -> Lines {
    let Shown {
        board,
        top,
        digits,
        columns,
        ..
    } = shown;
    let is_compared = shown.comparison.is_some();
    let mut heads = vec!["rank", "public", "range", "score", "interval", "submitter"];
    heads.extend(columns.iter().map(|column| column.title));
    heads.extend(["tries", "received (UTC)", "submission"]);
    heads.retain(|head| board.is_final() || *head != "public");
    heads.retain(|head| is_compared || !["range", "interval", "tries"].contains(head));
    let mut table = table(&heads);
    table.spare(&["received (UTC)", "tries", "submission"]);
    let n_digits = digits_apart(top.iter().map(|ranked| ranked.entry.id.as_str()));
    for ranked in top {
        let entry = &ranked.entry;
        let line = shown.line(ranked);
        let ranks = line.and_then(|line| line.ranks).map(ranks_in_words);
        let interval = line.and_then(|line| line.interval);
        let interval = interval.map(|interval| interval_in_words(interval, *digits));
        let tries = line.map(|line| line.n_submissions.to_string());
        let score = entry.score.map(|score| shown_score(score, *digits));
        let numbers = shown.numbers_of(ranked);
        let of_columns = columns.iter().map(|column| {
            let cell = numbers.map(|numbers| column.cell(numbers)).unwrap_or_default();
            let words: Vec<String> = cell.into_iter().map(number).collect();
            words.join(" to ")
        });
        let before = [
            Some(place(ranked)),
            board.is_final().then(|| {
                shown
                    .public_rank(ranked)
                    .map(|rank| rank.to_string())
                    .unwrap_or_default()
            }),
            is_compared.then(|| ranks.unwrap_or_default()),
            Some(score.unwrap_or_default()),
            is_compared.then(|| interval.unwrap_or_default()),
            Some(entry.submitter.clone()),
        ];
        let after = [
            is_compared.then(|| tries.unwrap_or_default()),
            Some(time(entry.received_at)),
            Some(short(entry.id.as_str(), n_digits)),
        ];
        let cells = before.into_iter().flatten().chain(of_columns);
        table.add_row(cells.chain(after.into_iter().flatten()));
    }
    for (column, head) in heads.iter().enumerate() {
        let is_of_numbers = columns.iter().any(|column| column.title == *head);
        if is_of_numbers || ["rank", "public", "score", "tries"].contains(head) {
            align_right(&mut table, column);
        }
    }
    table
}

/// A board as a table, with what is said of it.
pub(crate) fn print(shown: &Shown) {
    let Shown {
        board, dataset, top, ..
    } = shown;
    let mark = if board.is_final() {
        " (on the final data set)"
    } else if board.is_post_round() {
        " (late submissions)"
    } else {
        ""
    };
    println!(
        "\n{} · {} · round {}{mark}",
        board.benchmark, board.leaderboard, board.round
    );
    if top.is_empty() {
        println!(
            "No score yet. `dataperf leaderboard {}` shows the boards that have one.",
            board.benchmark
        );
        return;
    }
    println!("{}", table_of(shown));
    if shown.n_rows > top.len() {
        let more = if shown.n_rows < N_COUNTED { "" } else { "at least " };
        println!("{} of {more}{} shown, --all", top.len(), shown.n_rows);
    }
    if let Some(report) = &shown.report {
        println!("{}", shaken(report));
    }
    if let Some(comparison) = &shown.comparison {
        println!("{}", in_words(&comparison.summary));
        let leads = top.iter().find(|ranked| ranked.shown_rank() == Some(1));
        let leads = leads.and_then(|leads| shown.line(leads));
        if leads.is_some_and(|line| line.is_above_baselines == Some(false)) {
            println!("The first is not significantly better than the best baseline.");
        }
    }
    if let Some(dataset) = dataset.filter(|_| top.iter().any(|ranked| ranked.is_of_other_dataset)) {
        println!(
            "The board's data set is {dataset}. Scores of another data set have no rank until they are scored again. Unless the round's \
             `retire` does so, run `dataperf rescore {} {} --round {}`.",
            board.benchmark, board.leaderboard, board.round
        );
    }
}
