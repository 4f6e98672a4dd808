//! `dataperf leaderboard`: who leads.

mod across;
mod compare;
mod on_page;
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
use dataperf::board::{Board, OPEN_ROUND};
use dataperf::challenge::{Announcement, Challenge};
use dataperf::closing::finishing::FinalReport;
use dataperf::comparison::{Area, Line, Read as Comparison};
use dataperf::dataset::DatasetError;
use dataperf::dataset::active::InForce;
use dataperf::rows::ranking::{Ranked, with_shared_ranks};
use dataperf::table::leaderboard::Leaderboards;
use dataperf::{Column, Descriptor, Digest, SubmissionId, SubmitterName};
use dataperf_aws::{BoardPlace, Table};
use dataperf_datasets::{Values, write_csv};
use serde_json::{Value, json};

use crate::Done;
use crate::cloud::active_boards::{BoardInForce, Boards};
use crate::cloud::comparison::Summary;
use crate::cloud::connection::Connection;
use crate::cloud::{Cloud, CloudArgs, now};
use crate::hosted::descriptor;
use crate::output::rows::RowFormat;
use crate::output::{Table as Lines, align_right, digits_apart, print_json, short, shown_score, table, time};
use words::{in_words, interval_in_words, number, place, ranks_in_words, shaken};
pub(crate) use worth::{Worth, fields, worth_soon};

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
    /// The leaderboard [default: all with a score]
    leaderboard: Option<String>,
    /// The round [default: all with a score]
    #[arg(long)]
    round: Option<String>,
    /// How many rows to show [default: 20; all in JSON and CSV]
    #[arg(long, short = 'n')]
    top: Option<usize>,
    /// Show all rows
    #[arg(long, conflicts_with = "top")]
    all: bool,
    /// Show only your own rows, by your token
    #[arg(long, conflicts_with_all = ["top", "all"])]
    mine: bool,
    /// Print again when something changes, until Ctrl-C
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "2")]
    watch: Option<f64>,
    #[command(flatten)]
    cloud: CloudArgs,
}

#[derive(Debug, Subcommand)]
enum LeaderboardCommand {
    /// Measure the agreement of several boards
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
    let connection = args.cloud.clone().choose().await?;
    if args.leaderboard.is_some() || args.round.is_some() {
        let known = connection.known(&benchmark).await?;
        known.check(args.leaderboard.as_deref(), args.round.as_deref())?;
    }
    let own = if args.mine {
        Some(own_name(&connection).await?)
    } else {
        None
    };
    let most = args
        .top
        .or((format == RowFormat::Text && !args.all && !args.mine).then_some(N_SHOWN));
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
        let (leaderboard, round) = (args.leaderboard.clone(), args.round.clone());
        let mut boards = match &connection {
            Connection::Keys(cloud) => boards_of(cloud, &benchmark, leaderboard, round, n_read).await?,
            Connection::Page(page) => on_page::boards(page, &benchmark, leaderboard, round, n_read).await?,
        };
        for board in &mut boards {
            board.top.truncate(most.unwrap_or(ALL));
            if let Some(own) = &own {
                board.top.retain(|row| row.entry.submitter == own.as_str());
            }
        }
        boards.retain(|board| own.is_none() || !board.top.is_empty());
        let mut visible = connection.announced(&benchmark).await?;
        let is_shown = |one: &Announcement| boards.iter().any(|shown| one.is_of(shown.board.round_id()));
        visible.retain(|one| boards.is_empty() || is_shown(one));
        let current = (visible, boards);
        if shown.as_ref() != Some(&current) {
            if interval.is_some() && format == RowFormat::Text && std::io::stdout().is_terminal() {
                print!("\x1b[2J\x1b[H"); // clears the screen
            }
            let when_none = if args.mine {
                "you are on no leaderboard yet"
            } else {
                "no leaderboard has a score yet"
            };
            print_boards(&benchmark, &current, when_none, format)?;
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

/// The submitter whose rows `--mine` selects.
async fn own_name(connection: &Connection) -> Result<SubmitterName> {
    connection.own_name().await?.context(
        "`--mine` needs the token of a submitter: sign in with `dataperf login`, or set DATAPERF_TOKEN",
    )
}

fn print_boards(
    benchmark: &str,
    (announcements, boards): &(Vec<Announcement>, Vec<Shown>),
    when_none: &str,
    format: RowFormat,
) -> Result<()> {
    match format {
        RowFormat::Json => {
            let documents: Vec<Value> = boards.iter().map(document).collect();
            print_json(&documents)?;
        }
        RowFormat::Csv => print!("{}", csv(boards)?),
        RowFormat::Text => {
            for Announcement { date, text, .. } in announcements {
                println!("Announced {date}: {text}");
            }
            if boards.is_empty() {
                println!("{benchmark}: {when_none}");
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

/// The area under each row's curves, its interval, and the ranks by area.
fn area_columns(rows: &[(&Shown, &Ranked)]) -> [(&'static str, Values); 5] {
    let area = |(shown, ranked): &(&Shown, &Ranked)| shown.line(ranked)?.area;
    let real =
        |get: fn(Area) -> Option<f64>| Values::MaybeReal(rows.iter().map(|row| get(area(row)?)).collect());
    let rank = |get: fn((u32, u32)) -> u32| {
        let ranks = rows.iter().map(|row| Some(get(area(row)?.rank_interval).into()));
        Values::MaybeWhole(ranks.collect())
    };
    [
        ("area", real(|area| area.value)),
        ("area_low", real(|area| Some(area.interval?.0))),
        ("area_high", real(|area| Some(area.interval?.1))),
        ("area_rank_first", rank(|ranks| ranks.0)),
        ("area_rank_last", rank(|ranks| ranks.1)),
    ]
}

/// The same as columns.
pub(crate) fn columns(boards: &[Shown]) -> Vec<(String, Values)> {
    let rows = boards
        .iter()
        .flat_map(|shown| shown.top.iter().map(move |ranked| (shown, ranked)));
    let rows: Vec<(&Shown, &Ranked)> = rows.collect();
    let text = |get: &dyn Fn(&Shown, &Ranked) -> String| {
        Values::Text(rows.iter().map(|(shown, ranked)| get(shown, ranked)).collect())
    };
    let whole = |get: &dyn Fn(&Shown, &Ranked) -> Option<i64>| {
        Values::MaybeWhole(rows.iter().map(|(shown, ranked)| get(shown, ranked)).collect())
    };
    let real = |get: &dyn Fn(&Shown, &Ranked) -> Option<f64>| {
        Values::MaybeReal(rows.iter().map(|(shown, ranked)| get(shown, ranked)).collect())
    };
    let flag = |get: &dyn Fn(&Shown, &Ranked) -> Option<bool>| {
        Values::MaybeFlag(rows.iter().map(|(shown, ranked)| get(shown, ranked)).collect())
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
    ];
    let last = [
        (
            "is_released",
            flag(&|_, ranked| Some(ranked.entry.climb.is_some())),
        ),
        (
            "public_rank",
            whole(&|shown, ranked| i64::try_from(shown.public_rank(ranked)?).ok()),
        ),
    ];
    let columns = columns.into_iter().chain(area_columns(&rows)).chain(last);
    let mut columns: Vec<(String, Values)> =
        columns.map(|(name, values)| (name.to_owned(), values)).collect();
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
    /// The reliability of the ranks, once the rows have been compared.
    pub(crate) comparison: Option<Summary>,
    /// The comparison of each row.
    pub(crate) lines: BTreeMap<SubmissionId, Line>,
    /// How the board of a final data set differs from the public one.
    pub(crate) report: Option<FinalReport>,
    /// The board's columns besides the score.
    pub(crate) columns: &'static [Column],
    /// Their numbers, by the row's submission.
    pub(crate) numbers: BTreeMap<SubmissionId, BTreeMap<String, f64>>,
}

impl Shown {
    /// Whether all comparable rows have been compared; true if there are none.
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

    /// The comparison of a row; `None` for a row of another data set, which is not compared.
    fn line(&self, ranked: &Ranked) -> Option<&Line> {
        if ranked.is_of_other_dataset {
            return None;
        }
        self.lines.get(&ranked.entry.id)
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

/// The boards of a round with all their rows.
pub(crate) async fn boards_of_round(cloud: &Cloud, benchmark: &str, round: &str) -> Result<Vec<Shown>> {
    boards_of(cloud, benchmark, None, Some(round.to_owned()), ALL).await
}

/// The boards with up to `n` rows: of one leaderboard and one round, if these are given.
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
    let boards_one = read_boards(cloud, hosted).await?;
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
        let comparison = Comparison::load(&cloud.results(), &board, 0..top.len()).await?;
        let report = match board.public() {
            Some(public) => FinalReport::read(&leaderboards, &public, hosted.direction).await?,
            None => None,
        };
        let top = with_shared_ranks(top.into_iter().map(|row| row.entry), dataset);
        let numbers = numbers(&leaderboards, hosted, &top).await?;
        let digits = boards_one
            .get(&board.leaderboard)
            .and_then(|boards_one| boards_one.leaderboard.digits);
        let line = |row: &Ranked| Some((row.entry.id.clone(), *comparison.as_ref()?.line(&row.entry)?));
        boards.push(Shown {
            board,
            dataset,
            n_rows: top.len(),
            lines: top.iter().filter_map(line).collect(),
            comparison: comparison
                .as_ref()
                .map(|comparison| Summary::from(&comparison.summary)),
            top,
            digits,
            report,
            columns: hosted.columns,
            numbers,
        });
    }
    Ok(boards)
}

/// The numbers for the board's columns, taken from the receipts of its rows.
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

/// The boards of the active data sets; empty if one is unusable, because scores are shown anyway.
async fn read_boards(cloud: &Cloud, hosted: &Descriptor) -> Result<BTreeMap<String, BoardInForce>> {
    match Boards::read(&cloud.datasets(), hosted).await {
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
                    "area": shown.line(ranked).and_then(|line| line.area),
                    "public_rank": shown.public_rank(ranked) });
            if let Some(numbers) = shown.numbers_of(ranked) {
                place["metrics"] = json!(numbers);
            }
            place
        })
        .collect();
    json!({ "benchmark": board.benchmark, "leaderboard": board.leaderboard, "round": board.round,
            "is_post_round": board.is_post_round(), "dataset": dataset, "comparison": shown.comparison, "finish": shown.report,
            "places": places })
}

/// The area under a row's curves, with its interval.
const AREA: &str = "area";
/// The ranks that a row may have by that area.
const RANGE_BY_AREA: &str = "range by area";

/// The rows of a board.
pub(crate) fn table_of(shown: &Shown) -> Lines {
    let Shown {
        board,
        top,
        digits,
        columns,
        ..
    } = shown;
    let is_compared = shown.comparison.is_some();
    let areas = || top.iter().filter_map(|ranked| shown.line(ranked)?.area);
    let (has_areas, shows_areas) = (areas().next().is_some(), areas().any(|area| area.value.is_some()));
    let mut heads = vec![
        "rank",
        "public",
        "range",
        "score",
        "interval",
        AREA,
        RANGE_BY_AREA,
        "submitter",
    ];
    heads.retain(|head| (has_areas || *head != RANGE_BY_AREA) && (shows_areas || *head != AREA));
    heads.extend(columns.iter().map(|column| column.title));
    heads.extend(["tries", "received (UTC)", "submission"]);
    heads.retain(|head| board.is_final() || *head != "public");
    heads.retain(|head| is_compared || !["range", "interval", "tries"].contains(head));
    heads.retain(|head| !has_areas || *head != "range"); // ranks by the score have none there
    let mut table = table(&heads);
    table.spare(if has_areas {
        &["received (UTC)", "tries", "interval", "submission"] // ranks are by the area
    } else {
        &["received (UTC)", "tries", "submission"]
    });
    let n_digits = digits_apart(top.iter().map(|ranked| ranked.entry.id.as_str()));
    for ranked in top {
        let entry = &ranked.entry;
        let line = shown.line(ranked);
        let ranks = line.and_then(|line| line.ranks).map(ranks_in_words);
        let interval = line.and_then(|line| line.interval);
        let interval = interval.map(|interval| interval_in_words(interval, *digits));
        let area = line.and_then(|line| line.area);
        let area_in_words = area.and_then(|area| {
            let interval = area.interval.map(|interval| interval_in_words(interval, *digits));
            let interval = interval.map(|words| format!(" ({words})")).unwrap_or_default();
            Some(format!("{}{interval}", shown_score(area.value?, *digits)))
        });
        let range_by_area = area.map(|area| ranks_in_words(area.rank_interval));
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
            (is_compared && !has_areas).then(|| ranks.unwrap_or_default()),
            Some(score.unwrap_or_default()),
            is_compared.then(|| interval.unwrap_or_default()),
            shows_areas.then(|| area_in_words.unwrap_or_default()),
            has_areas.then(|| range_by_area.unwrap_or_default()),
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

/// Sentences on a board: its shake-up, and the reliability of its ranks and of its lead over the
/// baselines.
pub(crate) fn notes(shown: &Shown) -> Vec<String> {
    let mut notes: Vec<String> = shown.report.iter().map(shaken).collect();
    if let Some(comparison) = &shown.comparison {
        notes.push(in_words(comparison));
        let leads = shown.top.iter().find(|ranked| ranked.shown_rank() == Some(1));
        let leads = leads.and_then(|leads| shown.line(leads));
        if leads.is_some_and(|line| line.is_above_baselines == Some(false)) {
            notes.push("The first is not significantly better than the best baseline.".to_owned());
        }
    }
    notes
}

/// Prints a board as a table, with its notes.
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
    for note in notes(shown) {
        println!("{note}");
    }
    if let Some(dataset) = dataset.filter(|_| top.iter().any(|ranked| ranked.is_of_other_dataset)) {
        println!(
            "The board's data set is {dataset}. Scores of another data set have no rank until they are scored again. Unless the round's \
             `retire` does so, run `dataperf rescore {} {} --round {}`.",
            board.benchmark, board.leaderboard, board.round
        );
    }
}
