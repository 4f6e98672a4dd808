//! Precision, recall and F1, of one class and averaged over classes.
//!
//! A quotient without a denominator is 0, as scikit-learn's `zero_division="warn"` has it.

use super::{ItemWeights, assert_same_length, mean};

/// How often one class was predicted, was true, and was both: the sums of the items' weights.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClassCounts {
    /// The weight of the items that are predicted as the class.
    pub predicted: u64,
    /// The weight of the items that are of the class.
    pub actual: u64,
    /// The weight of the items of the class that are predicted so.
    pub correct: u64,
}

impl ClassCounts {
    /// The counts of `class`; `truth`, `predicted`: `(n_items,)` labels.
    ///
    /// # Panics
    /// If the lengths differ.
    ///
    /// # Examples
    /// ```
    /// use dataperf_numerics::metrics::{ClassCounts, ItemWeights};
    /// let counts = ClassCounts::new(&[0, 1, 1], &[1, 1, 0], &1, ItemWeights::Each(&[5, 3, 1]));
    /// assert_eq!((counts.precision(), counts.recall()), (3.0 / 8.0, 3.0 / 4.0));
    /// ```
    pub fn new<T: PartialEq>(truth: &[T], predicted: &[T], class: &T, weights: ItemWeights<'_>) -> Self {
        assert_same_length(truth, predicted);
        weights.assert_length(truth.len());
        let mut counts = Self::default();
        for (idx, (t, p)) in truth.iter().zip(predicted).enumerate() {
            counts.add(t == class, p == class, weights.at(idx));
        }
        counts
    }

    fn add(&mut self, is_true: bool, is_predicted: bool, weight: u64) {
        self.actual += weight * u64::from(is_true);
        self.predicted += weight * u64::from(is_predicted);
        self.correct += weight * u64::from(is_true && is_predicted);
    }

    /// The share of what is predicted as the class that is of it; 0 if nothing is predicted so.
    pub fn precision(self) -> f64 {
        quotient(self.correct, self.predicted)
    }

    /// The share of the class that is predicted so; 0 if the class is empty.
    pub fn recall(self) -> f64 {
        quotient(self.correct, self.actual)
    }

    /// The harmonic mean of precision and recall, in scikit-learn's order of operations.
    pub fn f1(self) -> f64 {
        let (precision, recall) = (self.precision(), self.recall());
        let sum = precision + recall;
        if sum == 0.0 {
            0.0
        } else {
            2.0 * precision * recall / sum
        }
    }

    /// Whether the class occurs in either vector.
    pub fn occurs(self) -> bool {
        self.actual + self.predicted > 0
    }
}

/// The counts of every class by its index, up to the largest index that occurs.
///
/// # Shapes and units
/// `truth`, `predicted`: `(n_items,)` class indices; memory grows with the largest.
///
/// # Panics
/// If the lengths differ.
pub fn class_counts<T: Copy + Into<usize>>(
    truth: &[T],
    predicted: &[T],
    weights: ItemWeights<'_>,
) -> Vec<ClassCounts> {
    assert_same_length(truth, predicted);
    weights.assert_length(truth.len());
    let largest = truth.iter().chain(predicted).map(|&class| class.into()).max();
    let mut counts = vec![ClassCounts::default(); largest.map_or(0, |class| class + 1)];
    for (idx, (&t, &p)) in truth.iter().zip(predicted).enumerate() {
        let (t, p, weight) = (t.into(), p.into(), weights.at(idx));
        counts[t].actual += weight;
        counts[p].predicted += weight;
        counts[t].correct += weight * u64::from(t == p);
    }
    counts
}

/// The F1 score of each class that occurs, by ascending class index.
pub fn f1_of_counts(counts: &[ClassCounts]) -> Vec<(usize, f64)> {
    let occurring = counts.iter().enumerate().filter(|(_, counts)| counts.occurs());
    occurring.map(|(class, counts)| (class, counts.f1())).collect()
}

/// The unweighted mean of the scores of [`f1_of_counts`], in [0, 1]; 0 for none.
pub fn mean_f1(scores: &[(usize, f64)]) -> f64 {
    if scores.is_empty() {
        return 0.0;
    }
    scores.iter().map(|(_, f1)| f1).sum::<f64>() / scores.len() as f64
}

fn quotient(numerator: u64, denominator: u64) -> f64 {
    if denominator == 0 {
        0.0
    } else {
        numerator as f64 / denominator as f64
    }
}

/// The F1 score of every class that occurs in either vector, by ascending class index.
///
/// A class never predicted correctly scores 0, not NaN.
///
/// # Shapes and units
/// `truth`, `predicted`: `(n_samples,)` class indices; memory grows with the largest.
///
/// # Panics
/// If the lengths differ.
///
/// # Examples
/// ```
/// use dataperf_numerics::metrics::f1_per_class;
/// assert_eq!(f1_per_class(&[0u8, 0, 3], &[0, 3, 3]), [(0, 2.0 / 3.0), (3, 2.0 / 3.0)]);
/// ```
pub fn f1_per_class<T: Copy + Into<usize>>(truth: &[T], predicted: &[T]) -> Vec<(usize, f64)> {
    f1_of_counts(&class_counts(truth, predicted, ItemWeights::Ones))
}

/// Unweighted mean of the per-class F1 scores, in [0, 1].
///
/// Classes are the union of the labels in both vectors. A class never predicted correctly scores
/// 0, not NaN; so does the mean over no samples.
///
/// # Shapes and units
/// `truth`, `predicted`: `(n_samples,)` class indices; memory grows with the largest.
///
/// # Panics
/// If the lengths differ.
///
/// # Source
/// scikit-learn 1.2.2, `sklearn/metrics/_classification.py`, `f1_score(average="macro")`.
///
/// # Examples
/// ```
/// use dataperf_numerics::metrics::macro_f1;
/// // class 2 is predicted but never true: it counts, with 0
/// assert_eq!(macro_f1(&[0u8, 0, 1, 1], &[0, 0, 1, 2]), (1.0 + 2.0 / 3.0 + 0.0) / 3.0);
/// ```
pub fn macro_f1<T: Copy + Into<usize>>(truth: &[T], predicted: &[T]) -> f64 {
    mean_f1(&f1_per_class(truth, predicted))
}

/// Unweighted mean of the F1 scores of all classes of a task, in [0, 1].
///
/// Every class counts, also one that neither vector holds: it scores 0. [`macro_f1`] leaves such classes out.
///
/// # Shapes and units
/// `truth`, `predicted`: `(n_items,)` class indices, those of `truth` below `n_classes`.
///
/// # Panics
/// If the lengths differ.
///
/// # Source
/// scikit-learn 1.2.2, `f1_score(labels=range(n_classes), average="macro", zero_division=0)`.
///
/// # Examples
/// ```
/// use dataperf_numerics::metrics::{ItemWeights, macro_f1_of_classes};
/// assert_eq!(macro_f1_of_classes(&[0u8, 1], &[0, 1], 4, ItemWeights::Ones), 0.5);
/// ```
pub fn macro_f1_of_classes<T: Copy + Into<usize>>(
    truth: &[T],
    predicted: &[T],
    n_classes: usize,
    weights: ItemWeights<'_>,
) -> f64 {
    let mut counts = class_counts(truth, predicted, weights);
    counts.resize(n_classes, ClassCounts::default());
    let scores: Vec<f64> = counts.iter().map(|counts| counts.f1()).collect();
    if scores.is_empty() { 0.0 } else { mean(&scores) }
}

/// F1 of one class, in [0, 1]; 0 if the class is never predicted correctly.
///
/// `truth`, `predicted`: `(n_samples,)` labels.
///
/// # Panics
/// If the lengths differ.
///
/// # Examples
/// ```
/// use dataperf_numerics::metrics::binary_f1;
/// assert_eq!(binary_f1(&[0, 0, 1, 1], &[0, 1, 1, 1], &1), 0.8);
/// assert_eq!(binary_f1(&[0, 0], &[0, 0], &1), 0.0);
/// ```
pub fn binary_f1<T: PartialEq>(truth: &[T], predicted: &[T], positive: &T) -> f64 {
    ClassCounts::new(truth, predicted, positive, ItemWeights::Ones).f1()
}

/// The share of the samples predicted as `positive` that are, in [0, 1]; 0 if there are none.
///
/// `truth`, `predicted`: `(n_samples,)` labels.
///
/// # Panics
/// If the lengths differ.
///
/// # Examples
/// ```
/// assert_eq!(dataperf_numerics::metrics::precision(&[0, 1, 1], &[1, 1, 0], &1), 0.5);
/// ```
pub fn precision<T: PartialEq>(truth: &[T], predicted: &[T], positive: &T) -> f64 {
    ClassCounts::new(truth, predicted, positive, ItemWeights::Ones).precision()
}

/// The share of the `positive` samples that are predicted so, in [0, 1]; 0 if there are none.
///
/// `truth`, `predicted`: `(n_samples,)` labels.
///
/// # Panics
/// If the lengths differ.
///
/// # Examples
/// ```
/// assert_eq!(dataperf_numerics::metrics::recall(&[0, 1, 1, 1], &[1, 1, 0, 1], &1), 2.0 / 3.0);
/// ```
pub fn recall<T: PartialEq>(truth: &[T], predicted: &[T], positive: &T) -> f64 {
    ClassCounts::new(truth, predicted, positive, ItemWeights::Ones).recall()
}
