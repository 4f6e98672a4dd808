//! What a rank is worth: the ranks that an entry of a board can have, given what its score would have been on other eval sets.
//!
//! Entries are compared pair by pair, by the differences of their scores under the same draws of the eval set. An entry is
//! surely better than another when that holds for all entries at once with 97.5 % confidence; its rank interval follows from how
//! many are surely better and how many surely worse, and holds its rank with 95 % confidence.
//!
//! # Source
//! Mogstad, M., Romano, J. P., Shaikh, A. M. and Wilhelm, D. (2024), "Inference for Ranks with Applications to Mobility across
//! Neighbourhoods and Academic Achievement across Countries", Review of Economic Studies 91: marginal confidence sets with
//! stepping down, two one-sided sets instead of one of absolute values.

#![allow(
    clippy::inline_always,
    reason = "code is only vectorised if it is inlined into the function that enables the instruction set"
)]

mod compare;
mod kernels;
mod orders;
mod percentiles;
mod scores;
mod search;
mod shake_up;

pub use compare::{Compared, Entry, MAX_STEPS, compare};
pub use orders::sure_orders;
pub use percentiles::{percentile_interval, quantile, rank_percentiles};
pub use scores::score_interval;
pub use shake_up::shake_up;

/// The confidence of each side: both together have 95 %.
pub const CONFIDENCE: f64 = 0.975;
/// Two entries that differ in correctness on fewer items are never told apart: of five items that all speak for one of two equal
/// entries, a sign test would say so in 1 of 16 cases.
pub const MIN_DIFFERENT_ITEMS: usize = 6;
/// A difference of so many standard errors is told apart with power 0.8 by a test of two sides with confidence 0.95: the sum of the
/// normal distribution's quantiles at 0.975 and 0.8.
pub const DETECTABLE_ERRORS: f64 = 1.959_963_984_540_054 + 0.841_621_233_572_914_3;
/// So many degrees of freedom are added to those of the items that differ: the others have a part in the standard error as well. With
/// more, entries of equal worth are told apart too often, and with fewer, intervals are wider than they need be (`examples/coverage`).
const MORE_DEGREES: usize = 9;

/// The degrees of freedom of a difference of two entries, by the items on which they differ in correctness; 0 where it is never sure. Where
/// whole clusters are drawn, items of a cluster speak together: there are no more than half as many as clusters, less one.
pub fn degrees_of_freedom(n_different: usize, n_clusters: Option<usize>) -> usize {
    if n_different < MIN_DIFFERENT_ITEMS {
        return 0;
    }
    let of_items = n_different.saturating_add(MORE_DEGREES);
    n_clusters.map_or(of_items, |n_clusters| {
        of_items.min((n_clusters / 2).saturating_sub(1))
    })
}
