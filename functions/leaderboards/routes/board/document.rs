//! The signed documents of a board's log.

use axum::extract::{Path, State};
use axum::response::Response;
use dataperf::board::Board;
use dataperf::board_log::{BoardDocument, MAX_DOCUMENT_BYTES};
use dataperf::ports::bucket::{Bucket, Got};

use crate::answer::Wishes;
use crate::app::App;
use crate::caller::Caller;
use crate::catalogue;
use crate::query::{DocumentQuery, Strict};
use crate::routes::rounds::must_exist;
use crate::routes::{name, round};
use dataperf_http::Problem;

/// A board as it was published: the newest document of its log, or an earlier one by its `number`. It is signed, and `dataperf verify` checks it
/// without a data set. A board is published at most once a minute.
#[utoipa::path(
    get, path = "/benchmarks/{benchmark}/leaderboards/{leaderboard}/document", operation_id = "document",
    params(DocumentQuery),
    responses((status = 200, description = "The document, as docs/verify.md describes it", body = Object)),
)]
pub(crate) async fn document(
    State(app): State<App>,
    Path((benchmark, leaderboard)): Path<(String, String)>,
    caller: Caller,
    wishes: Wishes,
    Strict(query): Strict<DocumentQuery>,
) -> Result<Response, Problem> {
    let hosted = catalogue::benchmark(&benchmark)?;
    let board = Board {
        benchmark,
        leaderboard: name("leaderboard", &leaderboard)?.to_owned(),
        round: round(query.round.as_deref())?.to_owned(),
    };
    let challenge = catalogue::challenge(&app, hosted.id).await?;
    // also for the organizer: everybody reads the same documents
    if let Some(until) = Caller::Anonymous.hidden_until(challenge.as_ref(), &board) {
        let detail = format!("this board is hidden until its round closes at {until}");
        return Err(Problem::not_found("hidden_board", "round", detail));
    }
    let table = app.table().await;
    let last = table.last_published(&board).await?;
    let Some(last) = last else {
        must_exist(&app, hosted, &board, &table).await?;
        let detail = "the board has not been published yet: ask again in some minutes";
        return Err(Problem::not_found("not_published", "round", detail));
    };
    let number = query.number.map_or(last, u64::from);
    let results = app.results().await;
    let stored = if (1..=last).contains(&number) {
        results
            .get(&BoardDocument::key(&board, number), None, MAX_DOCUMENT_BYTES)
            .await?
    } else {
        Got::Missing
    };
    let document = match stored {
        Got::Object(object) => serde_json::from_slice::<serde_json::Value>(&object.bytes).ok(),
        Got::Missing | Got::TooLarge { .. } => None,
    };
    let document = document.ok_or_else(|| {
        let detail = format!("the log of this board has the documents 1 to {last}");
        Problem::not_found("unknown_document", "number", detail)
    })?;
    Ok(wishes.json(&caller, &document))
}
