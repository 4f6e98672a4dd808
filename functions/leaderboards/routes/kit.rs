//! The participants' kit of a board's data set: the one thing beside this API's answers that it leads to.

use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use dataperf::board::Board;
use dataperf::dataset::kit_key;

use super::rounds::must_exist;
use super::{name, round};
use crate::app::App;
use crate::caller::Caller;
use crate::catalogue;
use crate::query::{KitQuery, Strict};
use dataperf_http::Problem;

/// The validity of the address; a running download continues after it.
const VALID: Duration = Duration::from_mins(5);

/// The participants' kit of the data set that uploads to a board are scored with: the rules, what participants may have of the data, a
/// valid artifact and a program to begin with. It leads to an address that is good for five minutes.
#[utoipa::path(
    get, path = "/benchmarks/{benchmark}/leaderboards/{leaderboard}/kit", operation_id = "kit",
    params(KitQuery),
    responses(
        (status = 302, description = "Where the kit is, for five minutes", headers(
            ("location" = String, description = "The address of a zip archive"),
        )),
        (status = 200, description = "The zip archive, for a client that follows", body = Vec<u8>, content_type = "application/zip"),
    ),
)]
pub(super) async fn kit(
    State(app): State<App>,
    Path((benchmark, leaderboard)): Path<(String, String)>,
    _: Caller,
    headers: HeaderMap,
    Strict(query): Strict<KitQuery>,
) -> Result<Response, Problem> {
    let facts = catalogue::benchmark(&benchmark)?;
    let board = Board {
        leaderboard: name("leaderboard", &leaderboard)?.to_owned(),
        round: round(query.round.as_deref())?.to_owned(),
        benchmark,
    };
    let challenge = catalogue::challenge(&app, facts.id).await?;
    let boards = catalogue::boards(&app, facts, challenge.as_ref()).await?;
    must_exist(&app, facts, &board, &app.table().await).await?;
    let dataset = catalogue::kit(&app, facts, &boards, challenge.as_ref(), &board).await?;
    let dataset = dataset.ok_or_else(|| {
        let detail = "no participants' kit is published for this leaderboard: `dataperf dataset publish` stores one with a data set";
        Problem::not_found("no_kit", "leaderboard", detail)
    })?;
    // The caller controls no part of the key: the benchmark comes from the list, and the digest
    // from a data set that scores the board.
    let key = kit_key(facts.id, dataset);
    let endpoint = app.local_s3(&headers);
    let file = format!("{}-kit.zip", facts.id);
    let datasets = app.datasets().await;
    let address = datasets.link(&key, VALID, &file, endpoint.as_deref()).await?;
    let location = HeaderValue::from_str(&address)
        .map_err(|_| Problem::not_found("no_kit", "leaderboard", "the kit's address can't be written"))?;
    let headers = [
        (header::LOCATION, location),
        // anybody who has it may use it until it expires
        (
            header::CACHE_CONTROL,
            HeaderValue::from_static("private, no-store"),
        ),
    ];
    Ok((StatusCode::FOUND, headers).into_response())
}
