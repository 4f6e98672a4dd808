//! Secrets Manager: of its operations there is `GetSecretValue`.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use http::StatusCode;
use serde_json::{Value, json};

use crate::access::Guard;
use crate::config::{ACCOUNT_ID, REGION};

const MAX_REQUEST_BYTES: usize = 64 << 10;

/// A secret's ARN; AWS puts a hyphen and six characters behind the name.
pub(crate) fn secret_arn(name: &str) -> String {
    format!("arn:aws:secretsmanager:{REGION}:{ACCOUNT_ID}:secret:{name}-local0")
}

/// The service.
pub(crate) fn router(secrets: BTreeMap<String, String>, guard: Guard) -> Router {
    Router::new()
        .route("/", post(answer))
        .with_state((Arc::new(secrets), guard))
}

async fn answer(
    State((secrets, guard)): State<(Arc<BTreeMap<String, String>>, Guard)>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let target = parts.headers.get("x-amz-target");
    if target.is_none_or(|target| target != "secretsmanager.GetSecretValue") {
        return refusal(
            "UnknownOperationException",
            "the local cloud has `GetSecretValue` only",
        );
    }
    let Ok(body) = axum::body::to_bytes(body, MAX_REQUEST_BYTES).await else {
        return refusal("InvalidRequestException", "the request is too long");
    };
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    let id = asked["SecretId"].as_str().unwrap_or_default();
    // a name, or an ARN that ends in it and six characters
    let name = id.rsplit(':').next().unwrap_or_default();
    let name = name.strip_suffix("-local0").unwrap_or(name);
    if let Err(refused) = guard.secret(&parts, &body, name) {
        return (refused.status, json_error(refused.code, &refused.message)).into_response();
    }
    let Some(secret) = secrets.get(name) else {
        return refusal(
            "ResourceNotFoundException",
            "Secrets Manager can't find the specified secret.",
        );
    };
    let answer = json!({
        "ARN": secret_arn(name), "Name": name, "SecretString": secret, "VersionStages": ["AWSCURRENT"],
        "VersionId": "00000000-0000-0000-0000-000000000000", "CreatedDate": 0,
    });
    axum::Json(answer).into_response()
}

fn refusal(kind: &str, message: &str) -> Response {
    (StatusCode::BAD_REQUEST, json_error(kind, message)).into_response()
}

fn json_error(kind: &str, message: &str) -> axum::Json<Value> {
    axum::Json(json!({ "__type": kind, "message": message }))
}
