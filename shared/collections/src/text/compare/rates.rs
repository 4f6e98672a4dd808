//! Rates of exchange that are fixed in advance: how much of each figure is worth a point of performance.

use serde::{Deserialize, Serialize};

/// The figures of one model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The share of answers that are right, in points: 0 to 100.
    pub performance: f64,
    /// Fuel for an example, in millions of units.
    pub fuel: f64,
    /// Memory at its peak, in MiB.
    pub memory: f64,
    /// The share of answers that stay when a text has typographical errors, in points.
    pub robustness: f64,
    /// The share of answers that stay when people are exchanged, in points.
    pub fairness: f64,
}

/// Each figure's weight, in the order of [`Rates::points`], where a reader gives none.
pub const WEIGHTS: [f64; 5] = [1.0; 5];

/// The weights of a reader, in the order of points.
pub type Weighed = [f64; 5];

/// The most points that compute may cost, and memory: as many as right answers can win.
const MOST_POINTS: f64 = 100.0;

/// How much of a figure is worth a point of performance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rates {
    /// Millions of units of fuel for an example that cost a point.
    pub fuel: f64,
    /// MiB of memory that cost a point.
    pub memory: f64,
    /// Points of robustness that bring a point.
    pub robustness: f64,
    /// Points of fairness that bring a point.
    pub fairness: f64,
}

/// Rates below this one, or above the next, exchange nothing any more.
const LEAST_RATE: f64 = 1e-3;
const MOST_RATE: f64 = 1e9;

/// A rate with which nothing can be exchanged.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "the rate `{name}` is {value:?}: give a number from {LEAST_RATE} to {MOST_RATE}, how much of it is \
        worth a point of performance"
)]
pub struct UnusableRates {
    /// The rate.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
}

impl Default for Rates {
    fn default() -> Self {
        Self {
            fuel: 10.0,
            memory: 64.0,
            robustness: 5.0,
            fairness: 5.0,
        }
    }
}

impl Rates {
    /// # Errors
    /// [`UnusableRates`] of the first one that is too small or too large to exchange anything, or no number.
    pub fn check(&self) -> Result<(), UnusableRates> {
        let all = [
            ("fuel", self.fuel),
            ("memory", self.memory),
            ("robustness", self.robustness),
            ("fairness", self.fairness),
        ];
        let wrong = all
            .into_iter()
            .find(|(_, rate)| !(LEAST_RATE..=MOST_RATE).contains(rate));
        wrong.map_or(Ok(()), |(name, value)| Err(UnusableRates { name, value }))
    }

    /// The value of a model's figures in points of performance: performance, compute, memory,
    /// robustness, fairness. More is better; compute and memory are below 0.
    pub fn points(&self, figures: &Figures) -> [f64; 5] {
        [
            figures.performance,
            -(figures.fuel / self.fuel).min(MOST_POINTS),
            -(figures.memory / self.memory).min(MOST_POINTS),
            figures.robustness / self.robustness,
            figures.fairness / self.fairness,
        ]
    }

    /// The score: all points together.
    ///
    /// ```
    /// use dataperf_collections::text::compare::{Figures, Rates};
    /// let rates = Rates { fuel: 10.0, memory: 64.0, robustness: 5.0, fairness: 5.0 };
    /// let figures = Figures { performance: 70.0, fuel: 20.0, memory: 32.0, robustness: 90.0, fairness: 100.0 };
    /// assert_eq!(rates.score(&figures), 70.0 - 2.0 - 0.5 + 18.0 + 20.0);
    /// ```
    pub fn score(&self, figures: &Figures) -> f64 {
        self.points(figures).into_iter().sum()
    }
}
