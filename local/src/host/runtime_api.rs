//! The Lambda Runtime API, as one process of a function sees it.
//!
//! Every process has its own address, which tells the API who asks. The address ends with a secret:
//! all users of the machine can reach its ports, and requests contain tokens.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::access::{Admission, Hosts};
use crate::ids;
use crate::lock::locked;
use crate::queue::failure_record::FunctionError;
use crate::serve::{Bounds, serve};

/// The largest answer of a function, as in AWS.
const MAX_RESPONSE_BYTES: usize = 6 << 20;

/// The channel for the outcome of an invocation.
type Answer = oneshot::Sender<Result<Bytes, FunctionError>>;

/// The work for the process.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) request_id: String,
    pub(crate) payload: String,
    pub(crate) deadline_ms: i64,
    pub(crate) function_arn: String,
    pub(crate) answer: Answer,
}

#[derive(Debug, Default)]
struct Shared {
    /// Work that the process has not taken yet.
    offered: Mutex<Option<Work>>,
    offer: Notify,
    /// The work that the process has taken and not answered.
    taken: Mutex<Option<(String, Answer)>>,
    is_ready: watch::Sender<bool>,
    init_error: Mutex<Option<FunctionError>>,
}

/// The API of one process; it ends when dropped.
#[derive(Debug)]
pub(crate) struct RuntimeApi {
    /// The address for the process, with the secret.
    pub(crate) url: String,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

impl Drop for RuntimeApi {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl RuntimeApi {
    /// Listens on a free port of this machine.
    pub(crate) async fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let secret = ids::fresh();
        let api = Router::new().nest(&format!("/{secret}"), router(Arc::clone(&shared)));
        let service = hyper_util::service::TowerToHyperService::new(api);
        let admission = Admission::programs(Hosts::new(address, &[]));
        let server = tokio::spawn(serve(
            listener.into(),
            Bounds::OF_A_PROCESS,
            admission,
            service,
            CancellationToken::new(),
        ));
        Ok(Self {
            url: format!("http://{address}/{secret}"),
            shared,
            server,
        })
    }

    /// Returns when the process has requested work for the first time.
    pub(crate) async fn ready(&self) {
        // the sender lives as long as `self`
        let _ = self
            .shared
            .is_ready
            .subscribe()
            .wait_for(|is_ready| *is_ready)
            .await;
    }

    /// Offers work to the process.
    pub(crate) fn offer(&self, work: Work) {
        *locked(&self.shared.offered) = Some(work);
        self.shared.offer.notify_one();
    }

    /// Takes back the work that the process did not take; returns whether there was any.
    pub(crate) fn withdraw(&self) -> bool {
        locked(&self.shared.offered).take().is_some()
    }

    /// The error that the process reported before it requested work.
    pub(crate) fn init_error(&self) -> Option<FunctionError> {
        locked(&self.shared.init_error).take()
    }
}

fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/2018-06-01/runtime/invocation/next", get(next))
        .route(
            "/2018-06-01/runtime/invocation/{request_id}/response",
            post(response),
        )
        .route("/2018-06-01/runtime/invocation/{request_id}/error", post(error))
        .route("/2018-06-01/runtime/init/error", post(init_error))
        .layer(DefaultBodyLimit::max(MAX_RESPONSE_BYTES))
        .with_state(shared)
}

async fn next(State(shared): State<Arc<Shared>>) -> Response {
    shared.is_ready.send_replace(true);
    let work = loop {
        let offered = locked(&shared.offered).take();
        match offered {
            Some(work) => break work,
            None => shared.offer.notified().await,
        }
    };
    let digits = work.request_id.replace('-', "");
    let trace_id = format!(
        "Root=1-{:08x}-{digits:.24};Parent={digits:.16};Sampled=0",
        work.deadline_ms / 1000
    );
    *locked(&shared.taken) = Some((work.request_id.clone(), work.answer));
    let headers = [
        ("content-type", "application/json".to_owned()),
        ("lambda-runtime-aws-request-id", work.request_id),
        ("lambda-runtime-deadline-ms", work.deadline_ms.to_string()),
        ("lambda-runtime-invoked-function-arn", work.function_arn),
        ("lambda-runtime-trace-id", trace_id),
    ];
    (headers, work.payload).into_response()
}

async fn response(
    State(shared): State<Arc<Shared>>,
    Path(request_id): Path<String>,
    body: Bytes,
) -> Response {
    let outcome = all_messages_done(&body).map(|()| body);
    answer(&shared, &request_id, outcome)
}

/// A function that reads a queue answers which messages it could not do; here a message comes alone.
fn all_messages_done(body: &[u8]) -> Result<(), FunctionError> {
    #[derive(serde::Deserialize)]
    struct Batch {
        #[serde(rename = "batchItemFailures")]
        failures: Vec<serde::de::IgnoredAny>,
    }
    match serde_json::from_slice::<Batch>(body) {
        Ok(batch) if !batch.failures.is_empty() => {
            let message = "the function failed on a message of the queue: see its log";
            Err(FunctionError::new("BatchItemFailures", message))
        }
        _ => Ok(()),
    }
}

async fn error(
    State(shared): State<Arc<Shared>>,
    Path(request_id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    answer(&shared, &request_id, Err(function_error(&headers, &body)))
}

async fn init_error(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    *locked(&shared.init_error) = Some(function_error(&headers, &body));
    accepted()
}

fn answer(shared: &Shared, request_id: &str, outcome: Result<Bytes, FunctionError>) -> Response {
    let mut taken = locked(&shared.taken);
    match taken.take() {
        Some((taken_id, answer)) if taken_id == request_id => {
            // nobody waits any more when the time is over
            let _ = answer.send(outcome);
            accepted()
        }
        other => {
            *taken = other;
            let body =
                json!({"errorType": "InvalidRequestID", "errorMessage": "the invocation is not running"});
            (StatusCode::BAD_REQUEST, body.to_string()).into_response()
        }
    }
}

fn accepted() -> Response {
    (
        StatusCode::ACCEPTED,
        [("content-type", "application/json")],
        r#"{"status":"OK"}"#,
    )
        .into_response()
}

/// The error's type from the body, or else from the header.
fn function_error(headers: &HeaderMap, body: &[u8]) -> FunctionError {
    let header = headers
        .get("lambda-runtime-function-error-type")
        .and_then(|value| value.to_str().ok());
    let payload: Value = serde_json::from_slice(body)
        .unwrap_or_else(|_| json!({"errorType": header, "errorMessage": String::from_utf8_lossy(body)}));
    let error_type = payload
        .get("errorType")
        .and_then(Value::as_str)
        .or(header)
        .unwrap_or("Unhandled")
        .to_owned();
    FunctionError { error_type, payload }
}
