//! Invocations whose caller waits for the answer: neither queued nor retried.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use bytes::Bytes;
use tokio::sync::Semaphore;

use super::HostContext;
use super::process::{Outcome, Process};
use crate::config::FunctionSpec;
use crate::database::now_ms;
use crate::lock::locked;
use crate::queue::Queued;
use crate::queue::failure_record::FunctionError;

/// One function for callers that wait.
#[derive(Clone)]
pub(crate) struct Synchronous {
    context: HostContext,
    spec: Arc<FunctionSpec>,
    room: Arc<Semaphore>,
    /// Warm processes; the last one used is taken first.
    idle: Arc<Mutex<Vec<Process>>>,
}

impl Synchronous {
    pub(crate) fn new(context: HostContext, spec: FunctionSpec) -> Self {
        let idle: Arc<Mutex<Vec<Process>>> = Arc::default();
        let (stop, ended) = (context.stop.clone(), Arc::clone(&idle));
        context.tasks.spawn(async move {
            stop.cancelled().await;
            let processes = std::mem::take(&mut *locked(&ended));
            for mut process in processes {
                process.kill().await;
            }
        });
        Self {
            room: Arc::new(Semaphore::new(spec.concurrency)),
            context,
            spec: Arc::new(spec),
            idle,
        }
    }

    /// Invokes the function once there is room. It runs to its end even when the caller goes away.
    pub(crate) async fn invoke(&self, payload: String) -> Result<Bytes, FunctionError> {
        self.invoke_holding(payload, ()).await
    }

    /// Invokes the function as `invoke` does, and drops `held` once it has ended.
    pub(crate) async fn invoke_holding(
        &self,
        payload: String,
        held: impl Send + 'static,
    ) -> Result<Bytes, FunctionError> {
        let this = self.clone();
        let invoked = self.context.tasks.spawn(async move {
            let ended = this.run(payload).await;
            drop(held);
            ended
        });
        let gone = |error: tokio::task::JoinError| FunctionError::new("Runtime.Unknown", &error.to_string());
        invoked.await.map_err(gone)?
    }

    async fn run(&self, payload: String) -> Result<Bytes, FunctionError> {
        let stopped = || FunctionError::new("Runtime.Unknown", "the cloud stops");
        let Ok(_room) = self.room.acquire().await else {
            return Err(stopped());
        };
        let job = Queued {
            id: 0,
            request_id: uuid::Uuid::new_v4().to_string(),
            payload,
            since_ms: now_ms(),
        };
        loop {
            if self.context.stop.is_cancelled() {
                return Err(stopped());
            }
            let warm = locked(&self.idle).pop();
            let mut process = match warm {
                Some(process) => process,
                None => self.start().await?,
            };
            let began = Instant::now();
            let outcome = tokio::select! {
                outcome = process.invoke(&job, &self.context.faults) => outcome,
                () = self.context.kill.cancelled() => Outcome::Abandoned,
            };
            let handed_out = process.handed_out_at().unwrap_or(began);
            process.report(&job, handed_out.elapsed(), process.peak_memory_kib());
            match outcome {
                Outcome::Succeeded(answer) => {
                    if !process.is_over() && !self.context.stop.is_cancelled() {
                        locked(&self.idle).push(process);
                    }
                    return Ok(answer);
                }
                Outcome::Failed(error) => {
                    // the function reported an error and lives, or it is gone
                    if !process.is_over() {
                        locked(&self.idle).push(process);
                    }
                    return Err(error);
                }
                // it ended while it was idle: another one
                Outcome::Undelivered => {}
                Outcome::Abandoned => {
                    process.kill().await;
                    return Err(stopped());
                }
            }
        }
    }

    async fn start(&self) -> Result<Process, FunctionError> {
        let started = Process::start(&self.context, Arc::clone(&self.spec)).await;
        started.map_err(|error| {
            let message = format!("cannot start `{}`: {error}", self.spec.binary.display());
            FunctionError::new("Runtime.InvalidEntrypoint", &message)
        })
    }
}

/// All functions, for callers that wait. A function has separate processes for them and for events
/// of the queue.
#[derive(Clone, Default)]
pub(crate) struct Waiting(Arc<OnceLock<BTreeMap<String, Starting>>>);

/// A function that starts when the first caller waits for it.
struct Starting {
    context: HostContext,
    spec: FunctionSpec,
    started: OnceLock<Synchronous>,
}

impl Waiting {
    /// The functions are there from now on.
    pub(super) fn begin(&self, context: &HostContext, functions: &[FunctionSpec]) {
        let starting = |spec: &FunctionSpec| Starting {
            context: context.clone(),
            spec: spec.clone(),
            started: OnceLock::new(),
        };
        let by_name = functions.iter().map(|spec| (spec.name.clone(), starting(spec)));
        drop(self.0.set(by_name.collect())); // a host starts once
    }

    /// A function's answer.
    pub(crate) async fn invoke(&self, function: &str, payload: String) -> Result<Bytes, FunctionError> {
        let entry = self.0.get().and_then(|functions| functions.get(function));
        let Some(entry) = entry else {
            return Err(FunctionError::new("Runtime.Unknown", "the cloud has not started"));
        };
        let start = || Synchronous::new(entry.context.clone(), entry.spec.clone());
        entry.started.get_or_init(start).invoke(payload).await
    }
}
