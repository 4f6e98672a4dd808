//! The Lambda function around a benchmark: a function crate is a call of [`run`].

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use dataperf::challenge::Challenge;
use dataperf::dataset::{Dataset, DatasetError, Integrity, dataset_prefix};
use dataperf::pipeline::{Delivered, Outlets, PipelineError, Sources, deliver};
use dataperf::rescoring::{Request, Rescored, rescore};
use dataperf::{Benchmark, Digest, Upload};
use futures_util::FutureExt;
use lambda_runtime::{LambdaEvent, service_fn};
use serde_json::Value;
use tokio::sync::OnceCell;
use tracing::{Instrument, info_span};

use crate::fault::{Fault, with_causes};
use crate::report::{Meters, Phases, report, report_fault};
use crate::runtime::{Names, guarded, now};
use crate::{Clients, DynamoLeaderboards, S3Bucket, uploads};

/// What is kept between invocations.
struct Warm<B: Benchmark> {
    names: Names,
    /// Made with the first event, not at the start: a cold start should be ready for it at once.
    clients: OnceCell<Clients>,
    dataset: Mutex<Option<Arc<Dataset<B, S3Bucket>>>>,
    meters: Meters,
    is_cold: AtomicBool,
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
        meters: Meters::default(),
        is_cold: AtomicBool::new(true),
    };
    let warm = &warm;
    // Boxed: the futures of the SDK and the runtime in one type are deeper than the compiler lays out. The next event
    // after a panic finds what is kept whole: it is replaced as a unit or not at all.
    lambda_runtime::run(service_fn(move |event: LambdaEvent<Value>| {
        guarded(handle(warm, event)).boxed_local()
    }))
    .await
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
        let (began, before) = (Instant::now(), warm.meters.read());
        let is_cold = warm.is_cold.swap(false, Ordering::Relaxed);
        if Request::is_one(B::ID, &upload) {
            match Box::pin(again(warm, &upload, request_id)).await {
                Ok(n) => n_recorded += n,
                Err(error) => {
                    let phases = Phases::new(is_cold, began.elapsed(), &warm.meters, before);
                    let message = with_causes(&error);
                    let found = Fault::from(error);
                    report_fault(
                        &warm.names.table,
                        B::ID,
                        request_id,
                        &upload,
                        &found,
                        &message,
                        &phases,
                    );
                    fault.get_or_insert(found);
                }
            }
            continue;
        }
        // Boxed, because a future that holds all others in itself is nested deeper than the compiler follows.
        let span = info_span!("submission", benchmark = B::ID, submission = %upload.id());
        let delivered = Box::pin(one(warm, &upload)).instrument(span).await;
        let phases = Phases::new(is_cold, began.elapsed(), &warm.meters, before);
        match delivered {
            Ok(delivered) => {
                report(&warm.names.table, request_id, &delivered, &phases);
                if delivered.recorded {
                    n_recorded += 1;
                } else {
                    n_repeated += 1;
                }
            }
            Err(error) => {
                let message = with_causes(&error);
                let found = Fault::from(error);
                report_fault(
                    &warm.names.table,
                    B::ID,
                    request_id,
                    &upload,
                    &found,
                    &message,
                    &phases,
                );
                fault.get_or_insert(found);
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
    let bucket = |name: &str, meter| S3Bucket::new(clients.s3.clone(), name).metered(meter);
    let submissions = bucket(&upload.bucket, &warm.meters.submissions);
    let table = DynamoLeaderboards::new(clients.dynamodb.clone(), &warm.names.table);
    let outlets = Outlets {
        leaderboards: &table.metered(&warm.meters.table),
        results: &bucket(&warm.names.results, &warm.meters.results),
    };
    let datasets = bucket(&warm.names.datasets, &warm.meters.datasets);
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
        let before = warm.meters.read();
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
            let delivered = Delivered {
                receipt,
                recorded: true,
            };
            let phases = Phases::new(false, started.elapsed(), &warm.meters, before);
            report(&warm.names.table, request_id, &delivered, &phases);
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
    let bucket = S3Bucket::new(clients.s3.clone(), &warm.names.datasets).metered(&warm.meters.datasets);
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
