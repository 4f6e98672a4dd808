//! KMS, as far as signing needs it: keys of ECDSA on P-256, aliases for them, and `Sign`.

mod store;

use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use http::request::Parts;
use serde_json::{Value, json};

pub(crate) use self::store::SigningKeys;
use crate::access::Guard;
use crate::arns::{ACCOUNT_ID, REGION};
use crate::services::refusals::{forbidden, refusal};

/// The contents of KMS.
pub(crate) const OPERATIONS: [&str; 4] = ["CreateKey", "GetPublicKey", "Sign", "UpdateAlias"];
const ALGORITHM: &str = "ECDSA_SHA_256";
const SPEC: &str = "ECC_NIST_P256";
/// The longest message that KMS hashes itself.
const MAX_MESSAGE_BYTES: usize = 4096;

/// The ARN of a key, or of another resource of KMS.
fn arn(path: &str) -> String {
    format!("arn:aws:kms:{REGION}:{ACCOUNT_ID}:{path}")
}

/// The answer to one of [`OPERATIONS`].
pub(crate) fn answer(
    keys: &SigningKeys,
    guard: &Guard,
    operation: &str,
    parts: &Parts,
    body: &[u8],
) -> Response {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = |member: &str| value[member].as_str().unwrap_or_default();
    let named = match operation {
        "CreateKey" => "",
        "UpdateAlias" => text("TargetKeyId"),
        _ => text("KeyId"),
    };
    // an id, an alias, or an ARN that ends in one of them
    let name = named.strip_prefix(&arn("")).unwrap_or(named);
    let alias = name.starts_with("alias/").then_some(name);
    let id = keys.resolve(name);
    let resource = arn(&format!("key/{}", id.as_deref().unwrap_or("*")));
    let action = format!("kms:{operation}");
    if let Err(refused) = guard.key(parts, body, &action, &resource, alias) {
        return forbidden(&refused);
    }
    if operation == "CreateKey" {
        return create(keys, text("KeySpec"), text("KeyUsage"));
    }
    let Some(id) = id else {
        return refusal("NotFoundException", &format!("the key `{named}` does not exist"));
    };
    match operation {
        "UpdateAlias" => {
            let alias = text("AliasName");
            if keys.resolve(alias).is_none() {
                return refusal("NotFoundException", &format!("the alias `{alias}` does not exist"));
            }
            kept(keys.point(alias, &id), |()| StatusCode::OK.into_response())
        }
        "GetPublicKey" => axum::Json(json!({
            "KeyId": arn(&format!("key/{id}")), "PublicKey": STANDARD.encode(keys.public_key(&id)), "KeySpec": SPEC,
            "KeyUsage": "SIGN_VERIFY", "SigningAlgorithms": [ALGORITHM],
        }))
        .into_response(),
        _ => sign(keys, &id, &value),
    }
}

fn create(keys: &SigningKeys, spec: &str, usage: &str) -> Response {
    if (spec, usage) != (SPEC, "SIGN_VERIFY") {
        let message =
            format!("the local cloud makes keys of the spec `{SPEC}` and the usage `SIGN_VERIFY` only");
        return refusal("UnsupportedOperationException", &message);
    }
    kept(keys.create(), |id| {
        axum::Json(json!({ "KeyMetadata": {
            "KeyId": id, "Arn": arn(&format!("key/{id}")), "KeySpec": spec, "KeyUsage": usage, "Enabled": true,
        } }))
        .into_response()
    })
}

fn sign(keys: &SigningKeys, id: &str, value: &Value) -> Response {
    let message = value["Message"]
        .as_str()
        .and_then(|text| STANDARD.decode(text).ok());
    let message = message.filter(|message| (1..=MAX_MESSAGE_BYTES).contains(&message.len()));
    let is_ours =
        value["SigningAlgorithm"] == ALGORITHM && value["MessageType"].as_str().unwrap_or("RAW") == "RAW";
    let (Some(message), true) = (message, is_ours) else {
        let message = format!(
            "the local cloud signs with `{ALGORITHM}`, messages of the type `RAW` with 1 to {MAX_MESSAGE_BYTES} bytes in base64"
        );
        return refusal("ValidationException", &message);
    };
    match keys.sign(id, &message) {
        Some(signature) => axum::Json(json!({
            "KeyId": arn(&format!("key/{id}")), "Signature": STANDARD.encode(signature), "SigningAlgorithm": ALGORITHM,
        }))
        .into_response(),
        None => internal("the key can't sign"),
    }
}

/// The answer to a request that stores something; an error if that failed.
fn kept<T>(kept: std::io::Result<T>, answer: impl FnOnce(T) -> Response) -> Response {
    kept.map_or_else(|error| internal(&error.to_string()), answer)
}

fn internal(message: &str) -> Response {
    let error = json!({ "__type": "KMSInternalException", "message": message });
    (StatusCode::INTERNAL_SERVER_ERROR, axum::Json(error)).into_response()
}
