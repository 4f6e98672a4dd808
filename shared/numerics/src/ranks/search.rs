//! The search for the entries that clearly differ from one entry.

/// An entry, and 1 divided by the standard error of the difference to it.
pub(super) type Factor = (u32, f32);

/// The entries that clearly differ from the entry `one`.
#[derive(Debug)]
pub(super) struct Sure {
    pub(super) one: usize,
    pub(super) better: Vec<u32>,
    pub(super) worse: Vec<u32>,
    /// The figure of [`Compared::error_to_next`](super::Compared::error_to_next).
    pub(super) error_to_next: Option<f64>,
}

/// The search for the entries that clearly differ from one. An entry that has been found counts no more in the quantile of either
/// side, so one that is clearly better is never also clearly worse.
pub(super) struct Search {
    pub(super) sure: Sure,
    /// The entries not yet found to differ, each with the number of standard errors by which it is better, as a deviate of the
    /// normal distribution.
    pub(super) near: Vec<(Factor, f64)>,
    /// Whether no more entries can be found.
    pub(super) is_over: bool,
}

impl Search {
    /// Whether all remaining differences are within these quantiles.
    pub(super) fn is_within(&self, (worse, better): (f64, f64)) -> bool {
        self.near.iter().all(|(_, t)| (worse..=better).contains(t))
    }

    /// The factors of about `n` of the remaining entries, taken evenly from all of them.
    pub(super) fn factors(&self, n: usize) -> Vec<Factor> {
        let step = self.near.len().div_ceil(n).max(1);
        self.near
            .iter()
            .step_by(step)
            .map(|(factor, _)| *factor)
            .collect()
    }

    /// Moves the remaining entries whose differences are beyond these quantiles to those that clearly differ.
    pub(super) fn tell_apart(&mut self, (worse, better): (f64, f64)) {
        let sure = &mut self.sure;
        self.near.retain(|((other, _), t)| {
            if *t > better {
                sure.better.push(*other);
            } else if *t < worse {
                sure.worse.push(*other);
            }
            (worse..=better).contains(t)
        });
        self.is_over = self.is_within((-1.0, 1.0));
    }
}
