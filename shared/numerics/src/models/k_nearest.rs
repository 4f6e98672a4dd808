//! k nearest neighbours: scikit-learn 1.2.2's `KNeighborsClassifier(n_neighbors=k)`, brute force. Where rows are exactly as
//! far the first counts here, and there whichever rounding and blocks leave in front: features of few whole numbers, where
//! that is common, may give another prediction.

use ndarray::{Array2, ArrayView2};
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::{FitError, check_training_set};
use crate::simd::vector::inline::squared_distance;

/// Rows to be classified that walk over the training set together: they stay in the cache.
const CHUNK_ROWS: usize = 16;

/// A training set to look neighbours up in.
///
/// # Examples
/// ```
/// use dataperf_numerics::models::k_nearest::KNearest;
/// use ndarray::array;
/// let x = array![[0.0], [1.0], [2.0], [9.0]];
/// let model = KNearest::fit(x.view(), &[5, 5, 7, 7], 3)?;
/// assert_eq!(model.predict(array![[0.5], [8.0]].view()), [5, 7]);
/// # Ok::<(), dataperf_numerics::models::FitError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct KNearest {
    x: Array2<f64>,
    classes: Vec<usize>,
    /// For each row the position of its label in `classes`.
    local_idx: Vec<usize>,
    n_neighbors: usize,
}

/// One of the nearest rows so far.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Neighbor {
    squared_distance: f64,
    row: usize,
}

impl KNearest {
    /// Keeps the training set.
    ///
    /// # Shapes and units
    /// `x`: `(n_rows, n_features)`; `class_idx`: `(n_rows,)`, any labels.
    ///
    /// # Errors
    /// [`FitError`] if a value is not finite, if there are fewer than two classes or fewer rows than neighbours, or
    /// if the shapes don't fit each other.
    pub fn fit(x: ArrayView2<f64>, class_idx: &[usize], n_neighbors: usize) -> Result<Self, FitError> {
        let labels = check_training_set(x, class_idx)?;
        if x.nrows() < n_neighbors || n_neighbors == 0 {
            return Err(FitError::TooFewRows {
                n_rows: x.nrows(),
                n_needed: n_neighbors.max(1),
            });
        }
        let x = x.as_standard_layout().into_owned();
        Ok(Self {
            x,
            classes: labels.classes,
            local_idx: labels.local_idx,
            n_neighbors,
        })
    }

    /// The commonest class among each row's neighbours, `(n_rows,)`; the lowest one of equals. Of rows at one
    /// distance the earlier is nearer.
    ///
    /// # Panics
    /// If the number of features is not that of the training set.
    ///
    /// # Source
    /// scikit-learn 1.2.2, `sklearn/neighbors/_classification.py`.
    pub fn predict(&self, rows: ArrayView2<f64>) -> Vec<usize> {
        assert_eq!(rows.ncols(), self.x.ncols(), "features of rows and training set");
        let rows = rows.as_standard_layout();
        let rows = rows.as_slice().unwrap_or_default();
        let chunks = rows.par_chunks(CHUNK_ROWS * self.x.ncols());
        chunks
            .flat_map_iter(|rows| Arch::new().dispatch(Chunk { model: self, rows }))
            .collect()
    }

    /// Keeps the nearest ones, ascending.
    fn offer(&self, nearest: &mut Vec<Neighbor>, candidate: Neighbor) {
        let is_full = nearest.len() == self.n_neighbors;
        if is_full
            && nearest
                .last()
                .is_some_and(|last| candidate.squared_distance >= last.squared_distance)
        {
            return;
        }
        let place = nearest.partition_point(|known| known.squared_distance <= candidate.squared_distance);
        nearest.insert(place, candidate);
        nearest.truncate(self.n_neighbors);
    }

    fn vote(&self, nearest: &[Neighbor]) -> usize {
        let mut votes = vec![0usize; self.classes.len()];
        for neighbor in nearest {
            votes[self.local_idx[neighbor.row]] += 1;
        }
        let best = (1..votes.len()).fold(
            0,
            |best, class| if votes[class] > votes[best] { class } else { best },
        );
        self.classes[best]
    }
}

/// Some rows to be classified, one after another.
struct Chunk<'a> {
    model: &'a KNearest,
    rows: &'a [f64],
}

impl WithSimd for Chunk<'_> {
    type Output = Vec<usize>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let Self { model, rows } = self;
        let n_features = model.x.ncols();
        let mut nearest = vec![Vec::with_capacity(model.n_neighbors + 1); rows.len() / n_features];
        let training = model.x.as_slice().unwrap_or_default().chunks_exact(n_features);
        for (row, candidate) in training.enumerate() {
            for (nearest, wanted) in nearest.iter_mut().zip(rows.chunks_exact(n_features)) {
                let squared_distance = squared_distance(simd, candidate, wanted);
                model.offer(
                    nearest,
                    Neighbor {
                        squared_distance,
                        row,
                    },
                );
            }
        }
        nearest.iter().map(|nearest| model.vote(nearest)).collect()
    }
}
