//! The weights of an eval set's items under some draws at once, and their sums.

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

    /// The sums of the weights over the items of each cell, for each draw: `(n_cells,)`.
    ///
    /// # Shapes and units
    /// `cells`: `(n_items,)` below `n_cells`, or [`NO_CELL`] for an item that belongs to none.
    ///
    /// # Panics
    /// If `cells` is not of this shape.
    pub(super) fn sums(&self, cells: &[u16], n_cells: usize) -> Vec<[u32; LANES]> {
        assert_eq!(cells.len(), self.weights.len(), "one cell for each item");
        let sums = Sums {
            weights: &self.weights,
            cells,
            n_cells,
        };
        if self.max_total <= usize::from(u16::MAX) {
            Arch::new().dispatch(sums.narrow())
        } else {
            Arch::new().dispatch(sums)
        }
    }
}

/// Sums in 32 bits.
struct Sums<'a> {
    weights: &'a [[u8; LANES]],
    cells: &'a [u16],
    n_cells: usize,
}

/// Sums in 16 bits, of which registers hold twice as many.
struct NarrowSums<'a>(Sums<'a>);

impl<'a> Sums<'a> {
    fn narrow(self) -> NarrowSums<'a> {
        NarrowSums(self)
    }
}

impl WithSimd for Sums<'_> {
    type Output = Vec<[u32; LANES]>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        let mut sums = vec![[0u32; LANES]; self.n_cells];
        for (weights, &cell) in self.weights.iter().zip(self.cells) {
            if cell != NO_CELL {
                let sums = &mut sums[usize::from(cell)];
                for lane in 0..LANES {
                    sums[lane] += u32::from(weights[lane]);
                }
            }
        }
        sums
    }
}

impl WithSimd for NarrowSums<'_> {
    type Output = Vec<[u32; LANES]>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        let mut sums = vec![[0u16; LANES]; self.0.n_cells];
        for (weights, &cell) in self.0.weights.iter().zip(self.0.cells) {
            if cell != NO_CELL {
                let sums = &mut sums[usize::from(cell)];
                for lane in 0..LANES {
                    sums[lane] += u16::from(weights[lane]);
                }
            }
        }
        sums.into_iter().map(|of_cell| of_cell.map(u32::from)).collect()
    }
}
