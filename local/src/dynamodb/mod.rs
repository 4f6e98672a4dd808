//! `DynamoDB`: the engine on a file, behind a front that checks signatures and can refuse writes.

mod engine;
mod sent_again;
pub(crate) mod throttle;

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use dynoxide::Database;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use crate::access::{Guard, Refused};
use crate::body::{Bodies, Unread};
use crate::config::TableSpec;
use crate::database::sqlite_file;
use crate::dynamodb::engine::Engine;
use crate::dynamodb::throttle::Throttling;
use crate::error::StartError;
use crate::faults::switches::Faults;
use crate::status::Status;

static BODIES: Bodies = Bodies::new(2);
/// The largest request, as in AWS.
const MAX_REQUEST_BYTES: usize = 16 << 20;
/// The operations that change a table.
const WRITES: [&str; 8] = [
    "PutItem",
    "UpdateItem",
    "DeleteItem",
    "BatchWriteItem",
    "TransactWriteItems",
    "ExecuteStatement",
    "ExecuteTransaction",
    "BatchExecuteStatement",
];

/// Opens the tables in `path`, which is made unless it `must_exist`, and makes the one in `spec` if it is missing.
///
/// # Errors
/// [`StartError::Lost`] when the file is missing, [`StartError::Damaged`], [`StartError::Table`].
pub(crate) fn open(path: &Path, spec: Option<&TableSpec>, must_exist: bool) -> Result<Engine, StartError> {
    if must_exist {
        // every file of tables has this one, which lists the others
        sqlite_file::check(path, "no board or submission is known", "_tables")?;
    }
    let failed = |reason: String| StartError::Table {
        path: path.to_owned(),
        reason,
    };
    let Some(name) = path.to_str() else {
        return Err(failed(
            "the path is not UTF-8; choose another with `--data-dir`".into(),
        ));
    };
    let database = Database::new(name).map_err(|error| failed(error.to_string()))?;
    if let Some(spec) = spec
        && database
            .get_table_metadata(&spec.name)
            .map_err(|error| failed(error.to_string()))?
            .is_none()
    {
        let request =
            serde_json::from_value(create_table(spec)).map_err(|error| failed(error.to_string()))?;
        database
            .create_table(request)
            .map_err(|error| failed(error.to_string()))?;
    }
    Engine::open(database, path).map_err(|error| failed(error.to_string()))
}

fn create_table(spec: &TableSpec) -> Value {
    let keys = |partition_key: &str, sort_key: &str| {
        json!([
            {"AttributeName": partition_key, "KeyType": "HASH"},
            {"AttributeName": sort_key, "KeyType": "RANGE"},
        ])
    };
    let mut attributes: Vec<&str> = vec![&spec.partition_key, &spec.sort_key];
    attributes.extend(
        spec.indexes
            .iter()
            .flat_map(|index| [&*index.partition_key, &*index.sort_key]),
    );
    attributes.sort_unstable();
    attributes.dedup();
    let definitions: Vec<Value> = attributes
        .iter()
        .map(|name| json!({"AttributeName": name, "AttributeType": "S"}))
        .collect();
    let indexes: Vec<Value> = spec
        .indexes
        .iter()
        .map(|index| {
            json!({
                "IndexName": index.name,
                "KeySchema": keys(&index.partition_key, &index.sort_key),
                "Projection": {"ProjectionType": "ALL"},
            })
        })
        .collect();
    let mut table = json!({
        "TableName": spec.name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": definitions,
        "KeySchema": keys(&spec.partition_key, &spec.sort_key),
    });
    if !indexes.is_empty() {
        table["GlobalSecondaryIndexes"] = indexes.into();
    }
    table
}

#[derive(Clone)]
struct Front {
    engine: Engine,
    faults: Arc<Faults>,
    throttling: Arc<Throttling>,
    guard: Guard,
    status: Arc<Status>,
}

/// The service: hands the engine what its caller has signed and may do.
pub(crate) fn router(
    engine: Engine,
    faults: &Arc<Faults>,
    throttling: &Arc<Throttling>,
    status: &Arc<Status>,
    guard: Guard,
) -> Router {
    Router::new().fallback(answer).with_state(Front {
        engine,
        faults: Arc::clone(faults),
        throttling: Arc::clone(throttling),
        status: Arc::clone(status),
        guard,
    })
}

async fn answer(State(front): State<Front>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let held = match BODIES.whole(body, MAX_REQUEST_BYTES).await {
        Ok(held) => held,
        Err(Unread::TooLarge) => {
            let message = format!("a request may have {MAX_REQUEST_BYTES} bytes");
            let kind = "com.amazon.coral.service#SerializationException";
            return error_response(StatusCode::PAYLOAD_TOO_LARGE, kind, &message);
        }
        Err(Unread::TooSlow) => {
            let kind = "com.amazon.coral.service#SerializationException";
            return error_response(StatusCode::REQUEST_TIMEOUT, kind, "the request is incomplete");
        }
    };
    let body = held.bytes.clone();
    if let Err(Refused { code, message, .. }) = front.guard.table(&parts, &body) {
        let kind = format!("com.amazon.coral.service#{code}");
        return error_response(StatusCode::BAD_REQUEST, &kind, &message);
    }
    let operation = operation(&parts.headers).unwrap_or_default();
    if !operation.is_empty() {
        front.status.count_operation(operation);
    }
    if front.faults.table_writes_are_refused() && WRITES.contains(&operation) {
        return refusal();
    }
    if let Some(refused) = front.throttling.refused(operation, &body) {
        return throttled(operation, &refused);
    }
    let answer = front.engine.answer(operation, body).await;
    response(answer.status, answer.body)
}

/// The operation that a request names, of `DynamoDB` or of its streams.
fn operation(headers: &HeaderMap) -> Option<&str> {
    let target = headers.get("x-amz-target")?.to_str().ok()?;
    let (service, operation) = target.split_once('.')?;
    matches!(service, "DynamoDB_20120810" | "DynamoDBStreams_20120810").then_some(operation)
}

fn refusal() -> Response {
    let error_type = "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException";
    error_response(
        StatusCode::BAD_REQUEST,
        error_type,
        "the local cloud refuses writes, because this fault is switched on",
    )
}

/// The answer to writes of which some are above what their partitions take.
fn throttled(operation: &str, refused: &[bool]) -> Response {
    if operation != "TransactWriteItems" {
        let error_type = "com.amazonaws.dynamodb.v20120810#ThrottlingException";
        return error_response(
            StatusCode::BAD_REQUEST,
            error_type,
            "a partition takes no more for now",
        );
    }
    let codes = refused
        .iter()
        .map(|&refused| if refused { "ThrottlingError" } else { "None" });
    let reasons: Vec<Value> = codes.clone().map(|code| json!({ "Code": code })).collect();
    let message = format!(
        "Transaction cancelled, please refer cancellation reasons for specific reasons [{}]",
        codes.collect::<Vec<_>>().join(", ")
    );
    let body = json!({
        "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException", "Message": message,
        "CancellationReasons": reasons,
    });
    response(StatusCode::BAD_REQUEST, body.to_string())
}

fn error_response(status: StatusCode, error_type: &str, message: &str) -> Response {
    response(
        status,
        json!({"__type": error_type, "message": message}).to_string(),
    )
}

fn response(status: StatusCode, body: String) -> Response {
    let request_id = uuid::Uuid::new_v4().to_string();
    let headers = [
        ("content-type", "application/x-amz-json-1.0"),
        ("x-amzn-requestid", &request_id),
    ];
    (status, headers, body).into_response()
}
