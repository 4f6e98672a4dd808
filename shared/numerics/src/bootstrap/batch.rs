//! The weights of an eval set's items under some draws at once, and their sums.

use std::marker::PhantomData;
use std::ops::AddAssign;

use pulp::{Arch, Simd, WithSimd};

/// Draws of a batch.
pub const LANES: usize = 32;

/// No item of an eval set belongs to this cell.
pub(super) const NO_CELL: u16 = u16::MAX;

/// How often each item counts, under [`LANES`] draws at once.
#[derive(Debug, Clone)]
pub struct Batch {
    /// `(n_items,)`, a weight for each draw.
    pub(super) weights: Vec<[u8; LANES]>,
    /// No draw's weights add up to more.
    pub(super) max_total: usize,
}

impl Batch {
    /// The weights of the items under one draw of the batch, `(n_items,)`.
    ///
    /// # Panics
    /// If the batch has no such draw.
    pub fn weights_of(&self, lane: usize) -> Vec<u32> {
        self.weights.iter().map(|of_item| of_item[lane].into()).collect()
    }

    /// The sums of the weights over the items of each cell, for each draw, and for several divisions of the items into cells:
    /// `(n_divisions, n_cells)`.
    ///
    /// # Shapes and units
    /// `divisions`: `(n_items,)` cells below `n_cells` each, or [`NO_CELL`] for an item that belongs to none.
    ///
    /// # Panics
    /// If a division is not of this shape.
    pub(super) fn sums(&self, divisions: &[Vec<u16>], n_cells: usize) -> Vec<Vec<[u32; LANES]>> {
        let mut all = Vec::with_capacity(divisions.len());
        for some in divisions.chunks(AT_ONCE) {
            assert!(
                some.iter().all(|cells| cells.len() == self.weights.len()),
                "one cell for each item"
            );
            if u16::try_from(self.max_total).is_ok() {
                let sums = Arch::new().dispatch(Sums::<u16>::new(&self.weights, some, n_cells));
                let widened = sums.into_iter().map(|sum| sum.map(u32::from)).collect::<Vec<_>>();
                all.extend(widened.chunks(n_cells + 1).map(|sums| sums[..n_cells].to_vec()));
            } else {
                let sums = Arch::new().dispatch(Sums::<u32>::new(&self.weights, some, n_cells));
                all.extend(sums.chunks(n_cells + 1).map(|sums| sums[..n_cells].to_vec()));
            }
        }
        all
    }
}

/// Divisions whose sums are in the processor's cache together.
const AT_ONCE: usize = 16;

/// Sums as numbers of `T`: registers hold more of the narrower ones.
struct Sums<'a, T> {
    weights: &'a [[u8; LANES]],
    divisions: &'a [Vec<u16>],
    n_cells: usize,
    of: PhantomData<T>,
}

impl<'a, T> Sums<'a, T> {
    fn new(weights: &'a [[u8; LANES]], divisions: &'a [Vec<u16>], n_cells: usize) -> Self {
        Self {
            weights,
            divisions,
            n_cells,
            of: PhantomData,
        }
    }
}

impl<T: Copy + Default + From<u8> + AddAssign> WithSimd for Sums<'_, T> {
    /// One division after another, with one cell more for the items that belong to none.
    type Output = Vec<[T; LANES]>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        let width = self.n_cells + 1;
        let mut sums = vec![[T::default(); LANES]; self.divisions.len() * width];
        for (item, weights) in self.weights.iter().enumerate() {
            let mut wide = [T::default(); LANES];
            for lane in 0..LANES {
                wide[lane] = weights[lane].into();
            }
            for (cells, sums) in self.divisions.iter().zip(sums.chunks_exact_mut(width)) {
                let sums = &mut sums[usize::from(cells[item]).min(width - 1)];
                for lane in 0..LANES {
                    sums[lane] += wide[lane];
                }
            }
        }
        sums
    }
}
