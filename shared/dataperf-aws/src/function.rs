//! The Lambda function of a benchmark: a function crate is a call of [`run`].

use std::sync::{Arc, Mutex, PoisonError};

use dataperf::artifact_judge::Evaluator;
use dataperf::challenge::Terms;
use dataperf::dataset::{Dataset, DatasetError};
use dataperf::evaluate::evaluate;
use dataperf::ports::leaderboard::Submission;
use dataperf::workflow::{Settled, WorkflowError};
use dataperf::{Benchmark, Digest, Direction, Upload, Verdict};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use lambda_runtime::Context;
use tracing::{Instrument, info_span};

use crate::S3Bucket;
use crate::fault::Fault;
use crate::rescore::rescore;
use crate::resources::Resources;
use crate::serve::{Function, serve};

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

    fn settle<'a>(
        &'a self,
        upload: &'a Upload,
        _context: &'a Context,
    ) -> LocalBoxFuture<'a, Result<Settled, Fault>> {
        let span = info_span!("submission", benchmark = B::ID, submission = %upload.id());
        let settled = self.resources.settle(upload, self).instrument(span);
        async move { Ok(settled.await?) }.boxed_local()
    }

    fn rescore<'a>(
        &'a self,
        upload: &'a Upload,
        context: &'a Context,
    ) -> LocalBoxFuture<'a, Result<Option<usize>, Fault>> {
        async move { Ok(rescore(self, &self.resources, upload, &context.request_id).await?) }.boxed_local()
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
        let opened = Dataset::published(bucket, digest).await?;
        let dataset = Arc::new(opened);
        *kept() = Some(dataset.clone());
        Ok(dataset)
    }
}
