//! What labels are worth, against the grammar's truth.

use dataperf_numerics::agreement::share_interval;
use serde::{Deserialize, Serialize};

/// A share with its 95 % interval (Wilson).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// The number of all.
    pub n: usize,
    /// The number found among them.
    pub n_found: usize,
    /// `n_found / n`; `None` where `n` is 0.
    pub share: Option<f64>,
    /// The two ends of the interval.
    pub interval: Option<(f64, f64)>,
}

impl Share {
    /// The share of `n_found` in `n`.
    pub fn of(n_found: usize, n: usize) -> Self {
        Self {
            n,
            n_found,
            share: (n > 0).then(|| n_found as f64 / n as f64),
            interval: share_interval(n_found, n),
        }
    }

    /// The share of several groups together.
    pub fn of_all(shares: impl IntoIterator<Item = Self>) -> Self {
        let add = |(n_found, n), one: Self| (n_found + one.n_found, n + one.n);
        let (n_found, n) = shares.into_iter().fold((0, 0), add);
        Self::of(n_found, n)
    }

    /// `34.5 (28.1–41.6)`, in percent.
    pub fn to_percent(&self) -> String {
        match (self.share, self.interval) {
            (Some(share), Some((from, to))) => {
                format!("{:.1} ({:.1}–{:.1})", 100.0 * share, 100.0 * from, 100.0 * to)
            }
            _ => "–".to_owned(),
        }
    }
}

/// What is known of an example that the grammar has made.
pub(super) struct Known {
    /// Whether its author says what is true.
    pub(super) is_right: bool,
    pub(super) is_duplicate: bool,
    pub(super) is_fooling: bool,
    /// Whether the first rater agrees with the author.
    pub(super) first: Option<bool>,
    /// Whether it is decided that the author is right.
    pub(super) is_correct: Option<bool>,
}

/// What wrong labels and wrong verdicts do to a round's fooling examples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// Right labels among all examples.
    pub all: Share,
    /// Right labels among the examples that fooled the model: without any validation.
    pub fooling: Share,
    /// Right labels among the fooling examples with which the first rater agrees.
    pub first_verdict: Share,
    /// Right labels among the fooling examples that are validated.
    pub validated: Share,
    /// Refused examples among the fooling examples with a right label.
    pub lost: Share,
    /// Validated examples among the fooling examples with a wrong label.
    pub let_through: Share,
}

impl Quality {
    pub(super) fn of(known: &[Known]) -> Self {
        let new: Vec<&Known> = known.iter().filter(|one| !one.is_duplicate).collect();
        let right = |is: &dyn Fn(&Known) -> bool| {
            let those: Vec<&&Known> = new.iter().filter(|one| is(one)).collect();
            Share::of(those.iter().filter(|one| one.is_right).count(), those.len())
        };
        let decided = |is_right: bool, is_correct: bool| {
            let those: Vec<&&Known> = new
                .iter()
                .filter(|one| one.is_fooling && one.is_right == is_right)
                .collect();
            let found = those
                .iter()
                .filter(|one| one.is_correct == Some(is_correct))
                .count();
            Share::of(found, those.len())
        };
        Self {
            all: right(&|_| true),
            fooling: right(&|one| one.is_fooling),
            first_verdict: right(&|one| one.is_fooling && one.first == Some(true)),
            validated: right(&|one| one.is_fooling && one.is_correct == Some(true)),
            lost: decided(true, false),
            let_through: decided(false, true),
        }
    }
}
