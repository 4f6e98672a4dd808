//! The metrics of the frozen benchmarks, with scikit-learn's edge cases.

pub mod accuracy;
pub mod f1;

pub use accuracy::{
    accuracy, accuracy_per_group, balanced_accuracy, weighted_accuracy, worst_group_accuracy,
};
pub use f1::{
    ClassCounts, binary_f1, class_counts, f1_of_counts, f1_per_class, macro_f1, macro_f1_of_classes, mean_f1,
    precision, recall,
};

use crate::simd::vector::pairwise_sum;

/// How often each item of a test set counts. Weight 2 means the same as having the item twice, and weight 0 as leaving it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemWeights<'a> {
    /// Each item counts once.
    Ones,
    /// `(n_items,)`: the weight of each item.
    Each(&'a [u32]),
}

impl ItemWeights<'_> {
    /// The weight of one item.
    ///
    /// # Panics
    /// If there is no such item.
    #[inline]
    pub fn at(self, idx: usize) -> u64 {
        match self {
            Self::Ones => 1,
            Self::Each(weights) => weights[idx].into(),
        }
    }

    /// The sum of the weights of `n_items` items.
    ///
    /// # Panics
    /// If there are weights of another number of items.
    pub fn total(self, n_items: usize) -> u64 {
        self.assert_length(n_items);
        match self {
            Self::Ones => n_items as u64,
            Self::Each(weights) => weights.iter().map(|&weight| u64::from(weight)).sum(),
        }
    }

    fn assert_length(self, n_items: usize) {
        if let Self::Each(weights) = self {
            assert_eq!(weights.len(), n_items, "one weight for each item");
        }
    }
}

/// The mean, equal to that of `numpy.mean` to the last bit.
pub fn mean(values: &[f64]) -> f64 {
    pairwise_sum(values) / values.len() as f64
}

/// Panics unless both label vectors are of one length: a metric of two different sample sets is
/// a mistake in the program, not in an artifact.
fn assert_same_length<T>(truth: &[T], predicted: &[T]) {
    assert_eq!(
        truth.len(),
        predicted.len(),
        "one predicted label for each true one"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sum from the first value to the last would give the mean 0.6321999999999999.
    #[test]
    #[allow(clippy::float_cmp, reason = "the last bit is the question")]
    fn means_round_as_numpys_do() {
        let accuracies = [
            0.669, 0.629, 0.635, 0.689, 0.561, 0.563, 0.553, 0.675, 0.667, 0.681,
        ];
        assert_eq!(mean(&accuracies), 0.6322);
    }
}
