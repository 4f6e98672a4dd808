//! Nearest centroid: scikit-learn 1.2.2's `NearestCentroid()` with Euclidean distances.

use ndarray::{Array2, ArrayView2};
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::{FitError, check_training_set};
use crate::simd::vector::inline::squared_distance;
use crate::simd::vector::pairwise_sum;

/// The number of rows that one task classifies.
const CHUNK_ROWS: usize = 64;

/// The mean row of each class.
///
/// # Examples
/// ```
/// use dataperf_numerics::models::nearest_centroid::NearestCentroid;
/// use ndarray::array;
/// let x = array![[0.0], [2.0], [7.0], [9.0]];
/// let model = NearestCentroid::fit(x.view(), &[5, 5, 7, 7])?;
/// assert_eq!(model.predict(array![[4.0], [5.0]].view()), [5, 7]);
/// # Ok::<(), dataperf_numerics::models::FitError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct NearestCentroid {
    classes: Vec<usize>,
    /// `(n_classes, n_features)`
    centroids: Array2<f64>,
}

impl NearestCentroid {
    /// Computes the centroids.
    ///
    /// # Shapes and units
    /// `x`: `(n_rows, n_features)`; `class_idx`: `(n_rows,)`, any labels.
    ///
    /// # Errors
    /// [`FitError`] if a value is not finite, if there are fewer than two classes, or if the shapes don't fit each other.
    ///
    /// # Source
    /// scikit-learn 1.2.2, `sklearn/neighbors/_nearest_centroid.py`.
    pub fn fit(x: ArrayView2<f64>, class_idx: &[usize]) -> Result<Self, FitError> {
        let labels = check_training_set(x, class_idx)?;
        let mut counts = vec![0usize; labels.classes.len()];
        let mut centroids = Array2::zeros((labels.classes.len(), x.ncols()));
        // rows are added one after another, as NumPy does along the first axis
        for (row, &class) in x.outer_iter().zip(&labels.local_idx) {
            counts[class] += 1;
            centroids
                .row_mut(class)
                .zip_mut_with(&row, |sum, value| *sum += value);
        }
        if x.ncols() == 1 {
            // NumPy adds a single column pairwise, because it is one run of memory
            for (class, mut centroid) in centroids.outer_iter_mut().enumerate() {
                let rows = x.iter().zip(&labels.local_idx);
                let of_class: Vec<f64> = rows.filter(|row| *row.1 == class).map(|row| *row.0).collect();
                centroid.fill(pairwise_sum(&of_class));
            }
        }
        for (mut centroid, &count) in centroids.outer_iter_mut().zip(&counts) {
            centroid /= count as f64;
        }
        Ok(Self {
            classes: labels.classes,
            centroids,
        })
    }

    /// The centroids, `(n_classes, n_features)`, in ascending order of the classes.
    pub fn centroids(&self) -> ArrayView2<'_, f64> {
        self.centroids.view()
    }

    /// The class of the centroid nearest to each row, `(n_rows,)`; the lowest among equally near ones.
    ///
    /// # Panics
    /// If the number of features is not that of the training set.
    pub fn predict(&self, rows: ArrayView2<f64>) -> Vec<usize> {
        let n_features = self.centroids.ncols();
        assert_eq!(rows.ncols(), n_features, "features of rows and training set");
        let rows = rows.as_standard_layout();
        let rows = rows.as_slice().unwrap_or_default();
        let chunks = rows.par_chunks(CHUNK_ROWS * n_features);
        let nearest = chunks.flat_map_iter(|rows| Arch::new().dispatch(Chunk { model: self, rows }));
        nearest.map(|class| self.classes[class]).collect()
    }
}

/// Some rows to be classified.
struct Chunk<'a> {
    model: &'a NearestCentroid,
    rows: &'a [f64],
}

impl WithSimd for Chunk<'_> {
    type Output = Vec<usize>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<usize> {
        let centroids = &self.model.centroids;
        let n_features = centroids.ncols();
        let mut classes = Vec::with_capacity(self.rows.len() / n_features);
        for row in self.rows.chunks_exact(n_features) {
            let (mut nearest, mut least) = (0, f64::INFINITY);
            let all = centroids.as_slice().unwrap_or_default().chunks_exact(n_features);
            for (class, centroid) in all.enumerate() {
                let distance = squared_distance(simd, row, centroid);
                if distance < least {
                    (nearest, least) = (class, distance);
                }
            }
            classes.push(nearest);
        }
        classes
    }
}
