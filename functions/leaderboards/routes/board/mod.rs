//! A board, page by page.

pub(crate) mod difference;
pub(crate) mod document;
pub(crate) mod leaders;
pub(crate) mod picture;
pub(crate) mod presentation;
pub(crate) mod retirement;
pub(crate) mod series;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{Path, State};
use axum::response::Response;
use dataperf::board::{Board, OPEN_ROUND};
use dataperf::challenge::{Challenge, shown_of_released};
use dataperf::closing::finishing::FinalReport;
use dataperf::comparison::{CONFIDENCE, Read as Comparison, Summary};
use dataperf::receipt::figures::Figures;
use dataperf::{Column, Descriptor, Digest, Direction, Feedback, Receipt, SubmissionId};
use dataperf_aws::{BoardPlace, BoardRow, RowSpread, Table};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::rounds::must_exist;
use super::{MOUNTED_AT, name, round};
use crate::answer::Wishes;
use crate::app::App;
use crate::caller::Caller;
use crate::catalogue;
use crate::cursor::{Place, Seal};
use crate::figures::Spread;
use crate::query::{BoardQuery, Include, Strict, within};
use crate::routes::board::presentation::Presentation;
use crate::rows::{Row, Standing};
use dataperf_http::Problem;

/// A page of a board.
#[derive(Serialize, ToSchema)]
struct BoardPage {
    /// The benchmark's id.
    benchmark: String,
    /// The leaderboard.
    leaderboard: String,
    /// The round.
    round: String,
    /// The data set that the board is scored with, by which its rows are ranked; `null` where it has no score, and where the scores of
    /// all data sets are compared.
    #[schema(example = "sha256:…")]
    dataset: Option<String>,
    /// The address of the participants' kit, from the root of this API's host; `null` where none is published.
    #[schema(example = "/api/v1/benchmarks/speech-selection/leaderboards/en-25/kit")]
    kit: Option<String>,
    /// Until when its rows are shown to the organizer only; `null` where the board is not hidden from the caller.
    #[schema(format = DateTime)]
    hidden_until: Option<String>,
    /// What its data set says of it, in Markdown.
    description: Option<String>,
    /// Which of a submitter's scored submissions stand on it: the `best`, the `latest`, or `all`.
    #[schema(example = "best")]
    ranking: &'static str,
    #[serde(flatten)]
    presentation: Presentation,
    /// What its ranks are worth; `null` before its rows have been compared.
    comparison: Option<BoardComparison>,
    /// On the board of a final data set, whose round has `.final` behind it: how it differs from the public one; `null` elsewhere.
    finish: Option<Finish>,
    /// On the board of a final data set that is not made yet: by when it is; `null` elsewhere.
    #[schema(format = DateTime)]
    final_by: Option<String>,
    /// What is shown of each row beside the score.
    columns: Vec<ShownColumn>,
    /// The lines, best first; behind them those that were scored with another data set, which have no rank.
    rows: Vec<Row>,
    /// The cursor of the next page; `null` at the end.
    next: Option<String>,
}

/// A column of a board.
#[derive(Serialize, ToSchema)]
struct ShownColumn {
    /// What people call it.
    title: &'static str,
    /// The number of a row's `metrics` that it shows, or the two ends of a range.
    metrics: &'static [&'static str],
}

impl From<&Column> for ShownColumn {
    fn from(column: &Column) -> Self {
        let Column { title, metrics } = *column;
        Self { title, metrics }
    }
}

/// The place in a board where a page begins, beside the key: the part, the data set, and the counts of the rows before.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OnBoard {
    place: BoardPlace,
    standing: Standing,
}

/// How the board of a final data set differs from the public one.
#[derive(Serialize, ToSchema)]
struct Finish {
    /// When all that stood on the public board had been scored; `null` while that goes on.
    #[schema(format = DateTime)]
    finished_at: Option<String>,
    /// Submissions that have a rank on both.
    n_ranked: usize,
    /// Submissions that are against the rules of the final data set.
    n_rejected: usize,
    /// The mean distance between the two ranks of a submission, as a share of `n_ranked`; `null` below two.
    shake_up: Option<f64>,
}

impl From<&FinalReport> for Finish {
    fn from(report: &FinalReport) -> Self {
        Self {
            finished_at: report.finished_at.map(|at| at.to_string()),
            n_ranked: report.n_ranked,
            n_rejected: report.n_rejected,
            shake_up: report.shake_up,
        }
    }
}

/// What comparing the rows of a board says of the board.
#[derive(Serialize, ToSchema)]
struct BoardComparison {
    /// When the rows were compared: rows that are newer have no interval yet.
    #[schema(format = DateTime)]
    compared_at: String,
    /// The confidence of all intervals.
    confidence: f64,
    /// Rows whose rank interval begins with 1: each may be the best.
    n_best: usize,
    /// The smallest difference between neighbours that the test set can tell apart with power 0.8; `null` where no neighbours differ, and
    /// where it is withheld.
    resolution: Option<f64>,
    /// Whether `resolution` is withheld until everything is shown: it is made of differences of pairs.
    is_resolution_withheld: bool,
    /// Rows that can't be compared until the board is scored again: each may have any rank.
    n_missing: usize,
    /// Whether whole clusters of items are drawn.
    is_clustered: bool,
    /// Why there are no intervals, where there are none.
    why_none: Option<String>,
    /// Why scores have no intervals, where ranks have some and scores have none.
    why_no_score_intervals: Option<String>,
    /// Rows that may be the best by the area under their curves; `null` where rows are not compared by it.
    n_best_by_area: Option<usize>,
}

impl BoardComparison {
    /// The comparison as it is shown at the feedback level `level`.
    fn shown(summary: Summary, level: Feedback) -> Self {
        let is_resolution_withheld = level < Feedback::Full;
        let summary = summary.shown(level);
        Self {
            compared_at: summary.compared_at.to_string(),
            confidence: CONFIDENCE,
            n_best: summary.n_best,
            resolution: summary.resolution,
            is_resolution_withheld,
            n_missing: summary.n_missing,
            is_clustered: summary.is_clustered,
            why_none: summary.why_none.map(|why| why.to_string()),
            why_no_score_intervals: summary.why_no_score_intervals.map(|why| why.to_string()),
            n_best_by_area: summary.n_best_by_area,
        }
    }
}

/// A board, best first.
#[utoipa::path(
    get, path = "/benchmarks/{benchmark}/leaderboards/{leaderboard}", operation_id = "leaderboard",
    params(BoardQuery),
    responses((status = 200, description = "A page of the board, as JSON or as CSV", content(
        (BoardPage = "application/json"), (String = "text/csv"),
    ))),
)]
pub(super) async fn board(
    State(app): State<App>,
    Path((benchmark, leaderboard)): Path<(String, String)>,
    caller: Caller,
    wishes: Wishes,
    seal: Seal,
    Strict(query): Strict<BoardQuery>,
) -> Result<Response, Problem> {
    let facts = catalogue::benchmark(&benchmark)?;
    let board = Board {
        benchmark,
        leaderboard: name("leaderboard", &leaderboard)?.to_owned(),
        round: round(query.round.as_deref())?.to_owned(),
    };
    let limit = within(query.limit, 50, 200)?;
    let place = query
        .cursor
        .as_deref()
        .map(|word| seal.open::<OnBoard>(word))
        .transpose()?;
    let (table, results) = (app.table().await, app.results().await);
    let challenge = catalogue::challenge(&app, facts.id).await?;
    let challenge = challenge.as_ref();
    let boards = catalogue::boards(&app, facts, challenge).await?;
    let is_first = place.is_none();
    let (from, mut standing) = if let Some(Place { at, so_far }) = place {
        (BoardPlace { at, ..so_far.place }, so_far.standing)
    } else {
        let dataset = catalogue::scored_with(&table, facts, &boards, challenge, &board).await?;
        let from = BoardPlace {
            dataset,
            ..BoardPlace::default()
        };
        (from, Standing::default())
    };
    // what the pages before were ranked by
    let scored_with = from.dataset;
    let places = standing.n_rows..standing.n_rows + limit;
    let hidden = caller.hidden_until(challenge, &board);
    let (lines, next, comparison) = if hidden.is_some() {
        (Vec::new(), None, None)
    } else {
        let (page, comparison) = tokio::join!(
            table.board_page(&board, from, limit),
            Comparison::load(&results, &board, places),
        );
        let (lines, next) = page?;
        (lines, next, comparison?)
    };
    if lines.is_empty() && is_first {
        must_exist(&app, facts, &board, &table).await?;
    }
    // a final data set is not told before it has been scored with
    let scored_with = scored_with.filter(|_| !board.is_final() || !lines.is_empty());
    let report = match board.public() {
        Some(public) => report(&app, &table, &public, facts.direction).await?,
        None => None,
    };
    let line = |entry| comparison.as_ref().and_then(|comparison| comparison.line(entry));
    let rows = lines
        .iter()
        .map(|row| standing.row(&row.entry, scored_with).compared(line(&row.entry)))
        .zip(&lines)
        .map(|(row, line)| row.finished(report.as_deref(), &line.entry.id));
    let mut rows: Vec<Row> = rows.collect();
    if query.include == Some(Include::Spread) {
        let mut spreads = spreads(&app, &caller, &board.benchmark, &lines).await?;
        for row in &mut rows {
            row.spread = spreads.remove(&row.submission);
        }
    }
    fill_columns(&app, facts, &lines, &mut rows).await?;
    let names: Vec<&str> = Column::names(facts.columns).collect();
    let numbers = |row: &Row| -> Vec<Option<f64>> {
        names.iter().map(|name| row.metrics.get(*name).copied()).collect()
    };
    let flat: Vec<_> = rows.iter().map(|row| (row.flat(), numbers(row))).collect();
    let header: Vec<&str> = Row::HEADER.into_iter().chain(names.iter().copied()).collect();
    let next = next.map(|mut place| {
        let at = std::mem::take(&mut place.at);
        let so_far = OnBoard { place, standing };
        seal.word(&Place { at, so_far })
    });
    let kit = catalogue::kit(&app, facts, &boards, challenge, &board).await?;
    let comparison = comparison.map(|item| compared(item.summary, &caller, challenge, &board, scored_with));
    let settings = boards.settings_of(&board.leaderboard, scored_with);
    let document = BoardPage {
        dataset: scored_with.map(|dataset| dataset.to_string()),
        kit: kit.map(|_| kit_address(&board)),
        hidden_until: hidden.map(|until| until.to_string()),
        description: settings.and_then(|settings| settings.description.clone()),
        ranking: catalogue::ranking(facts, challenge, &board.leaderboard),
        presentation: settings
            .map(|settings| Presentation::new(facts.id, settings))
            .unwrap_or_default(),
        comparison,
        final_by: final_by(challenge, &board, report.as_deref()),
        finish: report.as_deref().filter(|_| hidden.is_none()).map(Finish::from),
        benchmark: board.benchmark,
        leaderboard: board.leaderboard,
        round: board.round,
        columns: facts.columns.iter().map(ShownColumn::from).collect(),
        rows: rows.clone(),
        next,
    };
    Ok(wishes.list(&caller, query.format, &document, &header, &flat))
}

/// By when a final board is made, where it is not.
fn final_by(challenge: Option<&Challenge>, board: &Board, report: Option<&FinalReport>) -> Option<String> {
    let is_made = report.is_some_and(|report| report.finished_at.is_some());
    let challenge = challenge.filter(|_| board.is_final() && !is_made)?;
    let by = challenge.final_by(challenge.round(&board.round)?)?;
    Some(by.to_string())
}

/// As much of a board's comparison as the caller sees. A comparison of released scores shows no more where the round has no Ladder any more.
fn compared(
    summary: Summary,
    caller: &Caller,
    challenge: Option<&Challenge>,
    board: &Board,
    dataset: Option<Digest>,
) -> BoardComparison {
    let shown_of = if summary.is_of_released_scores() {
        shown_of_released
    } else {
        dataperf::challenge::shown
    };
    let level = if caller.is_organizer() {
        Feedback::Full
    } else {
        shown_of(challenge, board, dataset, dataperf_aws::now()).level
    };
    BoardComparison::shown(summary, level)
}

/// How long a process answers with a report that it has read: withdrawals change how a finished board differs.
const READ_FOR: Duration = Duration::from_mins(1);

/// How the final board differs from the public one, as it was a minute ago at most: it is made of all submissions that stood there.
async fn report(
    app: &App,
    table: &Table,
    public: &Board,
    direction: Direction,
) -> Result<Option<Arc<FinalReport>>, Problem> {
    let known = app.finished().get(public);
    if let Some(known) = known.filter(|known| known.0.elapsed() < READ_FOR) {
        return Ok(Some(known.1.clone()));
    }
    let report = FinalReport::read(table, public, direction).await?.map(Arc::new);
    if let Some(finished) = report.as_ref().filter(|report| report.finished_at.is_some()) {
        let read = Arc::new((Instant::now(), finished.clone()));
        app.finished().keep(public.clone(), read);
    }
    Ok(report)
}

/// The address of a board's participants' kit.
fn kit_address(board: &Board) -> String {
    let Board {
        benchmark,
        leaderboard,
        round,
    } = board;
    let mut address = format!("{MOUNTED_AT}/benchmarks/{benchmark}/leaderboards/{leaderboard}/kit");
    if round != OPEN_ROUND {
        address.push_str("?round=");
        address.push_str(round);
    }
    address
}

/// Reads the numbers of the board's columns, which are in the receipts of what stands there and are shown at every level.
async fn fill_columns(
    app: &App,
    facts: &Descriptor,
    lines: &[BoardRow],
    rows: &mut [Row],
) -> Result<(), Problem> {
    if facts.columns.is_empty() {
        return Ok(());
    }
    let ids: Vec<SubmissionId> = lines.iter().map(|line| line.entry.id.clone()).collect();
    let receipts = app.table().await.receipts(facts.id, &ids).await?;
    for (line, row) in lines.iter().zip(rows) {
        if let Some(receipt) = receipts.get(&line.entry.id) {
            row.metrics = Column::numbers(facts.columns, &receipt.verdict.metrics);
        }
    }
    Ok(())
}

/// How the scores of some rows spread, by id, where the caller may see that. Rows that do not say it themselves are looked up.
async fn spreads(
    app: &App,
    caller: &Caller,
    benchmark: &str,
    rows: &[BoardRow],
) -> Result<BTreeMap<String, Spread>, Problem> {
    let challenge = catalogue::challenge(app, benchmark).await?;
    let mut spreads = BTreeMap::new();
    for BoardRow { entry, spread } in rows {
        let Some(RowSpread {
            dataset,
            shown_at: Some((level, spread)),
        }) = spread
        else {
            continue;
        };
        let shown_of = match entry.climb {
            Some(_) => shown_of_released,
            None => dataperf::challenge::shown,
        };
        let shown = || shown_of(challenge.as_ref(), &entry.board, *dataset, dataperf_aws::now());
        if caller.is_organizer() || *level <= shown().level {
            spreads.insert(entry.id.to_string(), spread.clone().into());
        }
    }
    let silent = rows.iter().filter(|row| row.spread.is_none());
    let ids: Vec<SubmissionId> = silent.map(|row| row.entry.id.clone()).collect();
    let receipts = app.table().await.receipts(benchmark, &ids).await?;
    let hosted = catalogue::benchmark(benchmark)?;
    let spread_of = |(id, receipt): (SubmissionId, Receipt)| {
        let level = if caller.is_organizer() {
            Feedback::Full
        } else {
            catalogue::now_shown(challenge.as_ref(), &receipt).level
        };
        let spread = Figures::from_verdict(&receipt.verdict.shown(level, hosted), hosted.metrics).spread?;
        Some((id.to_string(), spread.into()))
    };
    spreads.extend(receipts.into_iter().filter_map(spread_of));
    Ok(spreads)
}
