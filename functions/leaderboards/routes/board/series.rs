//! A board over time.

use axum::extract::{Path, State};
use axum::response::Response;
use dataperf::board::Board;
use dataperf_aws::Page;
use serde::Serialize;
use utoipa::ToSchema;

use crate::answer::Wishes;
use crate::app::App;
use crate::caller::Caller;
use crate::catalogue;
use crate::cursor::{Place, Seal};
use crate::query::{SeriesQuery, Strict, within};
use crate::routes::rounds::must_exist;
use crate::routes::{name, round};
use crate::rows::Point;
use dataperf_http::Problem;

/// A page of a series.
#[derive(Serialize, ToSchema)]
struct SeriesPage {
    /// The benchmark's id.
    benchmark: String,
    /// The leaderboard.
    leaderboard: String,
    /// The round.
    round: String,
    /// Until when its points are shown to the organizer only; `null` where the board is not hidden from the caller.
    #[schema(format = DateTime)]
    hidden_until: Option<String>,
    /// The scored submissions, oldest first.
    points: Vec<Point>,
    /// The cursor of the next page; `null` at the end.
    next: Option<String>,
}

/// A board's scores over time, oldest first, each with the best so far.
#[utoipa::path(
    get, path = "/benchmarks/{benchmark}/leaderboards/{leaderboard}/series", operation_id = "series",
    params(SeriesQuery),
    responses((status = 200, description = "A page of the series, as JSON or as CSV", content(
        (SeriesPage = "application/json"), (String = "text/csv"),
    ))),
)]
pub(crate) async fn series(
    State(app): State<App>,
    Path((benchmark, leaderboard)): Path<(String, String)>,
    caller: Caller,
    wishes: Wishes,
    seal: Seal,
    Strict(query): Strict<SeriesQuery>,
) -> Result<Response, Problem> {
    let facts = catalogue::benchmark(&benchmark)?;
    let board = Board {
        benchmark,
        leaderboard: name("leaderboard", &leaderboard)?.to_owned(),
        round: round(query.round.as_deref())?.to_owned(),
    };
    let limit = within(query.limit, 500, 1000)?;
    let place = query
        .cursor
        .as_deref()
        .map(|word| seal.open::<Option<f64>>(word))
        .transpose()?;
    let (after, mut best) = place.map_or((None, None), |place| (Some(place.at), place.so_far));
    let table = app.table().await;
    let challenge = catalogue::challenge(&app, facts.id).await?;
    let hidden = caller.hidden_until(challenge.as_ref(), &board);
    let page = match hidden {
        None => table.series_page(&board, after.as_ref(), limit).await?,
        Some(_) => Page::empty(),
    };
    if page.lines.is_empty() && after.is_none() {
        must_exist(&app, facts, &board, &table).await?;
    }
    let challenge = catalogue::challenge(&app, facts.id).await?;
    let boards = catalogue::boards(&app, facts, challenge.as_ref()).await?;
    let scored_with = catalogue::scored_with(&table, facts, &boards, challenge.as_ref(), &board).await?;
    let points = page
        .lines
        .iter()
        .filter_map(|entry| Point::from_entry(entry, facts.direction, scored_with, &mut best))
        .collect();
    let document = SeriesPage {
        benchmark: board.benchmark,
        leaderboard: board.leaderboard,
        round: board.round,
        hidden_until: hidden.map(|until| until.to_string()),
        points,
        next: page.next.map(|at| seal.word(&Place { at, so_far: best })),
    };
    Ok(wishes.list(&caller, query.format, &document, &Point::HEADER, &document.points))
}
