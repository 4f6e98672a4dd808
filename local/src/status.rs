//! Counters of the local cloud's activity.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::Value;

use crate::lock::locked;

/// The state at one moment; counters begin at the start of this process.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Snapshot {
    /// Invocations that wait, for their turn or for their retry.
    pub n_waiting: usize,
    /// Invocations that run.
    pub n_running: usize,
    /// Invocations that succeeded.
    pub n_succeeded: usize,
    /// Invocations that failed for good and have a record of failure.
    pub n_failed: usize,
    /// Failed attempts that are followed by a retry.
    pub n_retried: usize,
    /// The same for each function, with its times.
    pub functions: BTreeMap<String, FunctionSnapshot>,
    /// The requests of the tables, by the name of the operation.
    pub table_operations: BTreeMap<String, usize>,
}

/// Counters and times of one function.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct FunctionSnapshot {
    /// Invocations that run.
    pub n_running: usize,
    /// Invocations that succeeded.
    pub n_succeeded: usize,
    /// Invocations that failed for good.
    pub n_failed: usize,
    /// Failed attempts that are followed by a retry.
    pub n_retried: usize,
    /// From the start of a process to its first request for work.
    pub init: Times,
    /// From handing out the first work of a process to its answer.
    pub cold: Times,
    /// From handing out later work of a process to its answer.
    pub warm: Times,
    /// From the moment an event is queued to the answer of the attempt that succeeded.
    pub queued_to_succeeded: Times,
    /// The most memory any process held, in KiB; 0 where the system does not tell.
    pub peak_memory_kib: u64,
    /// The numbers that the function wrote into its log, by name.
    pub metrics: BTreeMap<String, Metric>,
}

/// A summary of a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Metric {
    /// How many values there were.
    pub n: usize,
    /// Their sum.
    pub sum: f64,
    /// The largest.
    pub max: f64,
}

/// A summary of durations, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Times {
    /// How many there were.
    pub n: usize,
    /// The shortest.
    pub min_ms: f64,
    /// The longest.
    pub max_ms: f64,
    /// Their sum.
    pub total_ms: f64,
    /// The last one.
    pub last_ms: f64,
}

impl Times {
    fn add(&mut self, duration: Duration) {
        let ms = duration.as_secs_f64() * 1e3;
        self.min_ms = if self.n == 0 { ms } else { self.min_ms.min(ms) };
        self.max_ms = self.max_ms.max(ms);
        self.total_ms += ms;
        self.last_ms = ms;
        self.n += 1;
    }
}

/// Whether the process had worked before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Warmth {
    Cold,
    Warm,
}

/// The counters that the snapshot is made of.
#[derive(Debug, Default)]
pub(crate) struct Status {
    functions: Mutex<BTreeMap<String, FunctionSnapshot>>,
    table_operations: Mutex<BTreeMap<String, usize>>,
}

impl Status {
    pub(crate) fn count_operation(&self, operation: &str) {
        *locked(&self.table_operations)
            .entry(operation.to_owned())
            .or_default() += 1;
    }

    pub(crate) fn update(&self, function: &str, change: impl FnOnce(&mut FunctionSnapshot)) {
        change(locked(&self.functions).entry(function.to_owned()).or_default());
    }

    pub(crate) fn n_running(&self) -> usize {
        locked(&self.functions)
            .values()
            .map(|function| function.n_running)
            .sum()
    }

    /// The counters together with `n_open`, the number of invocations on the queue.
    pub(crate) fn snapshot(&self, n_open: usize) -> Snapshot {
        let functions = locked(&self.functions).clone();
        let sum = |count: fn(&FunctionSnapshot) -> usize| functions.values().map(count).sum::<usize>();
        let n_running = sum(|function| function.n_running);
        Snapshot {
            n_waiting: n_open.saturating_sub(n_running),
            n_running,
            n_succeeded: sum(|function| function.n_succeeded),
            n_failed: sum(|function| function.n_failed),
            n_retried: sum(|function| function.n_retried),
            functions,
            table_operations: locked(&self.table_operations).clone(),
        }
    }
}

impl FunctionSnapshot {
    /// Adds the numbers of a line of the log that has some.
    pub(crate) fn add_line(&mut self, line: &str) {
        let Ok(line) = serde_json::from_str::<Value>(line) else {
            return;
        };
        for (name, value) in line["numbers"].as_object().into_iter().flatten() {
            if let Some(value) = value.as_f64() {
                let metric = self.metrics.entry(name.clone()).or_default();
                metric.n += 1;
                metric.sum += value;
                metric.max = if metric.n == 1 {
                    value
                } else {
                    metric.max.max(value)
                };
            }
        }
    }

    pub(crate) fn add_init(&mut self, duration: Duration) {
        self.init.add(duration);
    }

    pub(crate) fn add_run(&mut self, warmth: Warmth, duration: Duration) {
        match warmth {
            Warmth::Cold => self.cold.add(duration),
            Warmth::Warm => self.warm.add(duration),
        }
    }

    pub(crate) fn add_success(&mut self, since_queued: Duration) {
        self.n_succeeded += 1;
        self.queued_to_succeeded.add(since_queued);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_sum_over_lines_and_others_stay() {
        let mut function = FunctionSnapshot::default();
        let line = |scored: u32| format!(r#"{{"numbers": {{"Scored": {scored}, "text": "7"}}, "x": 7}}"#);
        for line in [
            line(1),
            line(0),
            "START RequestId".into(),
            r#"{"level": "INFO", "Scored": 5}"#.into(),
        ] {
            function.add_line(&line);
        }
        let expected = Metric {
            n: 2,
            sum: 1.0,
            max: 1.0,
        };
        assert_eq!(function.metrics, [("Scored".to_owned(), expected)].into());
    }
}
