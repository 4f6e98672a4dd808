//! The public keys that receipts are signed with.

use axum::extract::State;
use axum::response::Response;
use dataperf::ports::bucket::{Bucket, Got};
use dataperf::signature::Keys;

use crate::answer::Wishes;
use crate::app::App;
use crate::caller::Caller;
use crate::query::{NoQuery, Strict};
use dataperf_http::Problem;

const MAX_KEYS_BYTES: u64 = 1 << 20;

/// The public keys that receipts are signed with, for `dataperf verify --keys`: those in use and all that ever were.
#[utoipa::path(
    get, path = "/keys", operation_id = "keys",
    responses((status = 200, description = "The keys, as docs/wire-formats.md describes them", body = Object)),
)]
pub(super) async fn keys(
    State(app): State<App>,
    caller: Caller,
    wishes: Wishes,
    _: Strict<NoQuery>,
) -> Result<Response, Problem> {
    let datasets = app.datasets().await;
    let keys: Option<Keys> = match datasets.get(Keys::OBJECT_KEY, None, MAX_KEYS_BYTES).await? {
        Got::Object(object) => serde_json::from_slice(&object.bytes).ok(),
        Got::Missing | Got::TooLarge { .. } => None,
    };
    let keys = keys.ok_or_else(|| {
        let detail = "no keys are published: the organizer publishes them with `dataperf keys publish`";
        Problem::not_found("no_keys", "path", detail)
    })?;
    Ok(wishes.json(&caller, &keys))
}
