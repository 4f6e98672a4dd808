//! The metrics of the frozen benchmarks, with scikit-learn's edge cases.

pub mod accuracy;
pub mod f1;

pub use accuracy::accuracy;
pub use f1::{binary_f1, f1_per_class, macro_f1, precision, recall};

use crate::simd::vector::pairwise_sum;

/// The mean as `numpy.mean` has it, to the last bit.
pub(crate) fn mean(values: &[f64]) -> f64 {
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

    /// Summed from the first to the last they have the mean 0.6321999999999999.
    #[test]
    #[allow(clippy::float_cmp, reason = "the last bit is the question")]
    fn means_round_as_numpys_do() {
        let accuracies = [
            0.669, 0.629, 0.635, 0.689, 0.561, 0.563, 0.553, 0.675, 0.667, 0.681,
        ];
        assert_eq!(mean(&accuracies), 0.6322);
    }
}
