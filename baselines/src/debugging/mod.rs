//! Debugging for Vision: methods that decide in which order to inspect a noisy training set.
//!
//! Every method gets a task's noisy training set and its clean validation set and returns all rows of the training
//! set, the one to inspect first in front.

pub mod influence;
pub mod orders;
pub mod shapley;

use ndarray::ArrayView2;

/// A task: images of two classes.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// The noisy training set, `(n_train, n_features)`.
    pub x: ArrayView2<'a, f64>,
    /// The labels of the training set, `(n_train,)`: 0 or 1, some of them wrong.
    pub labels: &'a [usize],
    /// The validation set, `(n_validation, n_features)`.
    pub validation_x: ArrayView2<'a, f64>,
    /// The labels of the validation set, `(n_validation,)`: all of them right.
    pub validation_labels: &'a [usize],
}

/// The rows in ascending order of their values; rows with equal values keep their order.
pub fn ascending(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    order
}
