//! How much of a verdict its submitter and the public see while a round is open.
//!
//! Everything in a verdict that is computed from hidden labels tells something about them; how much is measured in
//! docs/security.md. The table keeps verdicts whole; every way out of the platform goes through [`Receipt::shown`](crate::Receipt::shown) or
//! [`Verdict::shown`](crate::Verdict::shown).

use serde::{Deserialize, Serialize};

use crate::Timestamp;

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

/// The visible part of a submission at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// How much.
    pub level: Feedback,
    /// When everything is shown, if that time is known: the closing of the last round that uses the same data.
    pub whole_at: Option<Timestamp>,
    /// When a score is shown that is withheld now, if that time is known.
    pub score_at: Option<Timestamp>,
}

impl Shown {
    /// Everything, as the organizer sees it.
    pub const WHOLE: Self = Self {
        level: Feedback::Full,
        whole_at: None,
        score_at: None,
    };
}

/// The visible part at a level that never changes.
impl From<Feedback> for Shown {
    fn from(level: Feedback) -> Self {
        Self {
            level,
            whole_at: None,
            score_at: None,
        }
    }
}
