//! The frozen models and metrics against vectors of scikit-learn 1.2.2, XGBoost 1.7.6 and `NumPy` 1.26.4.
//!
//! `make_vectors.py` and its neighbours in this folder wrote them.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod boosted_trees;
mod buyer_models;
mod learner;
mod metrics;
mod mt19937;
mod soft_voting;
mod text;

use serde::de::DeserializeOwned;

fn vectors<T: DeserializeOwned>(json: &str) -> T {
    serde_json::from_str(json).unwrap()
}

/// Fails unless every value is within `tolerance` of its reference.
#[track_caller]
fn assert_close(ours: impl IntoIterator<Item = f64>, reference: &[f64], tolerance: f64, label: &str) {
    let ours: Vec<f64> = ours.into_iter().collect();
    assert_eq!(ours.len(), reference.len(), "{label}");
    for (k, (a, b)) in ours.iter().zip(reference).enumerate() {
        assert!(
            (a - b).abs() <= tolerance,
            "{label}, value {k}: {a} instead of {b}"
        );
    }
}
