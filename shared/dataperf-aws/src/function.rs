//! The Lambda function around a benchmark: a function crate is a call of [`run`].

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use dataperf::challenge::Challenge;
use dataperf::dataset::{Dataset, DatasetError, Integrity, dataset_prefix};
use dataperf::pipeline::{Delivered, Outlets, PipelineError, Sources, deliver};
use dataperf::rescoring::{Request, Rescored, rescore};
use dataperf::{Benchmark, Digest, Receipt, Timestamp, Upload};
use futures_util::FutureExt;
use lambda_runtime::{LambdaEvent, service_fn};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::fault::{Fault, with_causes};
use crate::{Clients, DynamoLeaderboards, S3Bucket, uploads};

/// The names of the table and the buckets: everything in which one deployment differs from another.
struct Names {
    table: String,
    datasets: String,
    results: String,
}

impl Names {
    fn from_environment() -> Result<Self, lambda_runtime::Error> {
        let read = |name: &str| {
            std::env::var(name).map_err(|_| format!("the environment variable `{name}` is not set"))
        };
        Ok(Self {
            table: read("DATAPERF_TABLE")?,
            datasets: read("DATAPERF_DATASETS_BUCKET")?,
            results: read("DATAPERF_RESULTS_BUCKET")?,
        })
    }
}

/// What is kept between invocations.
struct Warm<B: Benchmark> {
    names: Names,
    /// Made with the first event, not at the start: a cold start should be ready for it at once.
    clients: OnceCell<Clients>,
    dataset: Mutex<Option<Arc<Dataset<B, S3Bucket>>>>,
}

/// Runs a benchmark's function until the host ends it: for each upload an event announces, one verdict.
///
/// # Errors
/// When the environment lacks a variable, or the runtime's host is gone.
pub async fn run<B: Benchmark>() -> Result<(), lambda_runtime::Error> {
    crate::log_as_json();
    let warm = Warm::<B> {
        names: Names::from_environment()?,
        clients: OnceCell::new(),
        dataset: Mutex::new(None),
    };
    let warm = &warm;
    // Boxed: the futures of the SDK and the runtime in one type are deeper than the compiler lays out.
    lambda_runtime::run(service_fn(move |event: LambdaEvent<Value>| {
        guarded(warm, event).boxed_local()
    }))
    .await
}

/// Handles one event; a panic becomes a fault of its own kind. The next event finds what is kept whole: it is
/// replaced as a unit or not at all.
async fn guarded<B: Benchmark>(warm: &Warm<B>, event: LambdaEvent<Value>) -> Result<Value, Fault> {
    let handled = AssertUnwindSafe(handle(warm, event)).catch_unwind().await;
    handled.unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<&str>().map(|said| (*said).to_owned());
        let said = said.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(Fault::Panic(
            said.unwrap_or_else(|| "without a message".to_owned()),
        ))
    })
}

/// Handles one event. All its uploads are tried before a fault is reported: the event's next delivery finds those
/// that have ended.
async fn handle<B: Benchmark>(warm: &Warm<B>, event: LambdaEvent<Value>) -> Result<Value, Fault> {
    let request_id = &event.context.request_id;
    let mut fault = None;
    let (mut n_recorded, mut n_repeated) = (0, 0);
    for upload in uploads(&event.payload)? {
        if upload.is_folder_marker() {
            tracing::info!(request_id, key = upload.key, outcome = "ignored", "folder marker");
            continue;
        }
        if Request::is_one(B::ID, &upload) {
            match Box::pin(again(warm, &upload, request_id)).await {
                Ok(n) => n_recorded += n,
                Err(error) => {
                    let message = with_causes(&error);
                    tracing::error!(
                        request_id,
                        key = upload.key,
                        outcome = "fault",
                        error = message,
                        "not finished"
                    );
                    fault.get_or_insert(Fault::from(error));
                }
            }
            continue;
        }
        let started = Instant::now();
        // Boxed, because a future that holds all others in itself is nested deeper than the compiler follows.
        let delivered = Box::pin(one(warm, &upload)).await;
        let seconds = started.elapsed().as_secs_f64();
        match delivered {
            Ok(delivered) => {
                log(request_id, &delivered.receipt, !delivered.recorded, seconds);
                if delivered.recorded {
                    n_recorded += 1;
                } else {
                    n_repeated += 1;
                }
            }
            Err(error) => {
                let (submission, message) = (upload.id(), with_causes(&error));
                tracing::error!(
                    request_id, benchmark = B::ID, %submission, key = upload.key, version = upload.version,
                    outcome = "fault", seconds, error = message, "not finished"
                );
                fault.get_or_insert(Fault::from(error));
            }
        }
    }
    fault.map_or_else(
        || Ok(serde_json::json!({ "recorded": n_recorded, "repeated": n_repeated })),
        Err,
    )
}

async fn one<B: Benchmark>(warm: &Warm<B>, upload: &Upload) -> Result<Delivered, PipelineError> {
    let clients = warm.clients.get_or_init(Clients::from_environment).await;
    let submissions = S3Bucket::new(clients.s3.clone(), &upload.bucket);
    let outlets = Outlets {
        leaderboards: &DynamoLeaderboards::new(clients.dynamodb.clone(), &warm.names.table),
        results: &S3Bucket::new(clients.s3.clone(), &warm.names.results),
    };
    let datasets = S3Bucket::new(clients.s3.clone(), &warm.names.datasets);
    let sources = Sources {
        submissions: &submissions,
        challenge: async || Challenge::published(&datasets, B::ID).await,
        dataset: async |pinned| dataset(warm, clients, pinned).await,
    };
    deliver::<B, S3Bucket, _, _, _>(upload, sources, &outlets, now).await
}

/// Scores the submissions of a request again; how many have a new verdict.
async fn again<B: Benchmark>(
    warm: &Warm<B>,
    upload: &Upload,
    request_id: &str,
) -> Result<usize, PipelineError> {
    let clients = warm.clients.get_or_init(Clients::from_environment).await;
    let bucket = |name: &str| S3Bucket::new(clients.s3.clone(), name);
    let Some(request) = Request::read(&bucket(&upload.bucket), upload).await? else {
        tracing::warn!(
            request_id,
            key = upload.key,
            outcome = "ignored",
            "no request to score again"
        );
        return Ok(0);
    };
    let outlets = Outlets {
        leaderboards: &DynamoLeaderboards::new(clients.dynamodb.clone(), &warm.names.table),
        results: &bucket(&warm.names.results),
    };
    let challenge = Challenge::published(&bucket(&warm.names.datasets), B::ID).await?;
    let mut n_recorded = 0;
    for id in &request.submissions {
        let started = Instant::now();
        let dataset = async |pinned| dataset(warm, clients, pinned).await;
        let rescored = Box::pin(rescore::<B, S3Bucket, _, _, _, _>(
            &request,
            id,
            challenge.as_ref(),
            bucket,
            dataset,
            &outlets,
            now,
        ))
        .await?;
        if let Rescored::Recorded(receipt) = rescored {
            log(request_id, &receipt, false, started.elapsed().as_secs_f64());
            n_recorded += 1;
        }
    }
    Ok(n_recorded)
}

/// The pinned data set or the one in force; the one in memory when it still is that.
async fn dataset<B: Benchmark>(
    warm: &Warm<B>,
    clients: &Clients,
    pinned: Option<Digest>,
) -> Result<Arc<Dataset<B, S3Bucket>>, DatasetError> {
    let bucket = S3Bucket::new(clients.s3.clone(), &warm.names.datasets);
    let digest = match pinned {
        Some(digest) => digest,
        None => Dataset::<B, _>::in_force(&bucket).await?,
    };
    let kept = || warm.dataset.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(dataset) = kept().as_ref().filter(|dataset| dataset.digest() == digest) {
        return Ok(dataset.clone());
    }
    let opened = Dataset::open(
        bucket,
        dataset_prefix(B::ID, digest),
        Some(digest),
        Integrity::Digests,
    )
    .await?;
    let dataset = Arc::new(opened);
    *kept() = Some(dataset.clone());
    Ok(dataset)
}

fn now() -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix_millis(i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX))
}

/// One line an outcome.
fn log(request_id: &str, receipt: &Receipt, repeated: bool, seconds: f64) {
    let verdict = &receipt.verdict;
    tracing::info!(
        request_id,
        benchmark = verdict.benchmark,
        leaderboard = verdict.leaderboard,
        submitter = receipt.submitter,
        submission = %receipt.submission,
        outcome = verdict.status.as_str(),
        score = verdict.score,
        n_reasons = verdict.n_reasons.unwrap_or(verdict.reasons.len()),
        revision = receipt.revision,
        round = receipt.round,
        repeated,
        seconds,
        "finished"
    );
}
