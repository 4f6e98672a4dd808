//! The Lambda function of a benchmark: a function crate is a call of [`run`].

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use dataperf::artifact_judge::Evaluator;
use dataperf::challenge::{Challenge, Terms};
use dataperf::dataset::{Dataset, DatasetError, Integrity, dataset_prefix};
use dataperf::evaluate::evaluate;
use dataperf::ports::bucket::Bucket;
use dataperf::ports::leaderboard::Submission;
use dataperf::rescoring::{Pass, Request, Rescored};
use dataperf::workflow::{Settled, WorkflowError};
use dataperf::{Benchmark, Digest, Direction, Upload, Verdict};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use tracing::{Instrument, info_span};

use crate::S3Bucket;
use crate::fault::Fault;
use crate::report::{Phases, report};
use crate::resources::Resources;
use crate::runtime::now;
use crate::serve::{Function, Handled, Invocation, serve};

/// A benchmark's function, with what is kept between invocations.
struct BenchmarkFunction<B: Benchmark> {
    resources: Resources,
    /// The data set that was opened last.
    dataset: Mutex<Option<Arc<Dataset<B, S3Bucket>>>>,
}

/// Runs a benchmark's function until the host ends it: for each upload an event announces, one verdict.
///
/// # Errors
/// When the environment lacks a variable, or the runtime's host is gone.
pub async fn run<B: Benchmark>() -> Result<(), lambda_runtime::Error> {
    crate::log_as_json();
    let resources = Resources::from_environment()?;
    serve(BenchmarkFunction::<B> {
        resources,
        dataset: Mutex::new(None),
    })
    .await
}

impl<B: Benchmark> Function for BenchmarkFunction<B> {
    fn benchmark(&self) -> &'static str {
        B::ID
    }

    fn resources(&self) -> &Resources {
        &self.resources
    }

    fn handle<'a>(
        &'a self,
        upload: &'a Upload,
        invocation: &'a Invocation,
    ) -> LocalBoxFuture<'a, Result<Handled, Fault>> {
        async move {
            if Request::is_one(B::ID, upload) {
                let n_rescored = self.rescore(upload, &invocation.request_id).await?;
                return Ok(Handled::Rescored(n_rescored));
            }
            let span = info_span!("submission", benchmark = B::ID, submission = %upload.id());
            let settled = self.resources.settle(upload, self).instrument(span).await?;
            Ok(Handled::Settled(settled))
        }
        .boxed_local()
    }
}

impl<B: Benchmark> Evaluator for BenchmarkFunction<B> {
    fn benchmark(&self) -> &str {
        B::ID
    }

    fn direction(&self) -> Direction {
        B::DIRECTION
    }

    fn max_artifact_bytes(&self) -> u64 {
        B::MAX_ARTIFACT_BYTES
    }

    async fn evaluate(
        &self,
        submission: &Submission,
        terms: &Terms,
        artifact: &[u8],
    ) -> Result<Verdict, WorkflowError> {
        let dataset = self.dataset(terms.dataset);
        let dataset = dataset.instrument(info_span!("open data set")).await?;
        Ok(evaluate(&dataset, &submission.board.leaderboard, artifact).await?)
    }
}

impl<B: Benchmark> BenchmarkFunction<B> {
    /// The pinned data set or the one in force; the one in memory when it still is that.
    async fn dataset(&self, pinned: Option<Digest>) -> Result<Arc<Dataset<B, S3Bucket>>, DatasetError> {
        let bucket = self.resources.datasets().await;
        let digest = match pinned {
            Some(digest) => digest,
            None => Dataset::<B, _>::in_force(&bucket).await?,
        };
        let kept = || self.dataset.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Scores the submissions of a request again; how many have a new verdict.
    async fn rescore(&self, upload: &Upload, request_id: &str) -> Result<usize, WorkflowError> {
        let (resources, clients) = (&self.resources, self.resources.clients().await);
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
        let challenge = Challenge::published(&resources.datasets().await, B::ID).await?;
        let pass = Pass {
            request: &request,
            challenge: challenge.as_ref(),
            submissions: &|name| Box::new(bucket(name)) as Box<dyn Bucket>,
            table: &resources.leaderboards().await,
            results: &resources.results().await,
            now: &now,
        };
        let mut n_recorded = 0;
        for id in &request.submissions {
            let (began, before) = (Instant::now(), resources.meters.read());
            if let Rescored::Recorded(receipt) = Box::pin(pass.rescore(id, self)).await? {
                let settled = Settled {
                    receipt,
                    recorded: true,
                };
                let phases = Phases::new(false, began.elapsed(), &resources.meters, before);
                report(&resources.names.table, request_id, &settled, &phases);
                n_recorded += 1;
            }
        }
        Ok(n_recorded)
    }
}
