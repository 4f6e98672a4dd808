//! The record Lambda keeps of an event that it has given up, as it arrives in the failures queue.

use dataperf::Upload;
use dataperf::evaluation::failure_judge::{Cause, FaultKind};
use serde::Deserialize;
use serde_json::Value;

use super::fault::Fault;
use super::s3_event::uploads;

/// An event whose evaluation failed for good.
#[derive(Debug, Clone, PartialEq)]
pub struct GivenUp {
    /// The invocation's id, by which the logs are searched.
    pub request_id: String,
    /// Who has to act.
    pub cause: Cause,
    /// The last error, for the organizer.
    pub error: String,
    /// Whether its turn came after what the event permitted had expired: a new event may do better.
    pub is_expired: bool,
    /// The event's upload.
    pub uploads: Vec<Upload>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    request_context: Context,
    request_payload: Value,
    #[serde(default)]
    response_payload: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Context {
    request_id: String,
    #[serde(default)]
    condition: String,
}

/// Reads a record of the form that Lambda's destinations have.
///
/// # Errors
/// [`Fault`] when it is no such record, or the event in it is not S3's.
pub fn given_up(record: &str) -> Result<GivenUp, Fault> {
    let record: Record = serde_json::from_str(record)
        .map_err(|error| Fault::event(format!("not a record of Lambda's destinations: {error}")))?;
    let field = |name| {
        record
            .response_payload
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (error_type, message) = (field("errorType"), field("errorMessage"));
    Ok(GivenUp {
        request_id: record.request_context.request_id,
        cause: cause(&record.request_context.condition, error_type, message),
        error: format!("{error_type}: {message}"),
        is_expired: error_type.parse() == Ok(FaultKind::Expired),
        uploads: if of_a_board(&record.request_payload) || is_scheduled(&record.request_payload) {
            Vec::new() // nobody's submission: it is asked for again at its time
        } else {
            uploads(&record.request_payload)?
        },
    })
}

/// Whether an event asks for something about a whole board.
fn of_a_board(event: &Value) -> bool {
    ["compare", "finish"].iter().any(|name| event.get(name).is_some())
}

/// Whether an event is one of the caretaker's schedules. One at which the caretaker itself has failed comes here when it is handed over again.
fn is_scheduled(event: &Value) -> bool {
    let source = event.get("source").and_then(Value::as_str);
    matches!(source, Some("aws.events" | "aws.scheduler"))
}

/// Lambda's error type for an invocation that took too long.
const TIMED_OUT: &str = "Sandbox.Timedout";

/// Lambda's error types for an invocation whose process ended, possibly because of an artifact.
const PROCESS_ENDED: [&str; 2] = ["Runtime.ExitError", "Runtime.OutOfMemory"];

/// Why an upload was given up. Lambda's own errors are known by their type, its older ones by their message only.
fn cause(condition: &str, error_type: &str, message: &str) -> Cause {
    if condition == "EventAgeExceeded" {
        return Cause::Overloaded;
    }
    if let Ok(fault) = error_type.parse::<FaultKind>() {
        return fault.cause();
    }
    if error_type == TIMED_OUT || message.contains("Task timed out") {
        Cause::TimeLimit
    } else if PROCESS_ENDED.contains(&error_type) {
        Cause::Crashed
    } else {
        Cause::Defect // such as a function that can't be started
    }
}

#[cfg(test)]
mod tests {
    use dataperf::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::events::s3_event::announcement;

    #[test]
    fn caretaker_failures_belong_to_no_submission() {
        for event in [
            json!({ "source": "aws.events", "task": "compare" }),
            json!({ "source": "aws.scheduler" }),
            json!({ "finish": {} }),
        ] {
            let record = json!({
                "requestContext": { "requestId": "r-1", "functionArn": "arn", "condition": "RetriesExhausted" },
                "requestPayload": event, "responsePayload": { "errorMessage": "x" },
            });
            let given_up = given_up(&record.to_string()).expect("a record");
            assert_eq!(given_up.uploads, []);
        }
    }

    fn record(condition: &str, error: &Value) -> (Upload, String) {
        let upload = Upload {
            bucket: "submissions".into(),
            key: "speech-selection/en-25/ada/first try.json".into(),
            version: Some("v".into()),
            e_tag: None,
            received_at: Timestamp::from_unix_millis(1_772_366_400_250),
        };
        let record = json!({
            "version": "1.0", "timestamp": "2026-03-01T12:10:00.250Z",
            "requestContext": {"requestId": "r-1", "functionArn": "arn", "condition": condition, "approximateInvokeCount": 3},
            "requestPayload": announcement(&upload),
            "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
            "responsePayload": error,
        });
        (upload, record.to_string())
    }

    #[test]
    fn each_kind_of_error_has_its_cause() {
        let exhausted = "RetriesExhausted";
        let cases = [
            (exhausted, "OrganizerFault", "no data set", Cause::Organizer),
            (exhausted, "Transient", "throttled", Cause::Unavailable),
            (exhausted, "ProviderFault", "503", Cause::Provider),
            (exhausted, "Panic", "index out of bounds", Cause::Defect),
            (
                exhausted,
                "Sandbox.Timedout",
                "RequestId: r Error: Task timed out after 60.00 seconds",
                Cause::TimeLimit,
            ),
            (
                exhausted,
                "",
                "2026-03-01T12:10:00.250Z r Task timed out after 60.00 seconds",
                Cause::TimeLimit,
            ),
            (
                exhausted,
                "Runtime.ExitError",
                "RequestId: r Error: Runtime exited with error: signal: killed",
                Cause::Crashed,
            ),
            ("EventAgeExceeded", "", "", Cause::Overloaded),
        ];
        for (condition, error_type, message, cause) in cases {
            let (upload, record) = record(
                condition,
                &json!({"errorType": error_type, "errorMessage": message}),
            );
            let read = given_up(&record).expect("a record");
            assert_eq!(
                (read.cause, read.request_id.as_str()),
                (cause, "r-1"),
                "{error_type} {message}"
            );
            assert_eq!(read.uploads, [upload]);
            assert!(read.error.contains(message));
        }
    }

    #[test]
    fn a_never_executed_event_has_no_response() {
        let (upload, text) = record("EventAgeExceeded", &Value::Null);
        assert_eq!(given_up(&text).expect("a record").uploads, [upload]);
        let mut record: Value = serde_json::from_str(&text).expect("JSON");
        record
            .as_object_mut()
            .expect("an object")
            .remove("responsePayload");
        assert_eq!(
            given_up(&record.to_string()).expect("a record").cause,
            Cause::Overloaded
        );
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "{}",
            "[]",
            "null",
            r#"{"requestContext": {"requestId": "r"}, "requestPayload": {}}"#,
        ] {
            assert!(given_up(text).is_err(), "{text}");
        }
    }
}
