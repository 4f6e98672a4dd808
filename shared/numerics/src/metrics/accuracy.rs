//! Accuracy.

use super::{ItemWeights, assert_same_length};

/// The share of samples whose label is predicted correctly, in [0, 1]; 0 for no samples.
///
/// `truth`, `predicted`: `(n_samples,)` labels.
///
/// # Panics
/// If the lengths differ.
///
/// # Examples
/// ```
/// assert_eq!(dataperf_numerics::metrics::accuracy(&[0u8, 1, 1, 2], &[0, 1, 2, 2]), 0.75);
/// ```
pub fn accuracy<T: PartialEq>(truth: &[T], predicted: &[T]) -> f64 {
    weighted_accuracy(truth, predicted, ItemWeights::Ones)
}

/// The share of the items' weight whose label is predicted correctly, in [0, 1]; 0 for no weight.
///
/// `truth`, `predicted`: `(n_items,)` labels.
///
/// # Panics
/// If the lengths differ.
///
/// # Examples
/// ```
/// use dataperf_numerics::metrics::{ItemWeights, weighted_accuracy};
/// assert_eq!(weighted_accuracy(&[0u8, 1, 1], &[0, 1, 2], ItemWeights::Each(&[1, 2, 0])), 1.0);
/// ```
pub fn weighted_accuracy<T: PartialEq>(truth: &[T], predicted: &[T], weights: ItemWeights<'_>) -> f64 {
    assert_same_length(truth, predicted);
    let total = weights.total(truth.len());
    if total == 0 {
        return 0.0;
    }
    let pairs = truth.iter().zip(predicted).enumerate();
    let correct: u64 = pairs
        .map(|(idx, (t, p))| weights.at(idx) * u64::from(t == p))
        .sum();
    correct as f64 / total as f64
}
