//! Runs the real function binaries: as many processes as are needed and allowed, each with its own Lambda Runtime API.

mod dispatcher;
mod environment;
pub(crate) mod http_function;
pub(crate) mod invoke;
mod leftovers;
mod log;
mod message;
mod process;
mod runtime_api;
mod synchronous;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::access::Callers;
use crate::config::{FunctionSpec, Schedule};
use crate::error::StartError;
use crate::faults::switches::Faults;
use crate::queue::Queue;
use crate::queue::schedule;
use crate::status::Status;

pub(crate) use self::leftovers::clear_leftovers;
pub(crate) use self::synchronous::{Synchronous, Waiting};

/// State shared by all functions.
#[derive(Clone)]
pub(crate) struct HostContext {
    pub(crate) queue: Arc<Queue>,
    pub(crate) faults: Arc<Faults>,
    pub(crate) callers: Arc<Callers>,
    pub(crate) status: Arc<Status>,
    /// The folder of the working directories, `functions/NAME`, and the logs, `logs/NAME`.
    pub(crate) data_dir: PathBuf,
    /// The id of the data directory, which processes carry.
    pub(crate) data_dir_id: String,
    pub(crate) s3_endpoint: String,
    pub(crate) dynamodb_endpoint: String,
    pub(crate) lambda_endpoint: String,
    pub(crate) idle_timeout: Duration,
    /// No new work is handed out.
    pub(crate) stop: CancellationToken,
    /// Running work is killed; it stays on the queue.
    pub(crate) kill: CancellationToken,
    pub(crate) tasks: TaskTracker,
}

/// The functions and their processes.
pub(crate) struct Host {
    context: HostContext,
}

impl Host {
    /// Begins to hand out work.
    pub(crate) fn start(
        context: HostContext,
        functions: Vec<FunctionSpec>,
        schedules: Vec<Schedule>,
        waiting: &Waiting,
    ) -> Self {
        waiting.begin(&context, &functions);
        for schedule in schedules {
            let queue = Arc::clone(&context.queue);
            context
                .tasks
                .spawn(schedule::keep(schedule, queue, context.stop.clone()));
        }
        for spec in functions {
            context
                .tasks
                .spawn(dispatcher::dispatch(context.clone(), Arc::new(spec)));
        }
        Self { context }
    }

    /// Runs `spec` for callers that wait for its answers.
    pub(crate) fn synchronous(&self, spec: FunctionSpec) -> Synchronous {
        Synchronous::new(self.context.clone(), spec)
    }

    /// Hands out no more, waits `grace` for what runs, and kills the rest.
    pub(crate) async fn stop(&self, grace: Duration) {
        self.context.stop.cancel();
        self.context.tasks.close();
        if tokio::time::timeout(grace, self.context.tasks.wait())
            .await
            .is_err()
        {
            self.context.kill.cancel();
            self.context.tasks.wait().await;
        }
    }
}

/// Refuses functions that could never run.
pub(crate) fn check(functions: &[FunctionSpec]) -> Result<(), StartError> {
    let mut names = BTreeSet::new();
    for spec in functions {
        let refuse = |reason: String| {
            Err(StartError::Function {
                function: spec.name.clone(),
                reason,
            })
        };
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if spec.name.is_empty() || spec.name.len() > 64 || !spec.name.chars().all(is_letter) {
            return refuse("the name must be 1 to 64 letters, digits, `-` and `_`".into());
        }
        if !names.insert(&spec.name) {
            return refuse("the name is used twice".into());
        }
        if !spec.binary.is_file() {
            return refuse(format!(
                "the binary `{}` does not exist; build it first",
                spec.binary.display()
            ));
        }
        if spec.concurrency == 0 {
            return refuse("concurrency is 0, so it would never run; allow 1 or more".into());
        }
        if spec.timeout.is_zero() {
            return refuse("the time limit is 0 s; allow more".into());
        }
    }
    Ok(())
}
