//! The services that are called by `POST /` with the operation's name in a header: Secrets Manager
//! and KMS.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::post;

use crate::access::Guard;
use crate::body::{Bodies, Unread};
use crate::services::kms::{self, SigningKeys};
use crate::services::refusals::refusal;
use crate::services::secrets;

static BODIES: Bodies = Bodies::new(2);
const MAX_REQUEST_BYTES: usize = 64 << 10;

struct Services {
    secrets: BTreeMap<String, String>,
    keys: SigningKeys,
    guard: Guard,
}

/// The services.
pub(crate) fn router(secrets: BTreeMap<String, String>, keys: SigningKeys, guard: Guard) -> Router {
    let services = Services { secrets, keys, guard };
    Router::new()
        .route("/", post(answer))
        .with_state(Arc::new(services))
}

async fn answer(State(services): State<Arc<Services>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let held = match BODIES.whole(body, MAX_REQUEST_BYTES).await {
        Ok(held) => held,
        Err(Unread::TooLarge) => return refusal("InvalidRequestException", "the request is too long"),
        Err(Unread::TooSlow) => {
            return refusal("InvalidRequestException", "the request is incomplete");
        }
    };
    let body = held.bytes.clone();
    let target = parts.headers.get("x-amz-target");
    let target = target.and_then(|target| target.to_str().ok()).unwrap_or_default();
    match target.split_once('.') {
        Some(("secretsmanager", "GetSecretValue")) => {
            secrets::answer(&services.secrets, &services.guard, &parts, &body)
        }
        Some(("TrentService", operation)) if kms::OPERATIONS.contains(&operation) => {
            kms::answer(&services.keys, &services.guard, operation, &parts, &body)
        }
        _ => refusal(
            "UnknownOperationException",
            &format!(
                "of Secrets Manager the local cloud has `GetSecretValue`, of KMS {}",
                kms::OPERATIONS
                    .map(|operation| format!("`{operation}`"))
                    .join(", ")
            ),
        ),
    }
}
