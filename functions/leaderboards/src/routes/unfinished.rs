//! What is unfinished.

use axum::extract::{Path, State};
use axum::response::Response;

use super::history::{HistoryLine, SubmissionsPage};
use crate::answer::Wishes;
use crate::app::App;
use crate::caller::Caller;
use crate::catalogue;
use crate::cursor::Place;
use crate::query::{Strict, UnfinishedQuery, within};
use crate::rows::Line;
use dataperf_http::Problem;

/// What has been received and not ended, oldest first. The organizer's.
#[utoipa::path(
    get, path = "/benchmarks/{benchmark}/unfinished", operation_id = "unfinished",
    params(
        ("benchmark" = String, Path, description = "The benchmark's id", example = "speech-selection"),
        UnfinishedQuery,
    ),
    responses(
        (status = 200, description = "A page of submissions, as JSON or as CSV", content(
            (SubmissionsPage = "application/json"), (String = "text/csv"),
        )),
        (status = "default", description = "A problem", body = Problem, content_type = "application/problem+json"),
    ),
    security(("token" = []))
)]
pub(super) async fn unfinished(
    State(app): State<App>,
    Path(benchmark): Path<String>,
    caller: Caller,
    wishes: Wishes,
    Strict(query): Strict<UnfinishedQuery>,
) -> Result<Response, Problem> {
    caller.must_organize()?;
    catalogue::benchmark(&benchmark)?;
    let limit = within(query.limit, 50, 200)?;
    let place = query.cursor.as_deref().map(|word| app.seal().open::<()>(word));
    let after = place.transpose()?.map(|place| place.at);
    let page = app
        .table()
        .await
        .unfinished_page(&benchmark, after.as_ref(), limit)
        .await?;
    let lines = page.lines.iter();
    let flat: Vec<Line> = lines.clone().map(Line::from).collect();
    let document = SubmissionsPage {
        benchmark,
        submissions: lines.map(|entry| HistoryLine::of(entry, None)).collect(),
        next: page.next.map(|at| app.seal().word(&Place { at, so_far: () })),
    };
    Ok(wishes.list(&caller, query.format, &document, &Line::HEADER, &flat))
}
