//! The loop of every function that takes uploads: it goes through an event's uploads and reports on each.

use std::sync::atomic::Ordering;
use std::time::{Instant, SystemTime};

use dataperf::Upload;
use dataperf::workflow::Settled;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use lambda_runtime::{LambdaEvent, service_fn};
use serde_json::Value;

use crate::event::uploads;
use crate::fault::Fault;
use crate::report::{Phases, report, report_fault};
use crate::resources::Resources;
use crate::runtime::guarded;

/// What was done with an upload.
pub enum Handled {
    /// It was settled.
    Settled(Settled),
    /// It is a request to score submissions again, and so many have a new verdict.
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
    /// Its clients, buckets and table.
    fn resources(&self) -> &Resources;
    /// Settles one upload.
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
    let function = &function;
    // Boxed: the futures of the SDK and the runtime in one type are deeper than the compiler lays out. The next event
    // after a panic finds what is kept whole: it is replaced as a unit or not at all.
    lambda_runtime::run(service_fn(move |event: LambdaEvent<Value>| {
        guarded(each_upload(function, event)).boxed_local()
    }))
    .await
}

/// Handles one event. All its uploads are tried before a fault is reported: the event's next delivery finds those
/// that have ended.
async fn each_upload(function: &impl Function, event: LambdaEvent<Value>) -> Result<Value, Fault> {
    let (benchmark, resources) = (function.benchmark(), function.resources());
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
        let (began, before) = (Instant::now(), resources.meters.read());
        let is_cold = resources.is_cold.swap(false, Ordering::Relaxed);
        let handled = function.handle(&upload, &invocation).await;
        let phases = Phases::new(is_cold, began.elapsed(), &resources.meters, before);
        let table = &resources.names.table;
        match handled {
            Ok(Handled::Rescored(n)) => n_recorded += n,
            Ok(Handled::Settled(settled)) => {
                report(table, request_id, &settled, &phases);
                if settled.recorded {
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
