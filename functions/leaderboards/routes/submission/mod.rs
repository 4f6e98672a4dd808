//! One submission, and what of it can be drawn.

pub(crate) mod files;
pub(crate) mod scored_files;
pub(crate) mod unfinished;

use axum::extract::{Path, State};
use axum::response::Response;
use dataperf::comparison::Read as Comparison;
use dataperf::programs::PublicRun;
use dataperf::submission::{Submission, Withdrawal};
use dataperf::table::leaderboard::Leaderboards;
use dataperf::{Feedback, LineOutcome, Shown, SubmissionId, Verdict};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::answer::Wishes;
use crate::app::App;
use crate::caller::Caller;
use crate::catalogue;
use crate::figures::{Figures, FlatFigure};
use crate::query::{FormatQuery, NoQuery, Strict};
use crate::routes::submitters::history::ReasonDocument;
use crate::rows::{Line, RowComparison};
use dataperf_http::Problem;

/// One submission.
#[derive(Serialize, ToSchema)]
struct OneSubmission {
    /// The benchmark's id.
    benchmark: String,
    #[serde(flatten)]
    line: Line,
    /// When the verdict was reached.
    #[schema(format = DateTime)]
    finished_at: Option<String>,
    /// The data set it was judged with.
    dataset: Option<String>,
    /// The digest of the uploaded bytes.
    artifact: Option<String>,
    /// The code that judged it.
    evaluator: Option<String>,
    /// How it compares with the others on its board, if it stands there.
    #[serde(flatten)]
    comparison: RowComparison,
    /// What the score is made of, as far as it is shown; each benchmark has its own.
    #[schema(value_type = Object)]
    metrics: serde_json::Map<String, Value>,
    /// How much of it is shown.
    feedback: Level,
    /// The names of the metrics that are not shown; `*` stands for each concept, task or market. `score` where the score is what the
    /// round has released, or is not shown.
    withheld: Vec<String>,
    /// When they will be: the closing of the last round that uses the same data. `null` without such a closing.
    #[schema(format = DateTime)]
    whole_at: Option<String>,
    /// For the submitter and the organizer only.
    #[serde(skip_serializing_if = "Option::is_none")]
    private: Option<Private>,
}

/// How much of a verdict is shown.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    /// Neither the score nor a metric.
    Nothing,
    /// The score and the reasons, and what follows from the artifact and public data alone.
    Score,
    /// Also numbers of each class, concept, task, market, seed and trial.
    Metrics,
    /// Everything.
    Full,
}

impl From<Feedback> for Level {
    fn from(feedback: Feedback) -> Self {
        match feedback {
            Feedback::Nothing => Self::Nothing,
            Feedback::Score => Self::Score,
            Feedback::Metrics => Self::Metrics,
            Feedback::Full => Self::Full,
        }
    }
}

/// What is its submitter's and the organizer's.
pub(super) const WITHOUT_SCORE: &str =
    "a submission without a score, or on a board that is hidden until its round closes,";

/// What only the submitter and the organizer see.
#[derive(Serialize, ToSchema)]
struct Private {
    /// The key it was uploaded under.
    key: Option<String>,
    /// The object's version.
    version: Option<String>,
    /// The broken rules, when rejected; what went wrong, when failed.
    reasons: Vec<ReasonDocument>,
    /// How many rules are broken; more than are listed when there are very many.
    n_reasons: usize,
    /// The one mistake that explains many of them; `null` where there is none.
    cause: Option<ReasonDocument>,
    /// What became of each line, where each is judged by itself; as in the receipt.
    #[schema(value_type = Vec<Object>)]
    lines: Vec<LineOutcome>,
    /// In the closed division the program's run on public data, as in the receipt; `null` elsewhere.
    #[schema(value_type = Option<Object>)]
    public_run: Option<PublicRun>,
    /// Its withdrawals, oldest first.
    withdrawals: Vec<WithdrawalDocument>,
}

/// A withdrawal of a submission.
#[derive(Serialize, ToSchema)]
struct WithdrawalDocument {
    /// When.
    #[schema(format = DateTime)]
    at: String,
    /// Why.
    reason: Option<String>,
    /// When that was undone; `null` where it was not.
    #[schema(format = DateTime)]
    undone_at: Option<String>,
    /// Why it was undone.
    undo_reason: Option<String>,
}

impl From<&Withdrawal> for WithdrawalDocument {
    fn from(withdrawal: &Withdrawal) -> Self {
        Self {
            at: withdrawal.at.to_string(),
            reason: withdrawal.reason.clone(),
            undone_at: withdrawal.undone_at.map(|at| at.to_string()),
            undo_reason: withdrawal.undo_reason.clone(),
        }
    }
}

/// The submission that a path names.
pub(super) async fn find_submission(app: &App, benchmark: &str, id: &str) -> Result<Submission, Problem> {
    find_submission_at(app, benchmark, id, "submission").await
}

/// The submission that a request names, `at` a part of it.
pub(super) async fn find_submission_at(
    app: &App,
    benchmark: &str,
    id: &str,
    at: &str,
) -> Result<Submission, Problem> {
    catalogue::benchmark(benchmark)?;
    let id: SubmissionId = id
        .parse()
        .map_err(|error| Problem::bad_request(at, format!("{error}")))?;
    let submission = app.table().await.submission(benchmark, &id).await?;
    submission.ok_or_else(|| {
        let detail = "no submission has this id: check the id, and whether the upload has arrived";
        Problem::not_found("unknown_submission", at, detail)
    })
}

/// One submission. Without a score it is its submitter's and the organizer's.
#[utoipa::path(
    get, path = "/benchmarks/{benchmark}/submissions/{submission}", operation_id = "submission",
    responses((status = 200, description = "The submission", body = OneSubmission)),
)]
pub(super) async fn one(
    State(app): State<App>,
    Path((benchmark, id)): Path<(String, String)>,
    caller: Caller,
    wishes: Wishes,
    _: Strict<NoQuery>,
) -> Result<Response, Problem> {
    let submission = find_submission(&app, &benchmark, &id).await?;
    let entry = submission.entry();
    catalogue::must_see(&app, &caller, &entry, WITHOUT_SCORE).await?;
    let receipt = submission.receipt.as_ref();
    let verdict = receipt.map(|receipt| &receipt.verdict);
    let private = caller.acts_for(&entry.submitter).then(|| Private {
        key: receipt.map(|receipt| receipt.key.clone()),
        version: receipt.and_then(|receipt| receipt.version.clone()),
        reasons: verdict.map_or(Vec::new(), |verdict| {
            verdict.reasons.iter().map(Into::into).collect()
        }),
        n_reasons: verdict.map_or(0, |verdict| verdict.n_reasons.unwrap_or(verdict.reasons.len())),
        cause: verdict.and_then(|verdict| verdict.cause.as_ref()).map(Into::into),
        lines: verdict.map_or(Vec::new(), |verdict| verdict.lines.clone()),
        public_run: verdict.and_then(|verdict| verdict.public_run.clone()),
        withdrawals: entry.withdrawals.iter().map(Into::into).collect(),
    });
    let digest = |get: fn(&Verdict) -> Option<dataperf::Digest>| {
        verdict.and_then(get).map(|digest| digest.to_string())
    };
    let shown = match receipt {
        Some(receipt) => catalogue::shown(&app, &caller, receipt).await?,
        None => Shown::WHOLE,
    };
    let hosted = catalogue::benchmark(&benchmark)?;
    let challenge = catalogue::challenge(&app, &benchmark).await?;
    let is_hidden = caller.hidden_until(challenge.as_ref(), &entry.board).is_some();
    let comparison = if entry.is_shown() && !is_hidden {
        Comparison::of_row(&app.results().await, &entry.board, &entry.id).await?
    } else {
        None
    };
    let comparison = comparison.as_ref().and_then(|comparison| comparison.line(&entry));
    let whole_at = shown.whole_at.filter(|_| shown.level < Feedback::Full);
    let line = Line::from(&entry);
    let line = match receipt {
        _ if is_hidden => line.without_score(),
        Some(receipt) => line.shown(receipt, shown.level),
        None => line,
    };
    let mut withheld = verdict.map_or(Vec::new(), |verdict| verdict.withheld(shown.level, hosted));
    withheld.extend((line.is_released || is_hidden).then(|| "score".to_owned()));
    let document = OneSubmission {
        benchmark,
        line,
        finished_at: receipt.map(|receipt| receipt.finished_at.to_string()),
        dataset: digest(|verdict| verdict.dataset),
        artifact: digest(|verdict| verdict.artifact),
        evaluator: verdict.map(|verdict| verdict.evaluator.clone()),
        comparison: comparison.into(),
        metrics: verdict.map_or_else(Default::default, |verdict| {
            verdict.shown(shown.level, hosted).metrics.into_iter().collect()
        }),
        feedback: shown.level.into(),
        withheld,
        whole_at: whole_at.map(|at| at.to_string()),
        private,
    };
    Ok(wishes.json(&caller, &document))
}

/// What of a submission can be drawn: its spread, its curves, its tables.
#[utoipa::path(
    get, path = "/benchmarks/{benchmark}/submissions/{submission}/figures", operation_id = "figures",
    params(FormatQuery),
    responses((status = 200, description = "The figures, as JSON or as CSV", content(
        (Figures = "application/json"), (String = "text/csv"),
    ))),
)]
pub(super) async fn figures(
    State(app): State<App>,
    Path((benchmark, id)): Path<(String, String)>,
    caller: Caller,
    wishes: Wishes,
    Strict(query): Strict<FormatQuery>,
) -> Result<Response, Problem> {
    let submission = find_submission(&app, &benchmark, &id).await?;
    let entry = submission.entry();
    catalogue::must_see(&app, &caller, &entry, WITHOUT_SCORE).await?;
    let figures = match submission.receipt {
        Some(receipt) => {
            let shown = catalogue::shown(&app, &caller, &receipt).await?;
            let hosted = catalogue::benchmark(&benchmark)?;
            let verdict = receipt.shown(shown.level, hosted).verdict;
            dataperf::receipt::figures::Figures::from_verdict(&verdict, hosted.metrics)
        }
        None => dataperf::receipt::figures::Figures::default(),
    };
    let figures = Figures::from(figures);
    Ok(wishes.list(
        &caller,
        query.format,
        &figures,
        &FlatFigure::HEADER,
        &figures.flat(),
    ))
}
