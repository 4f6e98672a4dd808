//! The configuration of a function that takes uploads, and its state between invocations: clients,
//! the buckets, the table.

use std::sync::atomic::AtomicBool;

use dataperf::Upload;
use dataperf::challenge::Challenge;
use dataperf::evaluation::artifact_judge::{ArtifactJudge, Evaluator};
use dataperf::evaluation::workflow::{Ports, Settled, WorkflowError, settle};
use dataperf::programs::ProgramRequest;
use lambda_runtime::Context;
use tokio::sync::OnceCell;
use tracing::{Instrument, info_span};

use crate::bucket::signed::Addresses;
use crate::function::evaluators::{PROGRAMS, announce, ask_for_run};
use crate::runtime::{now, variable};
use crate::sdk::meter::Meters;
use crate::table::Seen;
use crate::{Clients, ReceiptKeys, S3Bucket, Table};

/// The names of a function's buckets and its table, and what is kept between events: clients, with a meter for each.
#[derive(Default)]
pub struct Resources {
    /// The table's name, by which metrics know the deployment.
    pub(crate) table: String,
    datasets: String,
    results: String,
    signing_key: String,
    /// Made with the first event, not at the start: a cold start should be ready for it at once.
    clients: OnceCell<Clients>,
    pub(crate) meters: Meters,
    seen: Seen,
    /// Whether an upload has been handled before.
    pub(crate) is_warm: AtomicBool,
}

impl Resources {
    /// The resources that the environment names: the table, the buckets and the signing key.
    ///
    /// # Errors
    /// When a variable is not set.
    pub fn from_environment() -> Result<Self, lambda_runtime::Error> {
        Ok(Self {
            table: variable("DATAPERF_TABLE")?,
            datasets: variable("DATAPERF_DATASETS_BUCKET")?,
            results: variable("DATAPERF_RESULTS_BUCKET")?,
            signing_key: variable("DATAPERF_SIGNING_KEY")?,
            ..Self::default()
        })
    }

    /// The SDK's clients.
    pub async fn clients(&self) -> &Clients {
        self.clients.get_or_init(Clients::from_environment).await
    }

    /// A bucket.
    pub async fn bucket(&self, name: &str) -> S3Bucket {
        S3Bucket::new(self.clients().await.s3.clone(), name)
    }

    /// The bucket that an upload is in.
    pub async fn submissions(&self, upload: &Upload) -> S3Bucket {
        let bucket = self.bucket(&upload.bucket).await;
        bucket.metered(&self.meters.submissions)
    }

    /// The bucket of data sets.
    pub async fn datasets(&self) -> S3Bucket {
        let bucket = self.bucket(&self.datasets).await;
        bucket.metered(&self.meters.datasets)
    }

    /// The bucket of receipts.
    pub async fn results(&self) -> S3Bucket {
        let bucket = self.bucket(&self.results).await;
        bucket.metered(&self.meters.results)
    }

    /// The keys that receipts are signed with.
    pub async fn signer(&self) -> ReceiptKeys {
        ReceiptKeys::new(self.clients().await.kms(None), &self.signing_key)
    }

    /// The table.
    pub async fn leaderboards(&self) -> Table {
        let dynamodb = self.clients().await.dynamodb.clone();
        let table = Table::new(dynamodb, &self.table);
        table.metered(&self.meters.table).having_seen(&self.seen)
    }

    /// Starts another run of the function that runs in `context`, which continues with an upload. The table holds what this run began.
    ///
    /// # Errors
    /// [`WorkflowError`] when Lambda does not take the event.
    pub async fn go_on(&self, upload: &Upload, context: &Context) -> Result<(), WorkflowError> {
        let lambda = self.clients().await.lambda(None);
        Ok(announce(&lambda, &context.env_config.function_name, upload).await?)
    }

    /// Requests a run of the uploaded program. The function that runs programs has no rights: it
    /// gets the addresses to read and write. Of data sets it gets only the files that are
    /// `is_public`.
    ///
    /// # Errors
    /// [`WorkflowError`] when a data set can't be read, or Lambda does not take the event.
    pub async fn ask_for_run(
        &self,
        upload: &Upload,
        request: &ProgramRequest,
        is_public: fn(&str) -> bool,
    ) -> Result<(), WorkflowError> {
        let programs = bundled_programs(&request.benchmark);
        let programs = programs.map_err(|error| WorkflowError::organizer(error.to_string()))?;
        let (submissions, datasets) = (self.submissions(upload).await, self.datasets().await);
        let addresses = Addresses::of_run(&submissions, &datasets, upload, request, is_public).await?;
        let lambda = self.clients().await.lambda(None);
        Ok(ask_for_run(&lambda, &programs, upload, request, &addresses).await?)
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
        let challenge =
            Challenge::published(&datasets, evaluator.hosted().id).instrument(info_span!("read challenge"));
        let judge = ArtifactJudge {
            evaluator,
            challenge: challenge.await.map_err(WorkflowError::from),
            submissions: &submissions,
            leaderboards: &leaderboards,
        };
        let ports = Ports {
            leaderboards: &leaderboards,
            results: &results,
            signer: &self.signer().await,
            now: &now,
        };
        // Boxed, because a future that holds all others in itself is nested deeper than the compiler follows.
        Box::pin(settle(upload, judge, ports)).await
    }
}

/// The name of the function that runs programs, in the deployment of this function, whose own name is `own` without the deployment's prefix.
///
/// # Errors
/// When the environment does not say what this function is called.
pub fn bundled_programs(own: &str) -> Result<String, lambda_runtime::Error> {
    let name = variable("AWS_LAMBDA_FUNCTION_NAME")?;
    // functions of a deployment begin with the same prefix
    let prefix = name.strip_suffix(own).unwrap_or_default();
    Ok(format!("{prefix}{PROGRAMS}"))
}
