//! The weights of a test set's items under several draws at once, and their sums.

use std::marker::PhantomData;
use std::ops::AddAssign;

use pulp::{Arch, Simd, WithSimd};

/// The number of draws in a batch.
pub const LANES: usize = 32;

/// How often each item counts under each of [`LANES`] draws.
#[derive(Debug, Clone)]
pub struct Batch {
    /// `(n_items,)`: the weights of each item, one for each draw.
    pub(super) weights: Vec<[u8; LANES]>,
    /// An upper limit of the sum of all weights of a draw.
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

    /// The sums of the weights over the items of each cell, for each draw: `(n_cells,)`.
    ///
    /// # Shapes and units
    /// `cells`: `(n_items,)` numbers below `n_cells`.
    ///
    /// # Panics
    /// If `cells` is not of this shape.
    pub(super) fn sums(&self, cells: &[u16], n_cells: usize) -> Vec<[u32; LANES]> {
        assert_eq!(cells.len(), self.weights.len(), "one cell for each item");
        assert!(
            cells.iter().all(|&cell| usize::from(cell) < n_cells),
            "cells below their number"
        );
        if u16::try_from(self.max_total).is_ok() {
            let sums = Arch::new().dispatch(Sums::<u16>::new(&self.weights, cells, n_cells));
            sums.into_iter().map(|sum| sum.map(u32::from)).collect()
        } else {
            Arch::new().dispatch(Sums::<u32>::new(&self.weights, cells, n_cells))
        }
    }
}

/// Computes the sums as numbers of type `T`: registers hold more of the narrower types.
struct Sums<'a, T> {
    weights: &'a [[u8; LANES]],
    cells: &'a [u16],
    n_cells: usize,
    number: PhantomData<T>,
}

impl<'a, T> Sums<'a, T> {
    fn new(weights: &'a [[u8; LANES]], cells: &'a [u16], n_cells: usize) -> Self {
        Self {
            weights,
            cells,
            n_cells,
            number: PhantomData,
        }
    }
}

impl<T: Copy + Default + From<u8> + AddAssign> WithSimd for Sums<'_, T> {
    type Output = Vec<[T; LANES]>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        let mut sums = vec![[T::default(); LANES]; self.n_cells];
        for (&cell, weights) in self.cells.iter().zip(self.weights) {
            // copied to arrays of their own, which the compiler knows not to overlap
            let wide: [T; LANES] = weights.map(T::from);
            let mut sum = sums[usize::from(cell)];
            for lane in 0..LANES {
                sum[lane] += wide[lane];
            }
            sums[usize::from(cell)] = sum;
        }
        sums
    }
}
