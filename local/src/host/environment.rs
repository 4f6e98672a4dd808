//! One process through its life: start, invocations, idle end.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::HostContext;
use super::message::Message;
use super::process::{Outcome, Process};
use crate::config::FunctionSpec;
use crate::database::now_ms;
use crate::error::DatabaseError;
use crate::queue::failure_record::FunctionError;
use crate::queue::{AfterFailure, Queued};
use crate::status::Warmth;

/// Starts a process for `first` and keeps it for later work until it dies, is idle for too long, or the host stops.
pub(crate) async fn run(
    context: HostContext,
    spec: Arc<FunctionSpec>,
    first: Queued,
    mailbox: mpsc::UnboundedSender<Message>,
) {
    let (jobs_sender, mut jobs) = mpsc::channel(1);
    let environment = Environment { context, spec };
    environment.serve(first, &mut jobs, jobs_sender, &mailbox).await;
    // the dispatcher may have sent work while the process ended: it goes back untouched
    jobs.close();
    // not `try_recv`, which finds nothing while the dispatcher is in the middle of sending
    while let Some(job) = jobs.recv().await {
        let _ = mailbox.send(Message::Done { id: job.id });
    }
    // fails only when the dispatcher is gone, because the host stops
    let _ = mailbox.send(Message::Ended);
}

/// The numbers, the same on every Unix, of the errors that the machine or the process has too many files open.
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;

/// How long an invocation waits after the machine could not start a process for it.
const PAUSE_IN_SHORTAGE: Duration = Duration::from_secs(1);

/// Whether a process could not be started because the machine is short of something, and not because of the program: processes, memory, open files
/// or room on the disk.
fn is_shortage(error: &io::Error) -> bool {
    use io::ErrorKind::{OutOfMemory, QuotaExceeded, StorageFull, WouldBlock};
    let is_of_kind = matches!(
        error.kind(),
        OutOfMemory | QuotaExceeded | StorageFull | WouldBlock
    );
    is_of_kind || matches!(error.raw_os_error(), Some(ENFILE | EMFILE))
}

struct Environment {
    context: HostContext,
    spec: Arc<FunctionSpec>,
}

impl Environment {
    async fn serve(
        &self,
        first: Queued,
        jobs: &mut mpsc::Receiver<Queued>,
        jobs_sender: mpsc::Sender<Queued>,
        mailbox: &mpsc::UnboundedSender<Message>,
    ) {
        let id = first.id;
        let mut process = match Process::start(&self.context, Arc::clone(&self.spec)).await {
            Ok(process) => process,
            Err(error) if is_shortage(&error) => {
                let binary = self.spec.binary.display();
                tracing::warn!("can't start `{binary}` now, and tries again: {error}");
                tokio::time::sleep(PAUSE_IN_SHORTAGE).await;
                let _ = mailbox.send(Message::Done { id });
                return;
            }
            Err(error) => {
                let message = format!("cannot start `{}`: {error}", self.spec.binary.display());
                let error = FunctionError::new("Runtime.InvalidEntrypoint", &message);
                self.settle(&first, Outcome::Failed(error)).await;
                self.context.queue.announce();
                let _ = mailbox.send(Message::Done { id });
                return;
            }
        };
        let mut job = first;
        let mut warmth = Warmth::Cold;
        loop {
            let id = job.id;
            self.invoke(&mut process, job, warmth).await;
            let _ = mailbox.send(Message::Done { id });
            // without a time to wait for more work, each process does one piece of it
            if process.is_over() || self.context.idle_timeout.is_zero() {
                break;
            }
            warmth = Warmth::Warm;
            if mailbox
                .send(Message::Idle {
                    jobs: jobs_sender.clone(),
                })
                .is_err()
            {
                break;
            }
            let next = tokio::select! {
                next = jobs.recv() => next,
                () = process.ended() => None,
                () = tokio::time::sleep(self.context.idle_timeout) => None,
                () = self.context.stop.cancelled() => None,
            };
            match next {
                Some(next) => job = next,
                None => break,
            }
        }
        process.kill().await;
    }

    async fn invoke(&self, process: &mut Process, job: Queued, warmth: Warmth) {
        let name = &self.spec.name;
        self.context
            .status
            .update(name, |function| function.n_running += 1);
        let began = Instant::now();
        let outcome = tokio::select! {
            outcome = process.invoke(&job, &self.context.faults) => outcome,
            () = self.context.kill.cancelled() => Outcome::Abandoned,
        };
        if matches!(outcome, Outcome::Abandoned) {
            process.kill().await;
        }
        let peak_kib = process.peak_memory_kib();
        let handed_out = process.handed_out_at().unwrap_or(began);
        self.context.status.update(name, |function| {
            if let Some(init) = process.take_init_time() {
                function.add_init(init);
            }
            if matches!(outcome, Outcome::Succeeded(_)) {
                function.add_run(warmth, handed_out.elapsed());
            }
            function.peak_memory_kib = function.peak_memory_kib.max(peak_kib);
        });
        process.report(&job, handed_out.elapsed(), peak_kib);
        self.settle(&job, outcome).await;
        self.context
            .status
            .update(name, |function| function.n_running -= 1);
        // after the counters, so that who waits for the queue finds them true
        self.context.queue.announce();
    }

    /// Brings the outcome to the queue; when that fails the invocation stays there and runs again.
    async fn settle(&self, job: &Queued, outcome: Outcome) {
        if let Err(error) = self.record(job, outcome).await {
            tracing::error!(function = self.spec.name, request_id = job.request_id, %error, "the outcome is lost");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    async fn record(&self, job: &Queued, outcome: Outcome) -> Result<(), DatabaseError> {
        let (queue, status, name) = (&self.context.queue, &self.context.status, &self.spec.name);
        match outcome {
            Outcome::Succeeded(_) => {
                queue.succeeded(job.id).await?;
                let since_queued = Duration::from_millis(u64::try_from(now_ms() - job.since_ms).unwrap_or(0));
                status.update(name, |function| function.add_success(since_queued));
            }
            Outcome::Failed(error) => {
                let error_type = error.error_type.clone();
                let after = queue.failed(job.id, error).await?;
                tracing::warn!(
                    function = name,
                    request_id = job.request_id,
                    error_type,
                    ?after,
                    "invocation failed"
                );
                status.update(name, |function| match after {
                    AfterFailure::Retry => function.n_retried += 1,
                    AfterFailure::GivenUp => function.n_failed += 1,
                });
            }
            // it never ran, or was cut off by a stop: it counts as no attempt
            Outcome::Undelivered | Outcome::Abandoned => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_shortage_differs_from_a_start_failure() {
        let is = |number| is_shortage(&io::Error::from_raw_os_error(number));
        for (shortage, number) in [
            ("processes", 11),
            ("memory", 12),
            ("files of the machine", 23),
            ("files of the process", 24),
            ("the disk", 28),
        ] {
            assert!(is(number), "{shortage}");
        }
        for (fault, number) in [
            ("no such file", 2),
            ("no program", 8),
            ("no right", 13),
            ("a folder", 21),
        ] {
            assert!(!is(number), "{fault}");
        }
    }
}
