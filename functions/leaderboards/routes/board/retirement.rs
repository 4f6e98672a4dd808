//! What retiring a board's data set for a fresh one has shown.

use std::collections::BTreeSet;

use axum::extract::{Path, State};
use axum::response::Response;
use dataperf::board::Board;
use dataperf::closing::retirement::{Estimate, RetiredLine, RetirementReport, report_of};
use dataperf::comparison::rounded_outward;
use dataperf::table::leaderboard::Leaderboards as _;
use dataperf::{Digest, Feedback, SubmissionId};
use dataperf_aws::{Cursor, now};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::answer::Wishes;
use crate::app::App;
use crate::caller::Caller;
use crate::catalogue;
use crate::cursor::{Place, Seal};
use crate::query::{RetirementQuery, Strict, within};
use crate::routes::rounds::must_exist;
use crate::routes::{name, round};
use dataperf_http::Problem;

/// How the scores with a retired data set compare with those with the one that followed. It stays as it was made, with all that stood; what was
/// withdrawn since has a line for its submitter and the organizer only.
#[derive(Serialize, ToSchema)]
struct Retirement {
    /// The benchmark's id.
    benchmark: String,
    /// The leaderboard.
    leaderboard: String,
    /// The round.
    round: String,
    /// The first moment whose uploads are scored with the data set that followed.
    #[schema(format = DateTime)]
    retired_at: Option<String>,
    /// When all that stood on the board had been scored with it.
    #[schema(format = DateTime)]
    finished_at: String,
    /// The retired data set.
    #[schema(example = "sha256:…")]
    dataset_before: Option<String>,
    /// The data set that followed.
    #[schema(example = "sha256:…")]
    dataset_after: String,
    /// Submissions with both scores, without baselines.
    n_scored: usize,
    /// Submissions that are against the rules of the data set that followed.
    n_rejected: usize,
    /// The mean of score before less score after; `null` without submissions.
    gap: Option<FigureEstimate>,
    /// The mean gap of the baselines.
    gap_of_baselines: Option<FigureEstimate>,
    /// The slope of the line of new scores on old ones, with the noise of the scores taken out; `null` below three submissions, and where
    /// scores spread no more than noise does.
    slope: Option<FigureEstimate>,
    /// The value of that line at an old score of 0.
    intercept: Option<FigureEstimate>,
    /// The slope of the same line on probit axes; `null` also where a score is no share between 0 and 1.
    probit_slope: Option<FigureEstimate>,
    /// The probit of the new score on that line at an old score of 0.5.
    probit_intercept: Option<FigureEstimate>,
    /// Kendall's tau-b between the two orders; `null` where one tells no two submissions apart.
    tau_b: Option<FigureEstimate>,
    /// Why there are no intervals, where there are none.
    why_none: Option<String>,
    /// A page of what stood on the board, in the order of the data set that followed, best first. All else is of the whole report.
    lines: Vec<LineOnBoth>,
    /// The cursor of the next page; `null` at the end.
    next: Option<String>,
}

/// Where a page of a report begins.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FromLine {
    report: ReportId,
    /// The line before it.
    after: SubmissionId,
}

/// A report by its board, and the data set that followed.
type ReportId = (String, String, String, Digest);

fn report_id(board: Board, dataset_after: Digest) -> ReportId {
    (board.benchmark, board.leaderboard, board.round, dataset_after)
}

impl FromLine {
    /// How many lines of the report are before the page.
    fn n_before(&self, report_id: &ReportId, lines: &[RetiredLine]) -> Result<usize, Problem> {
        let last = lines.iter().position(|line| line.submission == self.after);
        let last = last.filter(|_| self.report == *report_id);
        last.map(|last| last + 1).ok_or_else(|| {
            Problem::bad_cursor("the cursor belongs to another report: begin again without one")
        })
    }
}

/// A figure with its interval.
#[derive(Serialize, ToSchema)]
struct FigureEstimate {
    /// The figure.
    value: f64,
    /// The interval that holds it with 95 % confidence, low and high; `null` where it has none.
    interval: Option<[f64; 2]>,
}

/// A submission with both scores.
#[derive(Serialize, ToSchema)]
struct LineOnBoth {
    /// The submission.
    submission: String,
    /// Whose it is.
    submitter: String,
    /// Whether it is a baseline: it has no ranks.
    is_baseline: bool,
    /// The score with the retired data set.
    before: f64,
    /// The score with the one that followed; `null` where it is against its rules.
    after: Option<f64>,
    /// Its rank among those with both scores, by the retired data set.
    rank_before: Option<usize>,
    /// Its rank among them by the data set that followed.
    rank_after: Option<usize>,
    /// Score before less score after.
    gap: Option<FigureEstimate>,
}

/// Why there are no intervals while a round is open.
const WITHHELD: &str = "the report is hidden until the round shows all results, because its intervals reveal how many hidden \
    items two submissions differ on: ask again after that";

/// What retiring a board's data set has shown: the gap between old and new scores, their regression, and how far ranks agree.
#[utoipa::path(
    get, path = "/benchmarks/{benchmark}/leaderboards/{leaderboard}/retirement", operation_id = "retirement",
    params(RetirementQuery),
    responses((status = 200, description = "The report", body = Retirement)),
)]
pub(crate) async fn retirement(
    State(app): State<App>,
    Path((benchmark, leaderboard)): Path<(String, String)>,
    caller: Caller,
    wishes: Wishes,
    seal: Seal,
    Strict(query): Strict<RetirementQuery>,
) -> Result<Response, Problem> {
    let facts = catalogue::benchmark(&benchmark)?;
    let board = Board {
        benchmark,
        leaderboard: name("leaderboard", &leaderboard)?.to_owned(),
        round: round(query.round.as_deref())?.to_owned(),
    };
    let limit = within(query.limit, 50, 200)?;
    let place = query.cursor.as_deref().map(|word| seal.open::<FromLine>(word));
    let place = place.transpose()?.map(|place| place.so_far);
    let challenge = catalogue::challenge(&app, facts.id).await?;
    let hidden = caller.hidden_until(challenge.as_ref(), &board);
    if let Some(until) = hidden {
        let detail = format!("this board is hidden until its round closes at {until}");
        return Err(Problem::not_found("hidden_board", "round", detail));
    }
    let Some(report) = report(&app, &board).await? else {
        must_exist(&app, facts, &board, &app.table().await).await?;
        let detail = "no data set of this board has been retired in this round, or not all submissions are scored with \
            the next one yet";
        return Err(Problem::not_found("not_retired", "round", detail));
    };
    let shown = dataperf::challenge::shown(challenge.as_ref(), &board, Some(report.dataset_after), now());
    let round = challenge
        .as_ref()
        .and_then(|challenge| challenge.round(&board.round));
    let is_released = round.is_some_and(|round| round.release().is_some());
    if is_released && !caller.is_organizer() && shown.level < Feedback::Full {
        let until = shown.whole_at.map_or("it closes".to_owned(), |at| at.to_string());
        let detail = format!(
            "this round rounds scores until {until}, and the report has all digits: ask again after that"
        );
        return Err(Problem::not_found("withheld", "round", detail));
    }
    let has_intervals = caller.is_organizer() || shown.level == Feedback::Full;
    let estimate = |estimate: Option<Estimate>| {
        let interval = |estimate: Estimate| estimate.interval.filter(|_| has_intervals);
        estimate.map(|estimate| FigureEstimate {
            value: estimate.value,
            interval: interval(estimate).map(|interval| {
                let (low, high) = rounded_outward(interval);
                [low, high]
            }),
        })
    };
    let why_none = if has_intervals {
        report.why_none.map(|why| why.to_string())
    } else {
        Some(WITHHELD.to_owned())
    };
    // nobody but their submitters sees by now what was withdrawn
    let withdrawn = app.table().await.withdrawn(&board).await?;
    let withdrawn: BTreeSet<SubmissionId> = withdrawn.into_iter().map(|entry| entry.id).collect();
    let is_shown =
        |line: &RetiredLine| caller.acts_for(&line.submitter) || !withdrawn.contains(&line.submission);
    let key = report_id(board.clone(), report.dataset_after);
    let from = place.map_or(Ok(0), |place| place.n_before(&key, &report.lines))?;
    let mut lines = report.lines.into_iter().skip(from).filter(is_shown);
    let of_page: Vec<RetiredLine> = lines.by_ref().take(limit).collect();
    let last = of_page.last().map(|line| line.submission.clone());
    let next = lines.next().and(last).map(|after| Place {
        at: Cursor::new(),
        so_far: FromLine { report: key, after },
    });
    let line = |line: RetiredLine| LineOnBoth {
        submission: line.submission.to_string(),
        submitter: line.submitter,
        is_baseline: line.is_baseline,
        before: line.before,
        after: line.after,
        rank_before: line.rank_before,
        rank_after: line.rank_after,
        gap: estimate(line.gap),
    };
    let document = Retirement {
        retired_at: report.retired_at.map(|at| at.to_string()),
        finished_at: report.finished_at.to_string(),
        dataset_before: report.dataset_before.map(|dataset| dataset.to_string()),
        dataset_after: report.dataset_after.to_string(),
        n_scored: report.n_scored,
        n_rejected: report.n_rejected,
        gap: estimate(report.gap),
        gap_of_baselines: estimate(report.gap_of_baselines),
        slope: estimate(report.slope),
        intercept: estimate(report.intercept),
        probit_slope: estimate(report.probit_slope),
        probit_intercept: estimate(report.probit_intercept),
        tau_b: estimate(report.tau_b),
        why_none,
        lines: of_page.into_iter().map(line).collect(),
        next: next.map(|place| seal.word(&place)),
        benchmark: board.benchmark,
        leaderboard: board.leaderboard,
        round: board.round,
    };
    Ok(wishes.json(&caller, &document))
}

/// The report of a board whose data set has been retired.
async fn report(app: &App, board: &Board) -> Result<Option<RetirementReport>, Problem> {
    let challenge = catalogue::challenge(app, &board.benchmark).await?;
    let round = challenge.and_then(|challenge| challenge.round(&board.round).cloned());
    let Some(round) = round.filter(|round| round.id == board.round) else {
        return Ok(None);
    };
    Ok(report_of(&app.results().await, &round, board).await?)
}
