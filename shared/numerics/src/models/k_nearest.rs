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

/// The nearest training rows of each row that is to be classified. They don't depend on labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbors {
    n_neighbors: usize,
    /// `(n_rows, n_neighbors)`: rows of the training set, the nearest first.
    rows: Vec<u32>,
}

/// One of the nearest rows so far.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Candidate {
    squared_distance: f64,
    row: u32,
}

impl Neighbors {
    /// Looks for the neighbours of every row. Of rows at one distance the earlier is nearer.
    ///
    /// # Shapes and units
    /// `x`: `(n_training, n_features)` of finite values; `rows`: `(n_rows, n_features)`.
    ///
    /// # Errors
    /// [`FitError::TooFewRows`] if there are fewer training rows than neighbours.
    ///
    /// # Panics
    /// If the number of features is not that of the training set.
    pub fn find(x: ArrayView2<f64>, rows: ArrayView2<f64>, n_neighbors: usize) -> Result<Self, FitError> {
        check_n_neighbors(x.nrows(), n_neighbors)?;
        Ok(Self::among(x, rows, n_neighbors))
    }

    fn among(x: ArrayView2<f64>, rows: ArrayView2<f64>, n_neighbors: usize) -> Self {
        assert_eq!(rows.ncols(), x.ncols(), "features of rows and training set");
        let (x, rows) = (x.as_standard_layout(), rows.as_standard_layout());
        let chunk = |rows| Chunk {
            x: x.as_slice().unwrap_or_default(),
            rows,
            n_features: x.ncols(),
            n_neighbors,
        };
        let rows = rows.as_slice().unwrap_or_default();
        let chunks = rows.par_chunks(CHUNK_ROWS * x.ncols());
        let rows = chunks.flat_map_iter(|rows| Arch::new().dispatch(chunk(rows)));
        Self {
            n_neighbors,
            rows: rows.collect(),
        }
    }

    /// The commonest class among each row's neighbours, `(n_rows,)`; the lowest one of equals.
    ///
    /// `class_idx`: `(n_training,)`, each below `n_classes`.
    ///
    /// # Panics
    /// If a label is missing or not below `n_classes`.
    ///
    /// # Source
    /// scikit-learn 1.2.2, `sklearn/neighbors/_classification.py`.
    pub fn vote(&self, class_idx: &[usize], n_classes: usize) -> Vec<usize> {
        let mut votes = vec![0usize; n_classes];
        let neighbors = self.rows.chunks_exact(self.n_neighbors);
        let of_row = neighbors.map(|rows| {
            votes.fill(0);
            for &row in rows {
                votes[class_idx[row as usize]] += 1;
            }
            (1..n_classes).fold(
                0,
                |best, class| if votes[class] > votes[best] { class } else { best },
            )
        });
        of_row.collect()
    }
}

/// Checks that there are so many training rows.
pub(super) fn check_n_neighbors(n_rows: usize, n_neighbors: usize) -> Result<(), FitError> {
    if n_rows < n_neighbors || n_neighbors == 0 {
        return Err(FitError::TooFewRows {
            n_rows,
            n_needed: n_neighbors.max(1),
        });
    }
    Ok(())
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
        check_n_neighbors(x.nrows(), n_neighbors)?;
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
    pub fn predict(&self, rows: ArrayView2<f64>) -> Vec<usize> {
        let neighbors = Neighbors::among(self.x.view(), rows, self.n_neighbors);
        let classes = neighbors.vote(&self.local_idx, self.classes.len());
        classes.into_iter().map(|class| self.classes[class]).collect()
    }
}

/// Keeps the nearest ones, ascending.
fn offer(nearest: &mut Vec<Candidate>, n_neighbors: usize, candidate: Candidate) {
    let is_farther = |last: &Candidate| candidate.squared_distance >= last.squared_distance;
    if nearest.len() == n_neighbors && nearest.last().is_some_and(is_farther) {
        return;
    }
    let place = nearest.partition_point(|known| known.squared_distance <= candidate.squared_distance);
    nearest.insert(place, candidate);
    nearest.truncate(n_neighbors);
}

/// Some rows to be classified, one after another.
struct Chunk<'a> {
    x: &'a [f64],
    rows: &'a [f64],
    n_features: usize,
    n_neighbors: usize,
}

impl WithSimd for Chunk<'_> {
    type Output = Vec<u32>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let Self {
            x,
            rows,
            n_features,
            n_neighbors,
        } = self;
        let mut nearest = vec![Vec::with_capacity(n_neighbors + 1); rows.len() / n_features];
        for (row, candidate) in (0u32..).zip(x.chunks_exact(n_features)) {
            for (nearest, wanted) in nearest.iter_mut().zip(rows.chunks_exact(n_features)) {
                let squared_distance = squared_distance(simd, candidate, wanted);
                offer(
                    nearest,
                    n_neighbors,
                    Candidate {
                        squared_distance,
                        row,
                    },
                );
            }
        }
        nearest.iter().flatten().map(|candidate| candidate.row).collect()
    }
}
