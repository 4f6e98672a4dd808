//! Why a score, a rank or a difference is shown without an interval.
//!
//! Documents store the reason as a code; the sentence for people is made for display. So code
//! decides by the reason, and a document with an unknown reason can't be read.

use dataperf_numerics::ranks::MIN_DIFFERENT_ITEMS;
use serde::{Deserialize, Serialize, Serializer};

use crate::Digest;

/// The fewest items of a class or group for which an interval keeps its coverage.
pub const MIN_ITEMS: usize = 20;
/// The fewest items of a class for which ranks have intervals by swaps of answers (docs/statistics.md).
pub(crate) const MIN_SWAPPED_ITEMS: usize = 12;
/// The fewest clusters with a class (of a group), where clusters are drawn, for the same reason.
pub const MIN_CLUSTERS: usize = 20;
/// The most submissions for which a retirement's report has intervals: their draws are read one after another, within a run of the function.
pub const MAX_WITH_INTERVALS: usize = 2_000;

/// Why there is no interval. `Display` writes the sentence for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum NoIntervals {
    /// The board has no rows.
    #[error("nothing is on the board yet")]
    EmptyBoard,
    /// The board has one row.
    #[error("the board has fewer than two rows")]
    FewRows,
    /// The rows have no draws of the test set.
    #[error("the rows have no draws of the test set: score the board again")]
    NotDrawn,
    /// A class or a group is in too few clusters. In how many follows from hidden labels.
    #[error(
        "a class or a group of the test set is in fewer than {MIN_CLUSTERS} clusters, too few for reliable intervals"
    )]
    FewClusters,
    /// A class has too few items.
    #[error("a class of the test set has fewer than {MIN_ITEMS} items, too few for reliable intervals")]
    FewItems,
    /// The score is a place on a curve that ends at the target, on a curve of another metric than
    /// accuracy, or on one of clusters; or a class has too few items. The end of the curve depends
    /// on hidden labels.
    #[error(
        "the score is the place where a curve reaches its target: it has an interval where the metric is accuracy, \
         items have no clusters, curves are whole and each class has {MIN_ITEMS} items"
    )]
    PlaceOnCurve,
    /// The score is a place on a curve, and has an interval: `cargo run --release -p dataperf-numerics --example coverage` has the numbers.
    #[error(
        "the score is the place where a curve reaches its target, which jumps from one test set to another: \
         in simulations, rank intervals of 95 % held the true rank of tied scores in 84 to 91 % of the cases"
    )]
    RankOfPlace,
    /// The score is the smallest of several accuracies; the same program has the numbers.
    #[error(
        "the score is the smallest of several accuracies, which on average is below the smallest true one: \
         in simulations of four equal groups, intervals of 95 % held the true score in 82 to 85 % of the cases"
    )]
    WorstOfGroups,
    /// The score is a program's.
    #[error("programs compete on unseen data, and an interval would reveal more than the score does")]
    OfProgram,
    /// The round's Ladder releases scores.
    #[error("the round's Ladder withholds scores: intervals appear once the round shows everything")]
    LadderReleases,
    /// The round shows rounded scores.
    #[error(
        "the round rounds scores to 1/n, with n test items: intervals appear once the round shows everything"
    )]
    ScoresRounded,
    /// Two submissions were scored with different data sets.
    #[error(
        "the first was scored with {first}, the second with {second}: score the board again with one data set"
    )]
    OtherDataset {
        /// The data set of the first.
        first: Digest,
        /// The data set of the second.
        second: Digest,
    },
    /// Two submissions were scored under different draws of the test set.
    #[error("they were scored under different draws of the test set: score the board again")]
    OtherDraws,
    /// Two submissions differ on too few items.
    #[error(
        "the two differ on fewer than {MIN_DIFFERENT_ITEMS} items of the test set, too few for an interval of their difference"
    )]
    FewDifferentItems,
    /// Two submissions differ by the same under all draws.
    #[error("their difference is the same in all draws, so the draws say nothing about other test sets")]
    ConstantDifference,
    /// The submissions of a retirement were scored under different draws of one data set.
    #[error("the submissions were scored under different draws of one data set")]
    MixedDraws,
    /// A retirement has too many submissions.
    #[error("the report has intervals up to {MAX_WITH_INTERVALS} submissions, and these are {n}")]
    ManySubmissions {
        /// How many.
        n: usize,
    },
    /// The draws of some submissions of a retirement are not kept.
    #[error("{n} of the submissions have no stored draws")]
    DrawsNotKept {
        /// Of how many.
        n: usize,
    },
}

impl NoIntervals {
    /// Whether ranks and differences alone have no interval, and scores have one.
    pub fn is_of_ranks(self) -> bool {
        matches!(self, Self::RankOfPlace)
    }
}

/// Writes the sentence for people, in documents that nobody reads back.
#[allow(clippy::ref_option, reason = "serde calls it with a reference to the field")]
pub(crate) fn as_sentence<S: Serializer>(why: &Option<NoIntervals>, to: S) -> Result<S::Ok, S::Error> {
    why.map(|why| why.to_string()).serialize(to)
}
