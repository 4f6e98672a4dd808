//! Accuracy.

use super::assert_same_length;

/// The share of samples whose label is predicted correctly, in [0, 1]; 0 for no samples.
///
/// `truth`, `predicted`: `(n_samples,)` labels.
///
/// # Panics
/// If the lengths differ.
///
/// # Examples
/// ```
/// assert_eq!(dataperf::metrics::accuracy(&[0u8, 1, 1, 2], &[0, 1, 2, 2]), 0.75);
/// ```
pub fn accuracy<T: PartialEq>(truth: &[T], predicted: &[T]) -> f64 {
    assert_same_length(truth, predicted);
    if truth.is_empty() {
        return 0.0;
    }
    let n_correct = truth.iter().zip(predicted).filter(|(t, p)| t == p).count();
    n_correct as f64 / truth.len() as f64
}
