//! `DynamoDB`: `dynoxide` on a file, behind a front that can refuse writes.

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use dynoxide::Database;
use http::{StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::access::{Guard, Refused};
use crate::config::TableSpec;
use crate::error::StartError;
use crate::faults::Faults;
use crate::sqlite_file;
use crate::status::Status;

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
pub(crate) fn open(path: &Path, spec: Option<&TableSpec>, must_exist: bool) -> Result<Database, StartError> {
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
    let Some(spec) = spec else { return Ok(database) };
    if database
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
    Ok(database)
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
    client: Client<HttpConnector, Body>,
    /// `HOST:PORT` of the engine behind.
    engine: String,
    faults: Arc<Faults>,
    guard: Guard,
    status: Arc<Status>,
}

/// Serves the engine on a free port until `stop`; the service that passes requests on to it.
///
/// # Errors
/// When no port of this machine is free.
pub(crate) async fn front(
    database: Database,
    faults: &Arc<Faults>,
    status: &Arc<Status>,
    guard: Guard,
    stop: CancellationToken,
) -> std::io::Result<(Router, tokio::task::JoinHandle<()>)> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let engine = listener.local_addr()?.to_string();
    let task = tokio::spawn(async move {
        let stopped = stop.cancelled_owned();
        if let Err(error) = dynoxide::server::serve_with_shutdown(listener, database, stopped).await {
            tracing::error!(error, "the table engine stopped");
        }
    });
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client = Client::builder(hyper_util::rt::TokioExecutor::new()).build(connector);
    let router = Router::new().fallback(pass_on).with_state(Front {
        client,
        engine,
        faults: Arc::clone(faults),
        status: Arc::clone(status),
        guard,
    });
    Ok((router, task))
}

async fn pass_on(State(front): State<Front>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, MAX_REQUEST_BYTES).await else {
        let message = format!("a request may have {MAX_REQUEST_BYTES} bytes");
        let kind = "com.amazon.coral.service#SerializationException";
        return error_response(StatusCode::PAYLOAD_TOO_LARGE, kind, &message);
    };
    if let Err(Refused { code, message, .. }) = front.guard.table(&parts, &body) {
        let kind = format!("com.amazon.coral.service#{code}");
        return error_response(StatusCode::BAD_REQUEST, &kind, &message);
    }
    let mut request = Request::from_parts(parts, Body::from(body));
    if let Some(operation) = operation(&request) {
        front.status.count_operation(operation);
        if front.faults.table_writes_are_refused() && WRITES.contains(&operation) {
            return refusal();
        }
    }
    let path = request
        .uri()
        .path_and_query()
        .map_or("/", http::uri::PathAndQuery::as_str);
    match Uri::try_from(format!("http://{}{path}", front.engine)) {
        Ok(uri) => *request.uri_mut() = uri,
        Err(error) => return (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    }
    match front.client.request(request).await {
        Ok(response) => response.map(Body::new).into_response(),
        Err(error) => {
            tracing::error!(%error, "the table engine does not answer");
            error_response(
                StatusCode::INTERNAL_SERVER_ERROR,
                "com.amazonaws.dynamodb.v20120810#InternalServerError",
                &error.to_string(),
            )
        }
    }
}

/// The operation that a request names.
fn operation(request: &Request) -> Option<&str> {
    let target = request.headers().get("x-amz-target")?.to_str().ok()?;
    target.rsplit_once('.').map(|(_, operation)| operation)
}

fn refusal() -> Response {
    let error_type = "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException";
    error_response(
        StatusCode::BAD_REQUEST,
        error_type,
        "writes are refused by a fault switched on in the local cloud",
    )
}

fn error_response(status: StatusCode, error_type: &str, message: &str) -> Response {
    let body = json!({"__type": error_type, "message": message}).to_string();
    (status, [("content-type", "application/x-amz-json-1.0")], body).into_response()
}
