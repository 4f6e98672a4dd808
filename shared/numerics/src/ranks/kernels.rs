//! The two loops that comparing entries spends its time in.

use pulp::{Arch, Simd, WithSimd};

/// Draws that are handled at once.
pub(super) const BLOCK: usize = 32;

/// The sum over the draws of the squared differences of two entries' deviations; in a fixed order.
pub(super) struct SquaredDifferences<'a> {
    /// `(n_draws,)`, a multiple of [`BLOCK`].
    pub(super) of_one: &'a [f32],
    /// Others, each as long.
    pub(super) of_others: &'a [f32],
    /// One for each of the others.
    pub(super) sums: &'a mut [f32],
}

impl SquaredDifferences<'_> {
    pub(super) fn run(self) {
        Arch::new().dispatch(self);
    }
}

impl WithSimd for SquaredDifferences<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let n_draws = self.of_one.len();
        let one = self.of_one.as_chunks::<BLOCK>().0;
        for (sum, other) in self.sums.iter_mut().zip(self.of_others.chunks_exact(n_draws)) {
            let mut partial = [0f32; BLOCK];
            for (one, other) in one.iter().zip(other.as_chunks::<BLOCK>().0) {
                for lane in 0..BLOCK {
                    let difference = other[lane] - one[lane];
                    partial[lane] += difference * difference;
                }
            }
            let mut width = BLOCK;
            while width > 1 {
                width /= 2;
                for lane in 0..width {
                    partial[lane] += partial[lane + width];
                }
            }
            *sum = partial[0];
        }
    }
}

/// The largest over some entries of the studentized differences of deviations, for each draw of a block.
pub(super) struct Largest<'a> {
    /// The deviations of one entry.
    pub(super) of_one: &'a [f32; BLOCK],
    /// Those of all entries.
    pub(super) of_all: &'a [[f32; BLOCK]],
    /// The entries to compare with, and the factor of each: 1 over its standard error, negative to look for the smallest.
    pub(super) others: &'a [(u32, f32)],
}

impl Largest<'_> {
    pub(super) fn run(self) -> [f32; BLOCK] {
        Arch::new().dispatch(self)
    }
}

impl WithSimd for Largest<'_> {
    type Output = [f32; BLOCK];

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> [f32; BLOCK] {
        let mut largest = [f32::NEG_INFINITY; BLOCK];
        for &(other, factor) in self.others {
            let other = &self.of_all[other as usize];
            for lane in 0..BLOCK {
                let t = (other[lane] - self.of_one[lane]) * factor;
                largest[lane] = if t > largest[lane] { t } else { largest[lane] };
            }
        }
        largest
    }
}
