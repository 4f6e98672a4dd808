//! The metrics of the frozen benchmarks, with scikit-learn's edge cases.

pub mod accuracy;
pub mod f1;

pub use accuracy::accuracy;
pub use f1::{binary_f1, f1_per_class, macro_f1, precision, recall};

/// Panics unless both label vectors are of one length: a metric of two different sample sets is
/// a mistake in the program, not in an artifact.
fn assert_same_length<T>(truth: &[T], predicted: &[T]) {
    assert_eq!(
        truth.len(),
        predicted.len(),
        "one predicted label for each true one"
    );
}
