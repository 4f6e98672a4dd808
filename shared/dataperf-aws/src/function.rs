//! The Lambda function around a benchmark: a function crate is a call of [`run`].

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use dataperf::challenge::Challenge;
use dataperf::dataset::{Dataset, DatasetError, Integrity, dataset_prefix};
use dataperf::pipeline::{Delivered, Outlets, PipelineError, Sources, deliver};
use dataperf::rescoring::{Request, Rescored, rescore};
use dataperf::{Benchmark, Digest, Upload};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use tracing::{Instrument, info_span};

use crate::S3Bucket;
use crate::fault::Fault;
use crate::report::{Phases, report};
use crate::runtime::now;
use crate::station::{Function, Handled, Invocation, Station, serve};

/// What is kept between invocations.
struct Warm<B: Benchmark> {
    station: Station,
    dataset: Mutex<Option<Arc<Dataset<B, S3Bucket>>>>,
}

/// Runs a benchmark's function until the host ends it: for each upload an event announces, one verdict.
///
/// # Errors
/// When the environment lacks a variable, or the runtime's host is gone.
pub async fn run<B: Benchmark>() -> Result<(), lambda_runtime::Error> {
    crate::log_as_json();
    let station = Station::from_environment()?;
    serve(Warm::<B> {
        station,
        dataset: Mutex::new(None),
    })
    .await
}

impl<B: Benchmark> Function for Warm<B> {
    fn benchmark(&self) -> &'static str {
        B::ID
    }

    fn station(&self) -> &Station {
        &self.station
    }

    fn handle<'a>(
        &'a self,
        upload: &'a Upload,
        invocation: &'a Invocation,
    ) -> LocalBoxFuture<'a, Result<Handled, Fault>> {
        async move {
            if Request::is_one(B::ID, upload) {
                let rescored = Box::pin(again(self, upload, &invocation.request_id)).await;
                return Ok(Handled::Rescored(rescored?));
            }
            // Boxed, because a future that holds all others in itself is nested deeper than the compiler follows.
            let span = info_span!("submission", benchmark = B::ID, submission = %upload.id());
            let delivered = Box::pin(one(self, upload)).instrument(span).await;
            Ok(Handled::Delivered(delivered?))
        }
        .boxed_local()
    }
}

async fn one<B: Benchmark>(warm: &Warm<B>, upload: &Upload) -> Result<Delivered, PipelineError> {
    let station = &warm.station;
    let submissions = station.submissions(upload).await;
    let outlets = Outlets {
        leaderboards: &station.leaderboards().await,
        results: &station.results().await,
    };
    let datasets = station.datasets().await;
    let sources = Sources {
        submissions: &submissions,
        challenge: async || Challenge::published(&datasets, B::ID).await,
        dataset: async |pinned| dataset(warm, pinned).await,
    };
    deliver::<B, S3Bucket, _, _, _>(upload, sources, &outlets, now).await
}

/// Scores the submissions of a request again; how many have a new verdict.
async fn again<B: Benchmark>(
    warm: &Warm<B>,
    upload: &Upload,
    request_id: &str,
) -> Result<usize, PipelineError> {
    let (station, clients) = (&warm.station, warm.station.clients().await);
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
        leaderboards: &station.leaderboards().await,
        results: &station.results().await,
    };
    let challenge = Challenge::published(&station.datasets().await, B::ID).await?;
    let mut n_recorded = 0;
    for id in &request.submissions {
        let started = Instant::now();
        let before = station.meters.read();
        let dataset = async |pinned| dataset(warm, pinned).await;
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
            let phases = Phases::new(false, started.elapsed(), &station.meters, before);
            report(&station.names.table, request_id, &delivered, &phases);
            n_recorded += 1;
        }
    }
    Ok(n_recorded)
}

/// The pinned data set or the one in force; the one in memory when it still is that.
async fn dataset<B: Benchmark>(
    warm: &Warm<B>,
    pinned: Option<Digest>,
) -> Result<Arc<Dataset<B, S3Bucket>>, DatasetError> {
    let bucket = warm.station.datasets().await;
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
