//! Confident learning as cleanlab 2.7's `CleanLearning` does it.

use dataperf_numerics::confident_learning;
use ndarray::ArrayView2;

pub use confident_learning::label_quality;

/// The number of rows of each class that `CleanLearning` keeps at least.
const MIN_OF_CLASS: usize = 10;

/// Whether each row's label is likely wrong, `(n_rows,)`: [`confident_learning::flagged`] with ten rows of each class kept.
///
/// # Panics
/// If a label is not below the number of classes.
pub fn flagged(labels: &[usize], probabilities: ArrayView2<f64>) -> Vec<bool> {
    confident_learning::flagged(labels, probabilities, MIN_OF_CLASS)
}
