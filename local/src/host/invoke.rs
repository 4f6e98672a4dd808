//! Lambda's Invoke: takes an event for a function and answers before it runs, as S3 and the caretaker use it, or with what it answers.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use bytes::Bytes;
use http::StatusCode;
use serde_json::json;

use crate::access::Guard;
use crate::body::{Bodies, Unread};
use crate::host::Waiting;
use crate::queue::Queue;
use crate::queue::failure_record::FunctionError;

static BODIES: Bodies = Bodies::new(2);
/// The largest event of an asynchronous invocation, as in AWS.
const MAX_EVENT_BYTES: usize = 1 << 20;

/// The service.
pub(crate) fn router(queue: Arc<Queue>, waiting: Waiting, guard: Guard) -> Router {
    Router::new()
        .route("/2015-03-31/functions/{function}/invocations", post(invoke))
        .with_state((queue, waiting, guard))
}

async fn invoke(
    State((queue, waiting, guard)): State<(Arc<Queue>, Waiting, Guard)>,
    Path(function): Path<String>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let held = match BODIES.whole(body, MAX_EVENT_BYTES).await {
        Ok(held) => held,
        Err(Unread::TooLarge) => {
            let message = format!("an event may have {MAX_EVENT_BYTES} bytes");
            return refusal(
                StatusCode::PAYLOAD_TOO_LARGE,
                "RequestTooLargeException",
                &message,
            );
        }
        Err(Unread::TooSlow) => {
            let message = "the event is incomplete";
            return refusal(StatusCode::REQUEST_TIMEOUT, "RequestTimeoutException", message);
        }
    };
    let event = held.bytes.clone();
    // a name, or an ARN that ends in it
    let function = function.rsplit(':').next().unwrap_or_default().to_owned();
    if let Err(refused) = guard.invocation(&parts, &event, &function) {
        return refusal(refused.status, refused.code, &refused.message);
    }
    if !queue.has_function(&function) {
        let message = format!("the function `{function}` does not exist");
        return refusal(StatusCode::NOT_FOUND, "ResourceNotFoundException", &message);
    }
    let kind = parts
        .headers
        .get("x-amz-invocation-type")
        .and_then(|kind| kind.to_str().ok());
    let waits = match kind {
        Some("Event") => false,
        None | Some("RequestResponse") => true,
        Some(_) => {
            let message = "the local cloud knows the invocation types `Event` and `RequestResponse`";
            return refusal(StatusCode::BAD_REQUEST, "InvalidParameterValueException", message);
        }
    };
    let Some(event) = String::from_utf8(event.to_vec())
        .ok()
        .filter(|event| serde_json::from_str::<serde::de::IgnoredAny>(event).is_ok())
    else {
        return refusal(
            StatusCode::BAD_REQUEST,
            "InvalidRequestContentException",
            "the event is not JSON",
        );
    };
    if waits {
        return answered(waiting.invoke(&function, event).await);
    }
    match queue.invoke(function, event).await {
        Ok(request_id) => (StatusCode::ACCEPTED, [("x-amzn-requestid", request_id)]).into_response(),
        Err(error) => refusal(
            StatusCode::INTERNAL_SERVER_ERROR,
            "ServiceException",
            &error.to_string(),
        ),
    }
}

/// A function's answer to a waiting caller, or its error, in Lambda's form.
fn answered(outcome: Result<Bytes, FunctionError>) -> Response {
    let json = ("content-type", "application/json");
    match outcome {
        Ok(answer) => (StatusCode::OK, [json], answer).into_response(),
        Err(error) => {
            let headers = [json, ("x-amz-function-error", "Unhandled")];
            (StatusCode::OK, headers, error.payload.to_string()).into_response()
        }
    }
}

fn refusal(status: StatusCode, kind: &str, message: &str) -> Response {
    let body = json!({"Type": "User", "Message": message}).to_string();
    let headers = [("content-type", "application/json"), ("x-amzn-errortype", kind)];
    (status, headers, body).into_response()
}
