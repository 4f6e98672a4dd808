//! The records of invocations that failed for good, in the form of Lambda's destinations.

use std::path::Path;

use serde_json::{Value, json};

use crate::arns::{ACCOUNT_ID, REGION, function_arn};
use crate::database::now_ms;
use crate::error::DatabaseError;
use crate::queue::events::timestamp;

/// How an attempt failed, as the function's caller would see it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FunctionError {
    pub(crate) error_type: String,
    /// The error's JSON: `errorType`, `errorMessage` and what else the function adds.
    pub(crate) payload: Value,
}

impl FunctionError {
    pub(crate) fn new(error_type: &str, message: &str) -> Self {
        let payload = json!({"errorType": error_type, "errorMessage": message});
        Self {
            error_type: error_type.to_owned(),
            payload,
        }
    }
}

/// An invocation that failed for good.
#[derive(Clone, Debug, PartialEq)]
pub struct OnFailureRecord {
    /// The invocation's id.
    pub request_id: String,
    /// The function's name.
    pub function: String,
    /// The record in the form of Lambda's destinations, with the event and the last error.
    pub record: Value,
}

/// The record of an invocation whose last attempt ended in `error`.
pub(crate) fn failure_record(
    request_id: &str,
    function: &str,
    payload: &str,
    n_attempts: usize,
    error: &FunctionError,
) -> Value {
    json!({
        "version": "1.0",
        "timestamp": timestamp(now_ms()),
        "requestContext": {
            "requestId": request_id,
            "functionArn": format!("{}:$LATEST", function_arn(function)),
            "condition": "RetriesExhausted",
            "approximateInvokeCount": n_attempts,
        },
        "requestPayload": serde_json::from_str(payload).unwrap_or_else(|_| Value::String(payload.to_owned())),
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
        "responsePayload": error.payload,
    })
}

/// Distinguishes a queue's message from other events.
pub(crate) const MESSAGE_SOURCE: &str = r#""eventSource":"aws:sqs""#;

/// The event that brings a record from the failures queue to the function that reads it, in the form of SQS.
pub(crate) fn queue_message(request_id: &str, record: &Value) -> Value {
    json!({"Records": [{
        "messageId": request_id,
        "receiptHandle": "local",
        "body": record.to_string(),
        "attributes": {"ApproximateReceiveCount": "1"},
        "messageAttributes": {},
        "eventSource": "aws:sqs",
        "eventSourceARN": format!("arn:aws:sqs:{REGION}:{ACCOUNT_ID}:failures"),
        "awsRegion": REGION,
    }]})
}

/// Writes the record's file, whole or not at all.
pub(crate) fn write_record(dir: &Path, request_id: &str, record: &Value) -> Result<(), DatabaseError> {
    let path = dir.join(format!("{request_id}.json"));
    let failed = |source| DatabaseError::File {
        path: path.clone(),
        source,
    };
    std::fs::create_dir_all(dir).map_err(failed)?;
    let partial = path.with_extension("partial");
    std::fs::write(&partial, format!("{record:#}\n")).map_err(failed)?;
    std::fs::rename(&partial, &path).map_err(failed)
}
