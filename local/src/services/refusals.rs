//! Answers of Secrets Manager and KMS to requests that are not done.

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde_json::{Value, json};

use crate::access::Refused;

/// A request that can't be done as it is.
pub(crate) fn refusal(kind: &str, message: &str) -> Response {
    (StatusCode::BAD_REQUEST, json_error(kind, message)).into_response()
}

/// A request that its caller may not make.
pub(crate) fn forbidden(refused: &Refused) -> Response {
    (refused.status, json_error(refused.code, &refused.message)).into_response()
}

fn json_error(kind: &str, message: &str) -> axum::Json<Value> {
    axum::Json(json!({ "__type": kind, "message": message }))
}
