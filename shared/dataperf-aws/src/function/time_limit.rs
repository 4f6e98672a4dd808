//! Ends an evaluation that takes longer than its function may, shortly before Lambda ends the function: Lambda would have it evaluated a second and a
//! third time, for as long each time.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, SystemTime};

use dataperf::evaluation::failure_judge::Cause;
use dataperf::evaluation::workflow::Settled;
use dataperf::{Descriptor, Upload};
use lambda_runtime::Context;
use serde_json::json;

use crate::events::fault::{Fault, with_causes};
use crate::function::fail_upload::give_up;
use crate::function::report::outcome;
use crate::function::resources::Resources;
use crate::runtime::metrics::emit;

/// A function gives an upload up this long before its time is up, or after half of its time if it
/// has little.
const RESERVE: Duration = Duration::from_secs(5);

/// The deadline of an evaluation in a function that ends at `deadline`.
pub(crate) fn last_moment(deadline: SystemTime) -> SystemTime {
    let left = deadline.duration_since(SystemTime::now()).unwrap_or_default();
    deadline - RESERVE.min(left / 2)
}

/// Watches an evaluation until it is dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    _evaluating: mpsc::Sender<()>,
}

impl Watch {
    /// Begins to watch the evaluation of an upload in an invocation. The watch is a thread of its own, because an evaluation computes on all others.
    ///
    /// Fails the submission when the invocation's time is nearly up. The failure is recorded and
    /// this process ends, so that no computation continues. Lambda's next delivery of the event
    /// sees that the submission has ended.
    pub(crate) fn begin(hosted: &'static Descriptor, upload: &Upload, context: &Context) -> Self {
        let (evaluating, ended) = mpsc::channel::<()>();
        let left = last_moment(context.deadline()).duration_since(SystemTime::now());
        let (upload, request_id) = (upload.clone(), context.request_id.clone());
        thread::spawn(move || {
            if ended.recv_timeout(left.unwrap_or_default()) != Err(RecvTimeoutError::Timeout) {
                return; // it has ended in time
            }
            match give_up_now(hosted, &upload, &request_id) {
                Ok(settled) if settled.recorded => std::process::exit(1),
                Ok(_) => {} // it has ended meanwhile
                // Lambda ends the function, and the caretaker the submission
                Err(error) => tracing::error!(request_id, error, outcome = "fault", "not given up in time"),
            }
        });
        Self {
            _evaluating: evaluating,
        }
    }
}

/// Records that a submission has failed because of the time limit. The clients of the thread that computes can't be used here.
fn give_up_now(hosted: &'static Descriptor, upload: &Upload, request_id: &str) -> Result<Settled, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let resources = Resources::from_environment().map_err(|error| error.to_string())?;
    let settled: Result<Settled, Fault> = runtime.block_on(async {
        let (table, results) = (resources.leaderboards().await, resources.results().await);
        let reason = Cause::TimeLimit.reason(request_id, hosted.kinds.is_empty());
        let signer = resources.signer().await;
        let settled = give_up(hosted, upload, reason, &table, &results, &signer).await?;
        let (benchmark, receipt) = (hosted.id, &settled.receipt);
        tracing::warn!(
            request_id,
            benchmark,
            submission = %receipt.submission,
            submitter = receipt.submitter,
            outcome = receipt.verdict.status.as_str(),
            repeated = !settled.recorded,
            "given up: the time limit is near"
        );
        if settled.recorded {
            let about = json!({ "request_id": request_id, "submission": receipt.submission });
            emit(&resources.table, Some(benchmark), &outcome(&settled), about);
        }
        Ok(settled)
    });
    settled.map_err(|fault| with_causes(&fault))
}
