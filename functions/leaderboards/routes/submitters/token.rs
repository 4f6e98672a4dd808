//! The holder of the token that is sent.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use dataperf_aws::Holder;
use dataperf_hosted::HOSTED;
use dataperf_http::{Problem, token as sent};
use serde::Serialize;
use utoipa::ToSchema;

use crate::answer::Wishes;
use crate::app::App;
use crate::caller::Caller;
use crate::query::{NoQuery, Strict};

/// A token, as the table knows it.
#[derive(Serialize, ToSchema)]
struct OneToken {
    /// `organizer` or `submitter`.
    role: &'static str,
    /// Whose it is; `null` for the organizer's.
    submitter: Option<String>,
    /// The benchmarks that its holder may upload to; all if empty.
    benchmarks: Vec<String>,
    /// The collections in which its holder is a rater: their ids.
    is_rater: Vec<String>,
    /// The time from which it is no longer valid.
    #[schema(format = DateTime)]
    expires_at: String,
}

/// Whose token is sent, and until when it is valid.
#[utoipa::path(
    get, path = "/token", operation_id = "token",
    responses((status = 200, description = "The token", body = OneToken)),
    security(("token" = []))
)]
pub(crate) async fn token(
    State(app): State<App>,
    headers: HeaderMap,
    wishes: Wishes,
    _: Strict<NoQuery>,
) -> Result<Response, Problem> {
    let issued = sent(&headers, &app.table().await).await?.ok_or_else(|| {
        Problem::no_token("this returns the owner of a token: send `Authorization: Bearer TOKEN`")
    })?;
    let mut is_rater = Vec::new();
    if let Holder::Submitter(name) = &issued.holder {
        for facts in HOSTED.iter().filter(|facts| facts.collects.is_some()) {
            if app.table().await.is_rater(facts.id, name.as_str()).await? {
                is_rater.push(facts.id.to_owned());
            }
        }
    }
    let document = OneToken {
        benchmarks: issued.benchmarks,
        is_rater,
        role: issued.holder.role(),
        submitter: match &issued.holder {
            Holder::Organizer => None,
            Holder::Submitter(name) => Some(name.to_string()),
        },
        expires_at: issued.expires_at.to_string(),
    };
    Ok(wishes.json(&Caller::Known(issued.holder), &document))
}
