//! Who submits to a benchmark, how much, and what is left of the limits.

use axum::extract::{Path, State};
use axum::response::Response;
use dataperf::Endings;
use dataperf::ports::leaderboard::{Entry, Leaderboards};
use dataperf_aws::NotedSubmitter;
use dataperf_hosted::is_step;
use dataperf_http::Problem;
use serde::Serialize;
use utoipa::ToSchema;

use super::quotas::{Left, Limits};
use crate::answer::Wishes;
use crate::app::App;
use crate::caller::Caller;
use crate::catalogue;
use crate::cursor::Place;
use crate::query::{Strict, SubmittersQuery, within};

/// Lines of a history that are counted.
const MAX_COUNTED: usize = 1_000;

/// A page of a benchmark's submitters.
#[derive(Serialize, ToSchema)]
struct SubmittersPage {
    /// The benchmark's id.
    benchmark: String,
    /// Who has uploaded something or was given access, nearly in the order of the names.
    submitters: Vec<SubmitterLine>,
    /// The cursor of the next page; `null` at the end.
    next: Option<String>,
}

/// A submitter.
#[derive(Serialize, ToSchema)]
struct SubmitterLine {
    #[serde(flatten)]
    counts: Counts,
    #[serde(flatten)]
    left: Left,
}

/// How a submitter's uploads have ended.
#[derive(Clone, Serialize, ToSchema)]
struct Counts {
    /// The name.
    #[schema(example = "ada")]
    submitter: String,
    /// Since when it is known: its first upload, or when access was given.
    #[schema(format = DateTime)]
    since: String,
    /// Uploads. Of more than 1,000 the newest are counted, here and below.
    n_submissions: usize,
    /// Whether there are more than those that are counted.
    is_more: bool,
    /// Uploads with a score.
    n_scored: usize,
    /// Uploads that obey the rules and are of a kind that has no score of its own.
    n_accepted: usize,
    /// Uploads that break rules.
    n_rejected: usize,
    /// Uploads that the platform failed to evaluate.
    n_failed: usize,
    /// Uploads that have not ended.
    n_unfinished: usize,
    /// Uploads that were withdrawn.
    n_withdrawn: usize,
    /// When the last one was stored; `null` where there is none.
    #[schema(format = DateTime)]
    last_upload: Option<String>,
    /// Whether one of them is a baseline.
    is_baseline: bool,
}

impl Counts {
    const HEADER: [&str; 12] = [
        "submitter",
        "since",
        "n_submissions",
        "is_more",
        "n_scored",
        "n_accepted",
        "n_rejected",
        "n_failed",
        "n_unfinished",
        "n_withdrawn",
        "last_upload",
        "is_baseline",
    ];

    fn of(noted: &NotedSubmitter, mut history: Vec<Entry>) -> Self {
        let is_more = history.len() > MAX_COUNTED;
        history.truncate(MAX_COUNTED);
        history.retain(|entry| !is_step(&entry.board));
        let endings = Endings::of(&history);
        Self {
            submitter: noted.name.to_string(),
            since: noted.since.to_string(),
            n_submissions: endings.n_submissions,
            is_more,
            n_scored: endings.n_scored,
            n_accepted: endings.n_accepted,
            n_rejected: endings.n_rejected,
            n_failed: endings.n_failed,
            n_unfinished: endings.n_unfinished,
            n_withdrawn: endings.n_withdrawn,
            last_upload: endings.last_upload.map(|at| at.to_string()),
            is_baseline: endings.is_baseline,
        }
    }
}

/// Who submits to a benchmark: how the uploads of each have ended, and what is left of the limits. The organizer's.
#[utoipa::path(
    get, path = "/benchmarks/{benchmark}/submitters", operation_id = "submitters",
    params(
        ("benchmark" = String, Path, description = "The benchmark's id", example = "speech-selection"),
        SubmittersQuery,
    ),
    responses(
        (status = 200, description = "A page of submitters, as JSON or, without what is left of the limits, as CSV", content(
            (SubmittersPage = "application/json"), (String = "text/csv"),
        )),
        (status = "default", description = "A problem", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = []))
)]
pub(super) async fn submitters(
    State(app): State<App>,
    Path(benchmark): Path<String>,
    caller: Caller,
    wishes: Wishes,
    Strict(query): Strict<SubmittersQuery>,
) -> Result<Response, Problem> {
    caller.must_organize()?;
    let facts = catalogue::benchmark(&benchmark)?;
    let limit = within(query.limit, 20, 50)?;
    let place = query.cursor.as_deref().map(|word| app.seal().open::<()>(word));
    let after = place.transpose()?.map(|place| place.at);
    let table = app.table().await;
    let page = table.submitters_page(facts.id, after.as_ref(), limit).await?;
    let limits = Limits::of(&app, facts).await?;
    let mut lines = Vec::with_capacity(page.lines.len());
    for noted in &page.lines {
        let history = table
            .history(facts.id, noted.name.as_str(), MAX_COUNTED + 1)
            .await?;
        lines.push(SubmitterLine {
            counts: Counts::of(noted, history),
            left: limits.left(&app, &noted.name).await?,
        });
    }
    let flat: Vec<Counts> = lines.iter().map(|line| line.counts.clone()).collect();
    let document = SubmittersPage {
        benchmark,
        submitters: lines,
        next: page.next.map(|at| app.seal().word(&Place { at, so_far: () })),
    };
    Ok(wishes.list(&caller, query.format, &document, &Counts::HEADER, &flat))
}
