//! How long ports are waited for, and how many bytes they gave.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Adds up the calls of one port; clones add to the same sum.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meter {
    sums: Arc<Sums>,
}

#[derive(Debug, Default)]
struct Sums {
    nanos: AtomicU64,
    n_bytes: AtomicU64,
}

/// A meter's readings at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Reading {
    /// The time spent in calls; calls at the same time are added up.
    pub(crate) waited: Duration,
    /// Bytes that were read.
    pub(crate) n_bytes: u64,
}

/// A call that runs until this is dropped.
pub(crate) struct Call {
    meter: Meter,
    began: Instant,
}

impl Meter {
    /// Begins a call, which ends when the result is dropped.
    pub(crate) fn call(&self) -> Call {
        Call {
            meter: self.clone(),
            began: Instant::now(),
        }
    }

    /// Adds bytes that were read.
    pub(crate) fn read(&self, n_bytes: usize) {
        self.sums.n_bytes.fetch_add(n_bytes as u64, Ordering::Relaxed);
    }

    /// The sums since the meter was made.
    pub(crate) fn reading(&self) -> Reading {
        Reading {
            waited: Duration::from_nanos(self.sums.nanos.load(Ordering::Relaxed)),
            n_bytes: self.sums.n_bytes.load(Ordering::Relaxed),
        }
    }

    /// The increase since `before`.
    pub(crate) fn since(&self, before: Reading) -> Reading {
        let now = self.reading();
        Reading {
            waited: now.waited.saturating_sub(before.waited),
            n_bytes: now.n_bytes.saturating_sub(before.n_bytes),
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let nanos = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.meter.sums.nanos.fetch_add(nanos, Ordering::Relaxed);
    }
}

/// A meter for each port.
#[derive(Debug, Default)]
pub(crate) struct Meters {
    pub(crate) submissions: Meter,
    pub(crate) datasets: Meter,
    pub(crate) table: Meter,
    pub(crate) results: Meter,
}

impl Meters {
    pub(crate) fn each(&self) -> [&Meter; 4] {
        [&self.submissions, &self.datasets, &self.table, &self.results]
    }

    /// All readings, in the order of the fields.
    pub(crate) fn read(&self) -> [Reading; 4] {
        self.each().map(Meter::reading)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_one_sum_and_readings_are_differences() {
        let meter = Meter::default();
        meter.read(5);
        let before = meter.reading();
        let other = meter.clone();
        drop(other.call());
        other.read(7);
        let since = meter.since(before);
        assert_eq!(since.n_bytes, 7);
        assert_eq!(meter.reading().n_bytes, 12);
        assert_eq!(meter.reading().waited, before.waited + since.waited);
    }
}
