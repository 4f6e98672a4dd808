//! What a function that takes uploads is configured with and keeps between invocations: clients, the buckets, the table.

use std::sync::atomic::AtomicBool;

use dataperf::Upload;
use dataperf::artifact_judge::{ArtifactJudge, Evaluator};
use dataperf::challenge::Challenge;
use dataperf::workflow::{Ports, Settled, WorkflowError, settle};
use tokio::sync::OnceCell;
use tracing::{Instrument, info_span};

use crate::report::Meters;
use crate::runtime::{Names, now};
use crate::{Clients, DynamoLeaderboards, S3Bucket};

/// The clients of a function and the names of its buckets and its table, with a meter for each.
pub struct Resources {
    pub(crate) names: Names,
    /// Made with the first event, not at the start: a cold start should be ready for it at once.
    clients: OnceCell<Clients>,
    pub(crate) meters: Meters,
    /// Whether no event has been handled yet.
    pub(crate) is_cold: AtomicBool,
}

impl Resources {
    /// Of the environment's table and buckets.
    ///
    /// # Errors
    /// When a variable is not set.
    pub fn from_environment() -> Result<Self, lambda_runtime::Error> {
        Ok(Self {
            names: Names::from_environment()?,
            clients: OnceCell::new(),
            meters: Meters::default(),
            is_cold: AtomicBool::new(true),
        })
    }

    /// The SDK's clients.
    pub async fn clients(&self) -> &Clients {
        self.clients.get_or_init(Clients::from_environment).await
    }

    /// The bucket that an upload is in.
    pub async fn submissions(&self, upload: &Upload) -> S3Bucket {
        let s3 = self.clients().await.s3.clone();
        S3Bucket::new(s3, &upload.bucket).metered(&self.meters.submissions)
    }

    /// The bucket of data sets.
    pub async fn datasets(&self) -> S3Bucket {
        let s3 = self.clients().await.s3.clone();
        S3Bucket::new(s3, &self.names.datasets).metered(&self.meters.datasets)
    }

    /// The bucket of receipts.
    pub async fn results(&self) -> S3Bucket {
        let s3 = self.clients().await.s3.clone();
        S3Bucket::new(s3, &self.names.results).metered(&self.meters.results)
    }

    /// The table.
    pub async fn leaderboards(&self) -> DynamoLeaderboards {
        let dynamodb = self.clients().await.dynamodb.clone();
        DynamoLeaderboards::new(dynamodb, &self.names.table).metered(&self.meters.table)
    }

    /// Settles an upload by evaluating its artifact.
    ///
    /// # Errors
    /// The evaluator's, and [`WorkflowError`] when a bucket, the table or the challenge can't be read.
    pub async fn settle<E: Evaluator>(
        &self,
        upload: &Upload,
        evaluator: &E,
    ) -> Result<Settled, WorkflowError> {
        let (leaderboards, results) = (self.leaderboards().await, self.results().await);
        let (datasets, submissions) = (self.datasets().await, self.submissions(upload).await);
        let challenge = Challenge::published(&datasets, evaluator.benchmark());
        let judge = ArtifactJudge {
            evaluator,
            challenge: challenge.instrument(info_span!("read challenge")).await,
            submissions: &submissions,
            leaderboards: &leaderboards,
        };
        let ports = Ports {
            leaderboards: &leaderboards,
            results: &results,
            now: &now,
        };
        // Boxed, because a future that holds all others in itself is nested deeper than the compiler follows.
        Box::pin(settle(upload, judge, ports)).await
    }
}
