//! Features by columns, and the order of each column's rows: the data that all trees of all fits share.

use ndarray::ArrayView2;
use rayon::prelude::*;

use super::MAX_TRAINING_ROWS;
use crate::models::FitError;

/// The number of rows in a block of the search for splits; each column's order is padded to whole blocks.
pub(super) const BLOCK: usize = 16;

/// A matrix kept column by column.
#[derive(Debug, Clone, PartialEq)]
pub struct Columns {
    n_rows: usize,
    n_features: usize,
    values: Vec<f32>,
}

impl Columns {
    /// Copies a matrix of shape `(n_rows, n_features)`.
    pub fn new(rows: ArrayView2<f32>) -> Self {
        let (n_rows, n_features) = rows.dim();
        let values = rows.t().iter().copied().collect();
        Self {
            n_rows,
            n_features,
            values,
        }
    }

    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The number of columns.
    pub fn n_features(&self) -> usize {
        self.n_features
    }

    /// One column, `(n_rows,)`.
    pub(super) fn column(&self, feature: usize) -> &[f32] {
        &self.values[feature * self.n_rows..][..self.n_rows]
    }

    /// Finds a value that is NaN or infinite.
    pub(super) fn check_finite(&self) -> Result<(), FitError> {
        let first = self.values.iter().position(|value| !value.is_finite());
        first.map_or(Ok(()), |idx| {
            Err(FitError::NotFinite {
                row_idx: idx % self.n_rows,
                feature_idx: idx / self.n_rows,
                value: self.values[idx].into(),
            })
        })
    }
}

/// The features of a training set, each sorted once.
#[derive(Debug, Clone)]
pub struct TrainingFeatures {
    columns: Columns,
    /// `(n_features, n_padded)`: each column's rows from the largest value to the smallest, padded with `n_rows`, which is no row.
    order: Vec<u16>,
    n_padded: usize,
    /// The number of blocks of each column with a row above its smallest value: after them there is no place to cut.
    n_blocks: Vec<u16>,
}

impl TrainingFeatures {
    /// Sorts every column.
    ///
    /// # Errors
    /// [`FitError`] if there are no features, no rows or more than [`MAX_TRAINING_ROWS`], or if a value is not finite.
    pub fn new(columns: Columns) -> Result<Self, FitError> {
        let n_rows = columns.n_rows();
        if columns.n_features() == 0 {
            return Err(FitError::NoFeatures);
        }
        if n_rows == 0 {
            return Err(FitError::TooFewRows { n_rows, n_needed: 1 });
        }
        if n_rows > MAX_TRAINING_ROWS {
            return Err(FitError::TooManyRows {
                n_rows,
                n_allowed: MAX_TRAINING_ROWS,
            });
        }
        columns.check_finite()?;
        let n_padded = n_rows.next_multiple_of(BLOCK);
        let mut order = vec![n_rows as u16; n_padded * columns.n_features()];
        let n_blocks = order
            .par_chunks_mut(n_padded)
            .enumerate()
            .map(|(feature, order)| {
                let column = columns.column(feature);
                let order = &mut order[..n_rows];
                for (row, place) in (0u16..).zip(order.iter_mut()) {
                    *place = row;
                }
                order.sort_by(|&a, &b| column[usize::from(b)].total_cmp(&column[usize::from(a)]));
                let least = column[usize::from(order[n_rows - 1])];
                let n_above = order.partition_point(|&row| column[usize::from(row)] > least);
                n_above.div_ceil(BLOCK) as u16
            });
        Ok(Self {
            n_blocks: n_blocks.collect(),
            columns,
            order,
            n_padded,
        })
    }

    /// The values.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// A column's rows from the largest value to the smallest.
    pub(super) fn order(&self, feature: usize) -> &[u16] {
        &self.order[feature * self.n_padded..][..self.columns.n_rows]
    }

    /// The column's rows in whole blocks with padding, as far as there are places to cut. Embeddings after a rectifier end in many
    /// zeros.
    pub(super) fn cuttable_order(&self, feature: usize) -> &[[u16; BLOCK]] {
        let n_padded = usize::from(self.n_blocks[feature]) * BLOCK;
        self.order[feature * self.n_padded..][..n_padded].as_chunks().0
    }
}
