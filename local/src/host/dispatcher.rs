//! Hands the work of one function to its processes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use super::HostContext;
use super::environment;
use super::message::Message;
use crate::config::FunctionSpec;
use crate::database::now_ms;
use crate::queue::Queued;

/// How long to wait after the queue could not be read.
const AFTER_FAULT: Duration = Duration::from_secs(1);
/// The maximum wait before the queue is read again while a process is free: a producer may have
/// stopped before sending its signal.
const AT_MOST: Duration = Duration::from_secs(5);
/// How often to look whether events are held no more.
const WHILE_HELD: Duration = Duration::from_millis(5);

struct Dispatcher {
    context: HostContext,
    spec: Arc<FunctionSpec>,
    mailbox: mpsc::UnboundedSender<Message>,
    /// Warm processes; the last one used is taken first, so that the others may go.
    idle: Vec<mpsc::Sender<Queued>>,
    n_processes: usize,
    in_flight: BTreeSet<i64>,
}

/// Hands out work until the host stops.
pub(crate) async fn dispatch(context: HostContext, spec: Arc<FunctionSpec>) {
    let (mailbox, mut messages) = mpsc::unbounded_channel();
    let mut work = context.queue.work_of(&spec.name);
    let stop = context.stop.clone();
    let mut dispatcher = Dispatcher {
        context,
        spec,
        mailbox,
        idle: Vec::new(),
        n_processes: 0,
        in_flight: BTreeSet::new(),
    };
    loop {
        // what changes from here on wakes the loop again, so nothing is missed between reading and waiting
        work.mark_unchanged();
        let wait = dispatcher.hand_out();
        tokio::select! {
            () = stop.cancelled() => return,
            Some(message) = messages.recv() => dispatcher.hear(message),
            _ = work.changed() => {}
            () = tokio::time::sleep(wait) => {}
        }
        while let Ok(message) = messages.try_recv() {
            dispatcher.hear(message);
        }
    }
}

impl Dispatcher {
    fn hear(&mut self, message: Message) {
        match message {
            Message::Done { id } => {
                self.in_flight.remove(&id);
            }
            Message::Idle { jobs } => self.idle.push(jobs),
            Message::Ended => self.n_processes -= 1,
        }
    }

    /// Hands out all that is due while there is room; how long until more is due.
    fn hand_out(&mut self) -> Duration {
        if self.context.faults.events_are_held() {
            return WHILE_HELD;
        }
        let n_free = self.spec.concurrency - self.in_flight.len();
        if n_free == 0 {
            return Duration::MAX; // a process that is done wakes the loop
        }
        // at most `concurrency - n_free` of these are in flight, so enough are left
        let (due, next_ms) = match self.context.queue.due(&self.spec.name, self.spec.concurrency) {
            Ok(due) => due,
            Err(error) => {
                tracing::error!(function = self.spec.name, %error, "cannot read the queue");
                return AFTER_FAULT;
            }
        };
        let waiting: Vec<Queued> = due
            .into_iter()
            .filter(|job| !self.in_flight.contains(&job.id))
            .collect();
        for job in waiting.into_iter().take(n_free) {
            self.assign(job);
        }
        let until_next = next_ms.map(|next_ms| u64::try_from(next_ms - now_ms()).unwrap_or(0));
        until_next.map_or(AT_MOST, |ms| AT_MOST.min(Duration::from_millis(ms)))
    }

    fn assign(&mut self, mut job: Queued) {
        let id = job.id;
        while let Some(jobs) = self.idle.pop() {
            match jobs.try_send(job) {
                Ok(()) => {
                    self.in_flight.insert(id);
                    return;
                }
                // the process ended while idle
                Err(
                    mpsc::error::TrySendError::Closed(returned) | mpsc::error::TrySendError::Full(returned),
                ) => job = returned,
            }
        }
        if self.n_processes < self.spec.concurrency {
            self.in_flight.insert(id);
            self.n_processes += 1;
            let process = environment::run(
                self.context.clone(),
                Arc::clone(&self.spec),
                job,
                self.mailbox.clone(),
            );
            self.context.tasks.spawn(process);
        }
        // else: a process is about to end, which wakes the loop
    }
}
