//! Faults that a test may switch on: what clouds do on bad days.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::broadcast;

use crate::database::locked;

/// Switches for faults; all off at first, and each holds until it is switched back.
#[derive(Debug)]
pub struct Faults {
    refuse_table_writes: AtomicBool,
    n_deliveries: AtomicUsize,
    event_delay_ms: AtomicU64,
    kill_next_after: Mutex<BTreeMap<String, Duration>>,
    kills: broadcast::Sender<String>,
}

impl Faults {
    pub(crate) fn new() -> Self {
        Self {
            refuse_table_writes: AtomicBool::new(false),
            n_deliveries: AtomicUsize::new(1),
            event_delay_ms: AtomicU64::new(0),
            kill_next_after: Mutex::new(BTreeMap::new()),
            kills: broadcast::Sender::new(16),
        }
    }

    /// Answers every write to a table with `ProvisionedThroughputExceededException`, which clients retry.
    pub fn refuse_table_writes(&self, refuse: bool) {
        self.refuse_table_writes.store(refuse, Ordering::SeqCst);
    }

    /// Delivers each event of a new object `n_deliveries` times, as separate invocations; 1 is the normal state.
    pub fn duplicate_events(&self, n_deliveries: usize) {
        self.n_deliveries.store(n_deliveries, Ordering::SeqCst);
    }

    /// Holds each event of a new object back for `delay`.
    pub fn delay_events(&self, delay: Duration) {
        self.event_delay_ms.store(
            u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            Ordering::SeqCst,
        );
    }

    /// Kills every process of `function` that runs an invocation now.
    pub fn kill_running(&self, function: &str) {
        // an error says that nothing runs
        let _ = self.kills.send(function.to_owned());
    }

    /// Kills the process of the next invocation of `function` when it has run for `after`, unless it ended before.
    pub fn kill_next_after(&self, function: &str, after: Duration) {
        locked(&self.kill_next_after).insert(function.to_owned(), after);
    }

    pub(crate) fn table_writes_are_refused(&self) -> bool {
        self.refuse_table_writes.load(Ordering::SeqCst)
    }

    pub(crate) fn n_deliveries(&self) -> usize {
        self.n_deliveries.load(Ordering::SeqCst)
    }

    pub(crate) fn event_delay(&self) -> Duration {
        Duration::from_millis(self.event_delay_ms.load(Ordering::SeqCst))
    }

    /// Returns when the running invocation of `function` is to be killed; never if no fault asks for it.
    pub(crate) async fn kill_is_due(&self, function: &str) {
        let planned = locked(&self.kill_next_after).remove(function);
        let mut kills = self.kills.subscribe();
        let killed_by_hand = async {
            loop {
                match kills.recv().await {
                    Ok(killed) if killed == function => return,
                    Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
                }
            }
        };
        match planned {
            Some(after) => tokio::select! {
                () = tokio::time::sleep(after) => {}
                () = killed_by_hand => {}
            },
            None => killed_by_hand.await,
        }
    }
}
