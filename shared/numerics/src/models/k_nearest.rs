//! k nearest neighbours: scikit-learn 1.2.2's `KNeighborsClassifier(n_neighbors=k)`, brute force. Of rows at exactly the same
//! distance the first counts here; in scikit-learn it depends on rounding and blocks. So predictions may differ for features with
//! few different whole numbers, where such ties are common.

use ndarray::{Array2, ArrayView2};
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::{FitError, check_training_set};
use crate::simd::vector::inline::squared_distance;

/// The number of rows to classify that go through the training set together: they stay in the cache.
const CHUNK_ROWS: usize = 16;
/// The most features with which training rows are stored side by side: a sum over so few cannot use registers of its own well.
const NARROW: usize = 32;
/// The number of training rows that are stored side by side.
const SIDE_BY_SIDE: usize = 8;

/// A training set in which neighbours are searched.
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
    /// The place in `classes` of each row's label.
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

/// A row that is among the nearest ones so far.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Candidate {
    squared_distance: f64,
    row: u32,
}

impl Neighbors {
    /// Searches the neighbours of every row. Of rows at the same distance the earlier counts as nearer.
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
        let n_features = x.ncols();
        let columns = if n_features <= NARROW {
            side_by_side(&x)
        } else {
            Vec::new()
        };
        let chunk = |rows| Chunk {
            x: x.as_slice().unwrap_or_default(),
            columns: &columns,
            rows,
            n_features,
            n_neighbors,
        };
        let rows = rows.as_slice().unwrap_or_default();
        let chunks = rows.par_chunks(CHUNK_ROWS * n_features);
        let rows = chunks.flat_map_iter(|rows| Arch::new().dispatch(chunk(rows)));
        Self {
            n_neighbors,
            rows: rows.collect(),
        }
    }

    /// The most frequent class among each row's neighbours, `(n_rows,)`; the lowest among equally frequent ones.
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

/// Checks that there are at least `n_neighbors` training rows.
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
    /// Checks and stores the training set.
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

    /// The most frequent class among each row's neighbours, `(n_rows,)`; the lowest among equally frequent ones. Of rows at the
    /// same distance the earlier counts as nearer.
    ///
    /// # Panics
    /// If the number of features is not that of the training set.
    pub fn predict(&self, rows: ArrayView2<f64>) -> Vec<usize> {
        let neighbors = Neighbors::among(self.x.view(), rows, self.n_neighbors);
        let classes = neighbors.vote(&self.local_idx, self.classes.len());
        classes.into_iter().map(|class| self.classes[class]).collect()
    }
}

/// Blocks of `(n_features, SIDE_BY_SIDE)` training rows; the last block is padded with rows at an infinite distance.
fn side_by_side(x: &ndarray::CowArray<'_, f64, ndarray::Ix2>) -> Vec<[f64; SIDE_BY_SIDE]> {
    let n_blocks = x.nrows().div_ceil(SIDE_BY_SIDE);
    let columns = (0..n_blocks).flat_map(|block| (0..x.ncols()).map(move |feature| (block, feature)));
    let lanes = |(block, feature): (usize, usize)| {
        std::array::from_fn(|lane| {
            let row = block * SIDE_BY_SIDE + lane;
            x.get((row, feature)).copied().unwrap_or(f64::INFINITY)
        })
    };
    columns.map(lanes).collect()
}

/// The squared distances of training rows that are stored side by side, each with the bits of [`squared_distance`], because the
/// squares are added in the same order. `M` is a power of two, and there are at most `M` features.
#[inline(always)]
fn squared_distances<const M: usize>(columns: &[[f64; SIDE_BY_SIDE]], row: &[f64]) -> [f64; SIDE_BY_SIDE] {
    let mut sums = [[0.0; SIDE_BY_SIDE]; M];
    for ((sum, column), wanted) in sums.iter_mut().zip(columns).zip(row) {
        for (sum, value) in sum.iter_mut().zip(column) {
            *sum = (value - wanted) * (value - wanted);
        }
    }
    let mut n_sums = M;
    while n_sums > 1 {
        n_sums /= 2;
        let (low, high) = sums.split_at_mut(n_sums);
        for (low, high) in low.iter_mut().zip(high) {
            for (low, high) in low.iter_mut().zip(high) {
                *low += *high;
            }
        }
    }
    sums[0]
}

/// Inserts a candidate if it is among the nearest ones, which stay in ascending order.
fn offer(nearest: &mut Vec<Candidate>, n_neighbors: usize, candidate: Candidate) {
    let is_farther = |last: &Candidate| candidate.squared_distance >= last.squared_distance;
    if nearest.len() == n_neighbors && nearest.last().is_some_and(is_farther) {
        return;
    }
    let place = nearest.partition_point(|known| known.squared_distance <= candidate.squared_distance);
    nearest.insert(place, candidate);
    nearest.truncate(n_neighbors);
}

/// Consecutive rows to classify.
struct Chunk<'a> {
    x: &'a [f64],
    /// The blocks of [`side_by_side`], if there are few features.
    columns: &'a [[f64; SIDE_BY_SIDE]],
    rows: &'a [f64],
    n_features: usize,
    n_neighbors: usize,
}

impl Chunk<'_> {
    /// Offers every training row; they are stored side by side and have at most `M` features.
    #[inline(always)]
    fn offer_columns<const M: usize>(&self, nearest: &mut [Vec<Candidate>]) {
        let Self {
            columns,
            rows,
            n_features,
            n_neighbors,
            ..
        } = *self;
        for (first, columns) in (0u32..)
            .step_by(SIDE_BY_SIDE)
            .zip(columns.chunks_exact(n_features))
        {
            for (nearest, wanted) in nearest.iter_mut().zip(rows.chunks_exact(n_features)) {
                let distances = squared_distances::<M>(columns, wanted);
                let farthest = nearest.last().filter(|_| nearest.len() == n_neighbors);
                let limit = farthest.map_or(f64::INFINITY, |last| last.squared_distance);
                let least = distances
                    .iter()
                    .fold(f64::INFINITY, |least, distance| least.min(*distance));
                if farthest.is_some() && least >= limit {
                    continue;
                }
                for (row, squared_distance) in (first..).zip(distances) {
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
        }
    }
}

impl WithSimd for Chunk<'_> {
    type Output = Vec<u32>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let Self {
            x,
            columns,
            rows,
            n_features,
            n_neighbors,
        } = self;
        let mut nearest: Vec<Vec<Candidate>> =
            vec![Vec::with_capacity(n_neighbors + 1); rows.len() / n_features];
        if !columns.is_empty() {
            match n_features {
                0..=4 => self.offer_columns::<4>(&mut nearest),
                5..=8 => self.offer_columns::<8>(&mut nearest),
                9..=16 => self.offer_columns::<16>(&mut nearest),
                _ => self.offer_columns::<NARROW>(&mut nearest),
            }
            return nearest.iter().flatten().map(|candidate| candidate.row).collect();
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::mt19937::Mt19937;
    use crate::simd::architectures;

    /// Rows with few or many different values, since few different values give ties.
    fn rows(n: usize, n_features: usize, n_values: u32, seed: u32) -> Vec<f64> {
        let mut generator = Mt19937::new(seed);
        (0..n * n_features)
            .map(|_| f64::from(generator.below(n_values)) / 7.0 - 3.1)
            .collect()
    }

    #[test]
    fn neighbours_match_in_both_memory_layouts() {
        for n_features in 1..=NARROW {
            for (n, n_neighbors, n_values) in [(5, 5, 3), (8, 1, 100), (61, 4, 2), (403, 5, 1_000_000)] {
                let x = rows(n, n_features, n_values, 1);
                let wanted = rows(20, n_features, n_values, 2);
                let table = Array2::from_shape_vec((n, n_features), x.clone()).expect("a matrix");
                let columns = side_by_side(&table.view().as_standard_layout());
                for arch in architectures() {
                    let neighbours = |columns: &[[f64; SIDE_BY_SIDE]]| {
                        arch.dispatch(Chunk {
                            x: &x,
                            columns,
                            rows: &wanted,
                            n_features,
                            n_neighbors,
                        })
                    };
                    assert_eq!(
                        neighbours(&columns),
                        neighbours(&[]),
                        "{n} rows of {n_features} numbers"
                    );
                }
            }
        }
    }
}
