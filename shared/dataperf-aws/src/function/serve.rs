//! The loop of every function that takes uploads: it goes through an event's uploads and reports on each.

use dataperf::Upload;
use dataperf::evaluation::workflow::Settled;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use lambda_runtime::{Context, Diagnostic, LambdaEvent, service_fn};
use serde_json::Value;

use crate::events::fault::Fault;
use crate::events::s3_event::uploads;
use crate::function::resources::Resources;
use crate::runtime::guarded;

/// A function's handling of uploads.
pub trait Function {
    /// The benchmark's id.
    fn benchmark(&self) -> &'static str;

    /// Its clients, buckets and table.
    fn resources(&self) -> &Resources;

    /// Settles one upload; `None` if it needs more than one run and a separate event continues it.
    /// Retries of an event have the same request id in their contexts.
    ///
    /// # Errors
    /// [`Fault`], by which Lambda tries again.
    fn settle<'a>(
        &'a self,
        upload: &'a Upload,
        context: &'a Context,
    ) -> LocalBoxFuture<'a, Result<Option<Settled>, Fault>>;

    /// Does what an upload that has ended leads to and its verdict does not wait for, such as comparing its board.
    ///
    /// # Errors
    /// [`Fault`], by which Lambda tries again.
    fn follow_up<'a>(
        &'a self,
        _upload: &'a Upload,
        _settled: &'a Settled,
        _context: &'a Context,
    ) -> LocalBoxFuture<'a, Result<(), Fault>> {
        ready(Ok(())).boxed_local()
    }

    /// Answers an event that announces no uploads: a request for something else, which functions of benchmarks know. `None` for any
    /// other event.
    ///
    /// # Errors
    /// [`Fault`], by which Lambda tries again.
    fn answer<'a>(
        &'a self,
        _event: &'a Value,
        _context: &'a Context,
    ) -> LocalBoxFuture<'a, Result<Option<Value>, Fault>> {
        ready(Ok(None)).boxed_local()
    }

    /// Scores the submissions again that an upload requests, and says how many have a new verdict; `None` when the upload is
    /// no such request.
    ///
    /// # Errors
    /// [`Fault`], by which Lambda tries again.
    fn rescore<'a>(
        &'a self,
        _upload: &'a Upload,
        _context: &'a Context,
    ) -> LocalBoxFuture<'a, Result<Option<usize>, Fault>> {
        ready(Ok(None)).boxed_local()
    }
}

/// Runs a function until the host ends it.
///
/// # Errors
/// When the runtime's host is gone.
pub async fn serve(function: impl Function) -> Result<(), lambda_runtime::Error> {
    serve_any(&function).await
}

/// Runs any function. It has no type parameter and returns a boxed future, so the runtime is compiled here once. An
/// `async fn` would be compiled in each program that awaits it.
fn serve_any(function: &dyn Function) -> LocalBoxFuture<'_, Result<(), lambda_runtime::Error>> {
    // Boxed: the futures of the SDK and the runtime in one type are deeper than the compiler lays out. The next event
    // after a panic finds what is kept whole: it is replaced as a unit or not at all.
    lambda_runtime::run(service_fn(move |event: LambdaEvent<Value>| {
        guarded(each_upload(function, event)).boxed_local()
    }))
    .boxed_local()
}

/// Handles one event. All its uploads are tried before a fault is reported: the event's next delivery finds those
/// that have ended.
async fn each_upload(function: &dyn Function, event: LambdaEvent<Value>) -> Result<Value, Fault> {
    let (benchmark, resources) = (function.benchmark(), function.resources());
    let context = event.context;
    let request_id = &context.request_id;
    if let Some(answer) = function.answer(&event.payload, &context).await? {
        return Ok(answer);
    }
    let mut fault = None;
    let (mut n_recorded, mut n_repeated, mut n_handed_over) = (0, 0, 0);
    for upload in uploads(&event.payload)? {
        if upload.is_folder_marker() {
            tracing::info!(request_id, key = upload.key, outcome = "ignored", "folder marker");
            continue;
        }
        let work = resources.begin();
        let settled = match function.rescore(&upload, &context).await {
            Ok(Some(n_rescored)) => {
                n_recorded += n_rescored;
                continue;
            }
            Ok(None) => function.settle(&upload, &context).await,
            Err(fault) => Err(fault),
        };
        match settled {
            Ok(None) => {
                let (submission, seconds) = (upload.id(), work.seconds());
                tracing::info!(request_id, benchmark, %submission, outcome = "goes on", seconds, "another run goes on");
                n_handed_over += 1;
            }
            Ok(Some(settled)) => {
                work.report(request_id, &settled);
                if settled.recorded {
                    n_recorded += 1;
                } else {
                    n_repeated += 1;
                }
                if let Err(failure) = function.follow_up(&upload, &settled, &context).await {
                    resources.report_follow_up(request_id, &settled, &failure);
                    fault.get_or_insert(failure);
                }
            }
            Err(failure) => {
                work.report_fault(benchmark, request_id, &upload, &failure);
                fault.get_or_insert(failure);
            }
        }
    }
    fault.map_or_else(
        || {
            let (recorded, repeated) = (n_recorded, n_repeated);
            Ok(serde_json::json!({ "recorded": recorded, "repeated": repeated, "handed_over": n_handed_over }))
        },
        Err,
    )
}

impl From<Fault> for Diagnostic {
    fn from(fault: Fault) -> Self {
        Self {
            error_type: fault.kind.as_str().into(),
            error_message: fault.message,
        }
    }
}
