//! The search for the entries that are told apart from one.

/// An entry, and 1 over the standard error of the difference to it.
pub(super) type Factor = (u32, f32);

/// The entries that are told apart from one.
#[derive(Debug)]
pub(super) struct Sure {
    pub(super) one: usize,
    pub(super) better: Vec<u32>,
    pub(super) worse: Vec<u32>,
    /// As in [`Compared::error_to_next`](super::Compared::error_to_next).
    pub(super) error_to_next: Option<f64>,
}

/// The search for them. One that is told apart counts no more in the quantile of either side: one that is surely better is not taken
/// for worse.
pub(super) struct Search {
    pub(super) sure: Sure,
    /// Those not yet told apart, each with by how many standard errors it is better, as a deviate of the normal distribution.
    pub(super) near: Vec<(Factor, f64)>,
    /// Whether nothing more will be found.
    pub(super) is_over: bool,
}

impl Search {
    /// Whether no difference is beyond these.
    pub(super) fn is_within(&self, (worse, better): (f64, f64)) -> bool {
        self.near.iter().all(|(_, t)| (worse..=better).contains(t))
    }

    /// The factors of so many near entries, evenly from all of them.
    pub(super) fn factors(&self, n: usize) -> Vec<Factor> {
        let step = self.near.len().div_ceil(n).max(1);
        self.near
            .iter()
            .step_by(step)
            .map(|(factor, _)| *factor)
            .collect()
    }

    /// Takes those out of the near ones whose differences are beyond these.
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
