//! Precision, recall and F1, of one class and averaged over classes.
//!
//! A quotient without a denominator is 0, as scikit-learn's `zero_division="warn"` has it.

use super::assert_same_length;

/// How often one class was predicted, was true, and was both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ClassCounts {
    predicted: usize,
    actual: usize,
    correct: usize,
}

impl ClassCounts {
    fn of<T: PartialEq>(truth: &[T], predicted: &[T], class: &T) -> Self {
        assert_same_length(truth, predicted);
        let mut counts = Self::default();
        for (t, p) in truth.iter().zip(predicted) {
            counts.add(t == class, p == class);
        }
        counts
    }

    fn add(&mut self, is_true: bool, is_predicted: bool) {
        self.actual += usize::from(is_true);
        self.predicted += usize::from(is_predicted);
        self.correct += usize::from(is_true && is_predicted);
    }

    fn precision(self) -> f64 {
        quotient(self.correct, self.predicted)
    }

    fn recall(self) -> f64 {
        quotient(self.correct, self.actual)
    }

    /// The harmonic mean of precision and recall, in scikit-learn's order of operations.
    fn f1(self) -> f64 {
        let (precision, recall) = (self.precision(), self.recall());
        let sum = precision + recall;
        if sum == 0.0 {
            0.0
        } else {
            2.0 * precision * recall / sum
        }
    }
}

fn quotient(numerator: usize, denominator: usize) -> f64 {
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
/// use dataperf::metrics::f1_per_class;
/// assert_eq!(f1_per_class(&[0u8, 0, 3], &[0, 3, 3]), [(0, 2.0 / 3.0), (3, 2.0 / 3.0)]);
/// ```
pub fn f1_per_class<T: Copy + Into<usize>>(truth: &[T], predicted: &[T]) -> Vec<(usize, f64)> {
    assert_same_length(truth, predicted);
    let largest = truth.iter().chain(predicted).map(|&class| class.into()).max();
    let mut counts = vec![ClassCounts::default(); largest.map_or(0, |class| class + 1)];
    for (&t, &p) in truth.iter().zip(predicted) {
        let (t, p) = (t.into(), p.into());
        counts[t].actual += 1;
        counts[p].predicted += 1;
        counts[t].correct += usize::from(t == p);
    }
    let occurring = counts
        .iter()
        .enumerate()
        .filter(|(_, c)| c.actual + c.predicted > 0);
    occurring.map(|(class, c)| (class, c.f1())).collect()
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
/// use dataperf::metrics::macro_f1;
/// // class 2 is predicted but never true: it counts, with 0
/// assert_eq!(macro_f1(&[0u8, 0, 1, 1], &[0, 0, 1, 2]), (1.0 + 2.0 / 3.0 + 0.0) / 3.0);
/// ```
pub fn macro_f1<T: Copy + Into<usize>>(truth: &[T], predicted: &[T]) -> f64 {
    let scores = f1_per_class(truth, predicted);
    if scores.is_empty() {
        return 0.0;
    }
    scores.iter().map(|(_, f1)| f1).sum::<f64>() / scores.len() as f64
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
/// use dataperf::metrics::binary_f1;
/// assert_eq!(binary_f1(&[0, 0, 1, 1], &[0, 1, 1, 1], &1), 0.8);
/// assert_eq!(binary_f1(&[0, 0], &[0, 0], &1), 0.0);
/// ```
pub fn binary_f1<T: PartialEq>(truth: &[T], predicted: &[T], positive: &T) -> f64 {
    ClassCounts::of(truth, predicted, positive).f1()
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
/// assert_eq!(dataperf::metrics::precision(&[0, 1, 1], &[1, 1, 0], &1), 0.5);
/// ```
pub fn precision<T: PartialEq>(truth: &[T], predicted: &[T], positive: &T) -> f64 {
    ClassCounts::of(truth, predicted, positive).precision()
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
/// assert_eq!(dataperf::metrics::recall(&[0, 1, 1, 1], &[1, 1, 0, 1], &1), 2.0 / 3.0);
/// ```
pub fn recall<T: PartialEq>(truth: &[T], predicted: &[T], positive: &T) -> f64 {
    ClassCounts::of(truth, predicted, positive).recall()
}
