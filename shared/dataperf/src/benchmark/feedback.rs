//! How much of a verdict its submitter and the public see while a round is open.
//!
//! Everything in a verdict that is computed from hidden labels tells something about them; how much is measured in
//! docs/security.md. The table keeps verdicts whole; every way out of the platform goes through [`Receipt::shown`](crate::Receipt::shown) or
//! [`Verdict::shown`](crate::Verdict::shown).

use serde::{Deserialize, Serialize};

/// How much is shown. A higher level shows all that a lower one does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Feedback {
    /// Neither the score nor a metric.
    Nothing,
    /// The score and the reasons, and what follows from the artifact and public data alone.
    Score,
    /// Also numbers of each class, concept, task, market, seed and trial.
    #[default]
    Metrics,
    /// Also what tells of single items and steps: curves.
    Full,
}

impl Feedback {
    /// The word documents use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Score => "score",
            Self::Metrics => "metrics",
            Self::Full => "full",
        }
    }
}
