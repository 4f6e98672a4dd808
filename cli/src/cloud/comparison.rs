//! The comparison of a board's rows, read from the bucket or the read API.

use dataperf::NoIntervals;
use dataperf::Timestamp;
use dataperf::comparison::{CONFIDENCE, Summary as Stored};
use serde::{Deserialize, Serialize};

/// The summary of a board's comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Summary {
    pub(crate) compared_at: Timestamp,
    /// The confidence of all intervals.
    pub(crate) confidence: f64,
    /// Rows that may be the best one.
    pub(crate) n_best: usize,
    /// The smallest difference between neighbours that the test set can tell apart, with power 0.8.
    pub(crate) resolution: Option<f64>,
    /// Rows that can't be compared until the board is scored again.
    pub(crate) n_missing: usize,
    /// Whether whole clusters are drawn.
    pub(crate) is_clustered: bool,
    /// Rows that may be the best one by the area under their curves, where rows are compared by it.
    #[serde(default)]
    pub(crate) n_best_by_area: Option<usize>,
    /// Why there are no intervals; `None` if there are intervals.
    pub(crate) why_none: Option<String>,
    /// Why scores have no intervals, where ranks have some.
    pub(crate) why_no_score_intervals: Option<String>,
    /// Whether scores have intervals where `why_none` says why ranks have none.
    #[serde(skip)]
    pub(crate) has_score_intervals: bool,
    /// Rows that have a rank.
    #[serde(skip)]
    pub(crate) n_ranked: usize,
}

impl From<&Stored> for Summary {
    fn from(stored: &Stored) -> Self {
        let sentence = |why: Option<NoIntervals>| why.map(|why| why.to_string());
        Self {
            compared_at: stored.compared_at,
            confidence: CONFIDENCE,
            n_best: stored.n_best,
            resolution: stored.resolution,
            n_missing: stored.n_missing,
            is_clustered: stored.is_clustered,
            n_best_by_area: stored.n_best_by_area,
            why_none: sentence(stored.why_none),
            why_no_score_intervals: sentence(stored.why_no_score_intervals),
            has_score_intervals: stored.why_none.is_some_and(NoIntervals::is_of_ranks),
            n_ranked: stored.n_ranked,
        }
    }
}

impl Summary {
    /// Why there are no intervals, or none of ranks: `no intervals: nothing is on the board yet`.
    /// `None` if there are intervals.
    pub(crate) fn none_in_words(&self) -> Option<String> {
        let why = self.why_none.as_ref()?;
        let missing = if self.has_score_intervals {
            "intervals of ranks"
        } else if self.n_best_by_area.is_some() {
            "intervals of scores"
        } else {
            "intervals"
        };
        Some(format!("no {missing}: {why}"))
    }
}
