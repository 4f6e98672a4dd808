//! A submitter's history.

use axum::extract::{Path, State};
use axum::response::Response;
use dataperf::SubmitterName;
use serde::Serialize;
use utoipa::ToSchema;

use crate::answer::Wishes;
use crate::app::App;
use crate::caller::Caller;
use crate::catalogue;
use crate::cursor::Place;
use crate::problem::Problem;
use crate::query::{HistoryQuery, Strict, within};
use crate::rows::Line;

/// A page of submissions.
#[derive(Serialize, ToSchema)]
pub(super) struct SubmissionsPage {
    /// The benchmark's id.
    pub(super) benchmark: String,
    /// The submissions.
    pub(super) submissions: Vec<Line>,
    /// The cursor of the next page; `null` at the end.
    pub(super) next: Option<String>,
}

/// A submitter's submissions, newest first: those with a score, and all of them for the submitter and the organizer. A page may
/// have fewer lines than `limit`, even none, and a `next`.
#[utoipa::path(
    get, path = "/benchmarks/{benchmark}/submissions", operation_id = "history",
    params(
        ("benchmark" = String, Path, description = "The benchmark's id", example = "speech-selection"),
        HistoryQuery,
    ),
    responses(
        (status = 200, description = "A page of the history, as JSON or as CSV", content(
            (SubmissionsPage = "application/json"), (String = "text/csv"),
        )),
        (status = "default", description = "A problem", body = Problem, content_type = "application/problem+json"),
    ),
    security((), ("token" = []))
)]
pub(super) async fn history(
    State(app): State<App>,
    Path(benchmark): Path<String>,
    caller: Caller,
    wishes: Wishes,
    Strict(query): Strict<HistoryQuery>,
) -> Result<Response, Problem> {
    catalogue::benchmark(&benchmark)?;
    let submitter = query.submitter.parse::<SubmitterName>();
    let submitter =
        submitter.map_err(|error| Problem::not_found("unusable_name", "submitter", error.to_string()))?;
    let limit = within(query.limit, 50, 200)?;
    let place = query.cursor.as_deref().map(|word| app.seal().open::<()>(word));
    let after = place.transpose()?.map(|place| place.at);
    let table = app.table().await;
    let page = table
        .history_page(&benchmark, submitter.as_str(), after.as_ref(), limit)
        .await?;
    let challenge = catalogue::challenge(&app, &benchmark).await?;
    let seen = page
        .lines
        .iter()
        .filter(|entry| caller.sees(entry, challenge.as_ref()));
    let document = SubmissionsPage {
        benchmark,
        submissions: seen.map(Line::from).collect(),
        next: page.next.map(|at| app.seal().word(&Place { at, so_far: () })),
    };
    Ok(wishes.list(
        &caller,
        query.format,
        &document,
        &Line::HEADER,
        &document.submissions,
    ))
}
