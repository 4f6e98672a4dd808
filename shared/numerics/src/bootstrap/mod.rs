//! The bootstrap of a test set: draws that give each item a weight, and metrics under these weights.
//!
//! A draw takes as many items of each stratum (a class, or a class within a group) as the stratum has, with replacement: the
//! weights of a stratum are multinomial. Where items come in clusters, such as the recordings of one speaker, a draw takes whole
//! clusters. The draws of a test set follow from its seed alone, so that all submissions are scored under the same draws and
//! their scores can be compared draw by draw.
//!
//! # Source
//! Efron, B. (1979), "Bootstrap methods: another look at the jackknife", Annals of Statistics 7. Clusters: Davison, A. C. and
//! Hinkley, D. V. (1997), "Bootstrap Methods and their Application", section 3.8.

#![allow(
    clippy::inline_always,
    reason = "code is only vectorised if it is inlined into the function that enables the instruction set"
)]

mod batch;
mod course;
mod divisions;
mod resampler;
mod streams;
mod trials;
mod values;

pub use batch::{Batch, LANES};
pub use course::Course;
pub use resampler::{ClusterDraws, Resampler};
pub use trials::Trials;
pub use values::{Answers, ItemMetric};

/// The number of draws for every test set.
pub const N_DRAWS: usize = 1_000;
/// The number of batches of [`LANES`] draws each in which draws are computed; the last batch is not full.
pub const N_BATCHES: usize = N_DRAWS.div_ceil(LANES);

/// The numbers of the draws in a batch.
pub fn draws_of(batch: usize) -> std::ops::Range<usize> {
    batch * LANES..N_DRAWS.min((batch + 1) * LANES)
}
