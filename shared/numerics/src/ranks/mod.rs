//! The certainty of ranks: the ranks that an entry of a board may have, given what its score would have been on other test sets.
//!
//! Entries are compared pair by pair, by the differences of their scores under the same draws of the test set. An entry is
//! clearly better than another when that holds for all entries at once with 97.5 % confidence; its rank interval follows from how
//! many are clearly better and how many clearly worse, and holds its rank with 95 % confidence.
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
mod places;
mod scores;
mod search;
mod shake_up;
mod swaps;

pub use compare::{Compared, MAX_STEPS, compare};
pub use orders::{joint_orders, sure_orders};
pub use percentiles::{percentile_interval, quantile, rank_percentiles};
pub use places::{Certainty, Margin, first_at_target};
pub(crate) use scores::student;
pub use scores::{difference_interval, score_interval};
pub use shake_up::shake_up;
pub use swaps::{Swapped, compare_swapped};

/// The confidence of each one-sided set; both together have 95 %.
pub const CONFIDENCE: f64 = 0.975;
/// The fewest items on which two entries have to differ in correctness to be told apart. With five items that all favour one of two
/// equal entries, a sign test would tell them apart in 1 of 16 cases.
pub const MIN_DIFFERENT_ITEMS: usize = 6;
/// The difference, in standard errors, that a two-sided test with confidence 0.95 finds with power 0.8: the sum of the normal
/// distribution's quantiles at 0.975 and 0.8.
pub const DETECTABLE_ERRORS: f64 = 1.959_963_984_540_054 + 0.841_621_233_572_914_3;
/// The degrees of freedom that are added to the number of items that differ, because the other items contribute to the standard
/// error too. With more, equal entries are told apart too often; with fewer, intervals are wider than they need to be
/// (`examples/coverage`).
const MORE_DEGREES: usize = 9;

/// An entry of a board.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// The score; more is better.
    pub score: f64,
    /// Whether it takes part in the ranking. Baselines do not: they are compared and take nobody's rank.
    pub is_ranked: bool,
    /// `(n_draws,)`: the score under each draw minus the score.
    pub deviations: &'a [f32],
}

/// The degrees of freedom of the difference of two entries, by the number of items on which they differ in correctness; 0 if the
/// difference is never sure. If whole clusters are drawn, their items depend on each other: there are at most half as many degrees
/// as clusters, minus one.
pub fn degrees_of_freedom(n_different: usize, n_clusters: Option<usize>) -> usize {
    if n_different < MIN_DIFFERENT_ITEMS {
        return 0;
    }
    let of_items = n_different.saturating_add(MORE_DEGREES);
    n_clusters.map_or(of_items, |n_clusters| {
        of_items.min((n_clusters / 2).saturating_sub(1))
    })
}
