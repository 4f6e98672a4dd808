//! Lists unfinished and failed submissions.

use axum::extract::{Path, State};
use axum::response::Response;
use dataperf::submission::Entry;
use dataperf_aws::{Cursor, Page};

use crate::answer::Wishes;
use crate::app::App;
use crate::caller::Caller;
use crate::catalogue;
use crate::cursor::{Place, Seal};
use crate::query::{Strict, UnfinishedQuery, within};
use crate::routes::submitters::history::{HistoryLine, SubmissionsPage};
use crate::rows::Line;
use dataperf_http::Problem;

/// What has been received and not ended, oldest first. The organizer's.
#[utoipa::path(
    get, path = "/benchmarks/{benchmark}/unfinished", operation_id = "unfinished",
    params(UnfinishedQuery),
    responses((status = 200, description = "A page of submissions, as JSON or as CSV", content(
        (SubmissionsPage = "application/json"), (String = "text/csv"),
    ))),
    security(("token" = []))
)]
pub(crate) async fn unfinished(
    State(app): State<App>,
    Path(benchmark): Path<String>,
    caller: Caller,
    wishes: Wishes,
    seal: Seal,
    Strict(query): Strict<UnfinishedQuery>,
) -> Result<Response, Problem> {
    let page = PageRequest::parse(&seal, &caller, &benchmark, &query)?;
    let lines = app
        .table()
        .await
        .unfinished_page(&benchmark, page.after.as_ref(), page.limit)
        .await?;
    Ok(answer(&seal, &caller, &wishes, benchmark, &query, lines))
}

/// What the platform failed to evaluate and nobody has had evaluated again, oldest first. The organizer's.
#[utoipa::path(
    get, path = "/benchmarks/{benchmark}/failed", operation_id = "failed",
    params(UnfinishedQuery),
    responses((status = 200, description = "A page of submissions, as JSON or as CSV", content(
        (SubmissionsPage = "application/json"), (String = "text/csv"),
    ))),
    security(("token" = []))
)]
pub(crate) async fn failed(
    State(app): State<App>,
    Path(benchmark): Path<String>,
    caller: Caller,
    wishes: Wishes,
    seal: Seal,
    Strict(query): Strict<UnfinishedQuery>,
) -> Result<Response, Problem> {
    let page = PageRequest::parse(&seal, &caller, &benchmark, &query)?;
    let lines = app
        .table()
        .await
        .failed_page(&benchmark, page.after.as_ref(), page.limit)
        .await?;
    Ok(answer(&seal, &caller, &wishes, benchmark, &query, lines))
}

/// The part of a list that the organizer asks for.
struct PageRequest {
    after: Option<Cursor>,
    limit: usize,
}

impl PageRequest {
    fn parse(
        seal: &Seal,
        caller: &Caller,
        benchmark: &str,
        query: &UnfinishedQuery,
    ) -> Result<Self, Problem> {
        caller.must_organize()?;
        catalogue::benchmark(benchmark)?;
        let limit = within(query.limit, 50, 200)?;
        let place = query.cursor.as_deref().map(|word| seal.open::<()>(word));
        let after = place.transpose()?.map(|place| place.at);
        Ok(Self { after, limit })
    }
}

fn answer(
    seal: &Seal,
    caller: &Caller,
    wishes: &Wishes,
    benchmark: String,
    query: &UnfinishedQuery,
    page: Page<Entry>,
) -> Response {
    let lines = page.lines.iter();
    let flat: Vec<Line> = lines.clone().map(Line::from).collect();
    let document = SubmissionsPage {
        benchmark,
        submissions: lines
            .map(|entry| HistoryLine::new(Line::from(entry), None))
            .collect(),
        next: page.next.map(|at| seal.word(&Place { at, so_far: () })),
    };
    wishes.list(caller, query.format, &document, &Line::HEADER, &flat)
}
