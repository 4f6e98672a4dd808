//! The frozen models and metrics: the classifiers and scores of scikit-learn 1.2.2 and XGBoost 1.7.6, reproduced to the same
//! predictions.
//!
//! For images there is a [`network`] of our own, as no library's gives the same bits everywhere.
//!
//! This crate knows no benchmark, no data set and no evidence: matrices and labels come in, predictions and figures come out.

pub mod agreement;
pub mod bootstrap;
pub mod confident_learning;
pub mod learner;
pub mod metrics;
pub mod models;
pub mod network;
pub mod numbers;
pub mod ranks;
mod sharing;
mod simd;
pub mod sparse;
pub mod text;

/// e to the power `x`, within 1 unit in the last place, the same bits on every processor.
///
/// ```
/// assert_eq!(dataperf_numerics::exp(0.0), 1.0);
/// ```
pub fn exp(x: f64) -> f64 {
    simd::exp(x)
}
