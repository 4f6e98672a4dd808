//! What every function that takes uploads does around its work: it keeps clients and meters, goes through an event's
//! uploads, and reports on each.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime};

use dataperf::Upload;
use dataperf::pipeline::Delivered;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use lambda_runtime::{LambdaEvent, service_fn};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::fault::Fault;
use crate::report::{Meters, Phases, report, report_fault};
use crate::runtime::{Names, guarded};
use crate::{Clients, DynamoLeaderboards, S3Bucket, uploads};

/// What is kept between invocations, whatever the function does.
pub struct Station {
    pub(crate) names: Names,
    /// Made with the first event, not at the start: a cold start should be ready for it at once.
    clients: OnceCell<Clients>,
    pub(crate) meters: Meters,
    is_cold: AtomicBool,
}

impl Station {
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
}

/// What became of an upload.
pub enum Handled {
    /// It has ended.
    Delivered(Delivered),
    /// It asked for submissions to be scored again, and so many were.
    Rescored(usize),
}

/// The invocation that an upload is handled in.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// Its id. The retries of one event have one id, other deliveries of it have others.
    pub request_id: String,
    /// When Lambda ends it.
    pub deadline: SystemTime,
}

/// What one function does with uploads.
pub trait Function {
    /// The benchmark's id.
    fn benchmark(&self) -> &'static str;
    /// What it keeps.
    fn station(&self) -> &Station;
    /// Brings one upload to its end.
    ///
    /// # Errors
    /// [`Fault`], by which Lambda tries again.
    fn handle<'a>(
        &'a self,
        upload: &'a Upload,
        invocation: &'a Invocation,
    ) -> LocalBoxFuture<'a, Result<Handled, Fault>>;
}

/// Runs a function until the host ends it.
///
/// # Errors
/// When the runtime's host is gone.
pub async fn serve(function: impl Function) -> Result<(), lambda_runtime::Error> {
    serve_any(&function).await
}

/// The same for all, so that the runtime around it is compiled once and not with each program.
async fn serve_any(function: &dyn Function) -> Result<(), lambda_runtime::Error> {
    // Boxed: the futures of the SDK and the runtime in one type are deeper than the compiler lays out. The next event
    // after a panic finds what is kept whole: it is replaced as a unit or not at all.
    lambda_runtime::run(service_fn(move |event: LambdaEvent<Value>| {
        guarded(each_upload(function, event)).boxed_local()
    }))
    .await
}

/// Handles one event. All its uploads are tried before a fault is reported: the event's next delivery finds those
/// that have ended.
async fn each_upload(function: &dyn Function, event: LambdaEvent<Value>) -> Result<Value, Fault> {
    let (benchmark, station) = (function.benchmark(), function.station());
    let invocation = Invocation {
        request_id: event.context.request_id.clone(),
        deadline: event.context.deadline(),
    };
    let request_id = &invocation.request_id;
    let mut fault = None;
    let (mut n_recorded, mut n_repeated) = (0, 0);
    for upload in uploads(&event.payload)? {
        if upload.is_folder_marker() {
            tracing::info!(request_id, key = upload.key, outcome = "ignored", "folder marker");
            continue;
        }
        let (began, before) = (Instant::now(), station.meters.read());
        let is_cold = station.is_cold.swap(false, Ordering::Relaxed);
        let handled = function.handle(&upload, &invocation).await;
        let phases = Phases::new(is_cold, began.elapsed(), &station.meters, before);
        let table = &station.names.table;
        match handled {
            Ok(Handled::Rescored(n)) => n_recorded += n,
            Ok(Handled::Delivered(delivered)) => {
                report(table, request_id, &delivered, &phases);
                if delivered.recorded {
                    n_recorded += 1;
                } else {
                    n_repeated += 1;
                }
            }
            Err(found) => {
                report_fault(table, benchmark, request_id, &upload, &found, &phases);
                fault.get_or_insert(found);
            }
        }
    }
    fault.map_or_else(
        || Ok(serde_json::json!({ "recorded": n_recorded, "repeated": n_repeated })),
        Err,
    )
}
