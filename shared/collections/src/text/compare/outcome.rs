//! How a model did on the examples of all rounds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Figures, Measured};
use crate::text::task::Task;

/// How a model's answers to one example are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    /// Whether the answer is right.
    pub is_right: bool,
    /// Whether the answer stays the same when the text has typographical errors; `None` where no word is long enough for one.
    pub is_robust: Option<bool>,
    /// Whether the answer stays the same if the text names other people; `None` if it names none.
    pub is_fair: Option<bool>,
}

/// A share of examples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// The number of examples for which it holds.
    pub n: usize,
    /// The number of all examples.
    pub of: usize,
}

impl Share {
    pub(super) fn count(&mut self, is_so: bool, n: usize) {
        self.n += usize::from(is_so) * n;
        self.of += n;
    }

    /// In points, 0 to 100; 100 without examples.
    pub fn points(self) -> f64 {
        if self.of == 0 {
            100.0
        } else {
            100.0 * self.n as f64 / self.of as f64
        }
    }
}

/// How a model did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Right answers of each round.
    pub rounds: BTreeMap<String, Share>,
    /// Right answers of each task.
    pub tasks: BTreeMap<Task, Share>,
    /// Answers that stay when the text has typographical errors.
    pub robust: Share,
    /// Answers that stay when other people are in the text.
    pub fair: Share,
}

impl Outcome {
    /// The figures of a model: the mean of the rounds' shares of right answers, and what its run took for each input.
    pub fn figures(&self, measured: Measured, n_inputs: usize) -> Figures {
        let shares: Vec<f64> = self.rounds.values().map(|share| share.points()).collect();
        Figures {
            performance: dataperf_numerics::metrics::mean(&shares),
            fuel: measured.fuel as f64 / 1e6 / n_inputs.max(1) as f64,
            memory: measured.memory_bytes as f64 / f64::from(1 << 20),
            robustness: self.robust.points(),
            fairness: self.fair.points(),
        }
    }
}
