//! Secrets Manager: of its operations there is `GetSecretValue`.

use std::collections::BTreeMap;

use axum::response::{IntoResponse, Response};
use http::request::Parts;
use serde_json::{Value, json};

use crate::access::Guard;
use crate::arns::secret_arn;
use crate::services::refusals::{forbidden, refusal};

/// The answer to `GetSecretValue`.
pub(crate) fn answer(
    secrets: &BTreeMap<String, String>,
    guard: &Guard,
    parts: &Parts,
    body: &[u8],
) -> Response {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let id = value["SecretId"].as_str().unwrap_or_default();
    // a name, or an ARN that ends in it and six characters
    let name = id.rsplit(':').next().unwrap_or_default();
    let name = name.strip_suffix("-local0").unwrap_or(name);
    if let Err(refused) = guard.secret(parts, body, name) {
        return forbidden(&refused);
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
