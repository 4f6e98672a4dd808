//! The two loops that take most of the time of comparing entries.

use pulp::{Arch, Simd, WithSimd};

/// The number of draws that are handled at once.
pub(super) const BLOCK: usize = 32;

/// The number of partial sums of squared differences.
const LANES: usize = 16;

/// The sums over the draws of the squared differences of entries' deviations; in a fixed order.
pub(super) struct SquaredDifferences<'a> {
    /// `(n_ones, n_draws)`; `n_draws` is a multiple of [`BLOCK`].
    pub(super) ones: &'a [f32],
    /// `(n_others, n_draws)`
    pub(super) others: &'a [f32],
    pub(super) n_draws: usize,
    /// `(n_ones, n_others)`
    pub(super) sums: &'a mut [f32],
}

impl SquaredDifferences<'_> {
    pub(super) fn run(self) {
        Arch::new().dispatch(self);
    }
}

impl WithSimd for SquaredDifferences<'_> {
    type Output = ();

    /// Two entries with two others at once: what is loaded is used twice.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let row = |rows: &'_ [f32], n: usize| -> (usize, usize) {
            let place = n.min(rows.len() / self.n_draws - 1);
            (place, place * self.n_draws)
        };
        let (n_ones, n_others) = (self.ones.len() / self.n_draws, self.others.len() / self.n_draws);
        for one in (0..n_ones).step_by(2) {
            let ones = [one, one + 1].map(|n| row(self.ones, n));
            for other in (0..n_others).step_by(2) {
                let others = [other, other + 1].map(|n| row(self.others, n));
                let sums = four_sums(
                    ones.map(|(_, start)| self.ones[start..][..self.n_draws].as_chunks().0),
                    others.map(|(_, start)| self.others[start..][..self.n_draws].as_chunks().0),
                );
                for (sums, (one, _)) in sums.iter().zip(ones) {
                    for (sum, (other, _)) in sums.iter().zip(others) {
                        self.sums[one * n_others + other] = *sum;
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn four_sums(ones: [&[[f32; LANES]]; 2], others: [&[[f32; LANES]]; 2]) -> [[f32; 2]; 2] {
    let mut partial = [[[0f32; LANES]; 2]; 2];
    let ones = ones[0].iter().zip(ones[1]);
    for (ones, others) in ones.zip(others[0].iter().zip(others[1])) {
        for (partial, one) in partial.iter_mut().zip([*ones.0, *ones.1]) {
            for (partial, other) in partial.iter_mut().zip([*others.0, *others.1]) {
                for lane in 0..LANES {
                    let difference = other[lane] - one[lane];
                    partial[lane] += difference * difference;
                }
            }
        }
    }
    partial.map(|partial| {
        partial.map(|mut partial| {
            let mut width = LANES;
            while width > 1 {
                width /= 2;
                for lane in 0..width {
                    partial[lane] += partial[lane + width];
                }
            }
            partial[0]
        })
    })
}

/// Updates, for each draw of a block, the smallest and the largest studentized difference of deviations with those to some more
/// entries.
pub(super) struct Extremes<'a> {
    /// The deviations of one entry.
    pub(super) of_one: &'a [f32; BLOCK],
    /// The deviations of all entries.
    pub(super) of_all: &'a [[f32; BLOCK]],
    /// The entries to compare with, each with 1 divided by the standard error of the difference to it.
    pub(super) others: &'a [(u32, f32)],
    /// The smallest differences so far; `largest` has the largest ones.
    pub(super) smallest: &'a mut [f32; BLOCK],
    pub(super) largest: &'a mut [f32; BLOCK],
}

impl Extremes<'_> {
    pub(super) fn run(self) {
        Arch::new().dispatch(self);
    }
}

impl WithSimd for Extremes<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let (one, mut smallest, mut largest) = (*self.of_one, *self.smallest, *self.largest);
        for &(other, factor) in self.others {
            let other = &self.of_all[other as usize];
            for lane in 0..BLOCK {
                let t = (other[lane] - one[lane]) * factor;
                smallest[lane] = if t < smallest[lane] { t } else { smallest[lane] };
                largest[lane] = if t > largest[lane] { t } else { largest[lane] };
            }
        }
        (*self.smallest, *self.largest) = (smallest, largest);
    }
}
