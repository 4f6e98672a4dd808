//! A function behind HTTP: requests become API Gateway's events, in the form of its HTTP APIs (payload 2.0).

use std::collections::BTreeMap;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arns::ACCOUNT_ID;
use crate::body::{Bodies, Unread};
use crate::database::now_ms;
use crate::host::Synchronous;

/// A byte of a request counts as 14: it may take six in JSON, and the event is in memory twice.
static BODIES: Bodies = Bodies::new(14);
/// The largest request that API Gateway hands on, in the base64 that a function receives.
const MAX_REQUEST_BYTES: usize = 6 << 20;

/// A function's answer.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    status_code: u16,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    multi_value_headers: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    is_base64_encoded: bool,
}

/// Answers every request with the function.
pub(crate) fn router(function: Synchronous) -> Router {
    Router::new().fallback(answer).with_state(function)
}

async fn answer(State(function): State<Synchronous>, request: Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    let held = match BODIES.whole(body, MAX_REQUEST_BYTES).await {
        Ok(held) => held,
        Err(Unread::TooLarge) => return message(StatusCode::PAYLOAD_TOO_LARGE, "Request Entity Too Large"),
        Err(Unread::TooSlow) => return message(StatusCode::REQUEST_TIMEOUT, "Request Timeout"),
    };
    let event = event(&parts, &held.bytes).to_string();
    // also when the caller goes away, the event is there until the function has ended
    let answered = match function.invoke_holding(event, held).await {
        Ok(answered) => answered,
        Err(error) => {
            tracing::error!(error_type = error.error_type, payload = %error.payload, "the function failed");
            return message(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error");
        }
    };
    match serde_json::from_slice::<Answer>(&answered)
        .ok()
        .and_then(response)
    {
        Some(response) => response,
        None => message(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error"),
    }
}

/// API Gateway's own answers.
fn message(status: StatusCode, message: &str) -> Response {
    let body = json!({ "message": message }).to_string();
    (status, [("content-type", "application/json")], body).into_response()
}

fn event(parts: &http::request::Parts, body: &Bytes) -> Value {
    let headers = joined(&parts.headers);
    let text = |name: &str| headers.get(name).cloned().unwrap_or_default();
    let (body, is_base64) = match std::str::from_utf8(body) {
        Ok("") => (Value::Null, false),
        Ok(text) => (Value::from(text), false),
        Err(_) => (Value::from(STANDARD.encode(body)), true),
    };
    json!({
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": decoded(parts.uri.path()),
        "rawQueryString": parts.uri.query().unwrap_or_default(),
        "headers": headers,
        "requestContext": {
            "accountId": ACCOUNT_ID, "apiId": "local", "domainName": text("host"), "domainPrefix": "local",
            "http": {
                "method": parts.method.as_str(), "path": decoded(parts.uri.path()), "protocol": "HTTP/1.1",
                "sourceIp": "127.0.0.1", "userAgent": text("user-agent"),
            },
            "requestId": uuid::Uuid::new_v4().to_string(), "routeKey": "$default", "stage": "$default",
            "timeEpoch": now_ms(),
        },
        "body": body,
        "isBase64Encoded": is_base64,
    })
}

/// Headers of one name in one line, as in an HTTP API's event; the connection is plain here.
fn joined(headers: &HeaderMap) -> BTreeMap<String, String> {
    let mut joined: BTreeMap<String, String> = BTreeMap::from([("x-forwarded-proto".into(), "http".into())]);
    for name in headers.keys() {
        let values: Vec<String> = headers
            .get_all(name)
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect();
        joined.insert(name.as_str().to_owned(), values.join(","));
    }
    joined
}

/// HTTP APIs decode the path before the function sees it, and lose what follows a `?` in it: free names do not
/// belong in paths.
fn decoded(path: &str) -> String {
    let decoded = percent_encoding::percent_decode_str(path).decode_utf8_lossy();
    decoded.split('?').next().unwrap_or_default().to_owned()
}

fn response(answer: Answer) -> Option<Response> {
    let body = match (answer.body, answer.is_base64_encoded) {
        (None, _) => Vec::new(),
        (Some(body), false) => body.into_bytes(),
        (Some(body), true) => STANDARD.decode(body).ok()?,
    };
    let mut response = (StatusCode::from_u16(answer.status_code).ok()?, body).into_response();
    let headers = response.headers_mut();
    headers.clear();
    let single = answer
        .headers
        .into_iter()
        .map(|(name, value)| (name, vec![value]));
    for (name, values) in single.chain(answer.multi_value_headers) {
        let name = HeaderName::try_from(name).ok()?;
        headers.remove(&name);
        for value in values {
            headers.append(name.clone(), HeaderValue::try_from(value).ok()?);
        }
    }
    Some(response)
}
