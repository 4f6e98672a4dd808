//! Accuracy: of all items, balanced over the classes, and of the worst group.

use super::f1::class_counts;
use super::{ItemWeights, assert_same_length, mean};

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

/// The unweighted mean of the recalls of the classes that occur in `truth`, in [0, 1]; 0 if none does.
///
/// # Shapes and units
/// `truth`, `predicted`: `(n_items,)` class indices; memory grows with the largest. A class whose items weigh nothing does
/// not occur.
///
/// # Panics
/// If the lengths differ.
///
/// # Source
/// scikit-learn 1.2.2, `sklearn/metrics/_classification.py` (`balanced_accuracy_score`).
///
/// # Examples
/// ```
/// use dataperf_numerics::metrics::{ItemWeights, balanced_accuracy};
/// // class 2 is predicted but never true: it does not count
/// assert_eq!(balanced_accuracy(&[0u8, 0, 1, 1], &[0, 0, 1, 2], ItemWeights::Ones), 0.75);
/// ```
pub fn balanced_accuracy<T: Copy + Into<usize>>(
    truth: &[T],
    predicted: &[T],
    weights: ItemWeights<'_>,
) -> f64 {
    let counts = class_counts(truth, predicted, weights);
    let occurring = counts.iter().filter(|counts| counts.actual > 0);
    let recalls: Vec<f64> = occurring.map(|counts| counts.recall()).collect();
    if recalls.is_empty() { 0.0 } else { mean(&recalls) }
}

/// The smallest accuracy over the groups of the items, in [0, 1]; 0 if no item weighs anything.
///
/// # Shapes and units
/// `truth`, `predicted`: `(n_items,)` labels; `groups`: `(n_items,)` group indices; memory grows with the largest. A group whose
/// items weigh nothing does not count.
///
/// # Panics
/// If the lengths differ.
///
/// # Examples
/// ```
/// use dataperf_numerics::metrics::{ItemWeights, worst_group_accuracy};
/// let (truth, predicted, groups) = ([0, 0, 1, 1, 1], [0, 1, 1, 1, 1], [0, 0, 0, 7, 7]);
/// assert_eq!(worst_group_accuracy(&truth, &predicted, &groups, ItemWeights::Ones), 2.0 / 3.0);
/// ```
pub fn worst_group_accuracy<T: PartialEq>(
    truth: &[T],
    predicted: &[T],
    groups: &[usize],
    weights: ItemWeights<'_>,
) -> f64 {
    let accuracies = accuracy_per_group(truth, predicted, groups, weights).into_iter();
    accuracies
        .map(|(_, accuracy)| accuracy)
        .reduce(f64::min)
        .unwrap_or(0.0)
}

/// The accuracy of each group whose items weigh something, by ascending group index.
///
/// # Shapes and units
/// As [`worst_group_accuracy`].
///
/// # Panics
/// If the lengths differ.
pub fn accuracy_per_group<T: PartialEq>(
    truth: &[T],
    predicted: &[T],
    groups: &[usize],
    weights: ItemWeights<'_>,
) -> Vec<(usize, f64)> {
    assert_same_length(truth, predicted);
    assert_eq!(groups.len(), truth.len(), "one group for each item");
    weights.assert_length(truth.len());
    let n_groups = groups.iter().max().map_or(0, |group| group + 1);
    let mut totals = vec![(0u64, 0u64); n_groups];
    for (idx, (t, p)) in truth.iter().zip(predicted).enumerate() {
        let (correct, total) = &mut totals[groups[idx]];
        *correct += weights.at(idx) * u64::from(t == p);
        *total += weights.at(idx);
    }
    let with_items = totals
        .into_iter()
        .enumerate()
        .filter(|(_, (_, total))| *total > 0);
    with_items
        .map(|(group, (correct, total))| (group, correct as f64 / total as f64))
        .collect()
}
