//! A submission's released score in receipts and lines of boards.

use serde::{Deserialize, Serialize};

/// The released score of a scored submission, in its receipt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Released {
    /// The score that is shown in place of the submission's own: the one that was released last on its board. `None` where the submission is held
    /// and nothing was released on its board before.
    pub score: Option<f64>,
    /// Whether it is the submission's own, rounded; otherwise the submission is held.
    pub has_climbed: bool,
    /// The evaluation data whose boards share the rung. Receipts that are written leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<String>,
    /// [`Rung::n_changes`](crate::ladder::Rung::n_changes) when it was recorded.
    pub rung: u64,
    /// Whether the submission's own score is shown by now, because everything of the round is. In the table this says what the board shows, in a written
    /// receipt what that receipt shows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_lifted: bool,
}

/// Whether a line's score is the submission's own, on a board whose scores the Ladder releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Climb {
    /// Its own, rounded.
    Climbed,
    /// The score of the last submission that climbed on the board, if one has.
    Held,
}

impl Climb {
    /// The word that the table uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Climbed => "climbed",
            Self::Held => "held",
        }
    }
}

/// A word that is no [`Climb`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not `climbed` or `held`")]
pub struct UnknownClimb(String);

impl std::str::FromStr for Climb {
    type Err = UnknownClimb;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let known = [Self::Climbed, Self::Held].into_iter();
        let mut climbs = known.filter(|climb| climb.as_str() == word);
        climbs.next().ok_or_else(|| UnknownClimb(word.to_owned()))
    }
}

impl Released {
    /// Whether it climbed; `None` once the board shows the submission's own score.
    pub fn climb(&self) -> Option<Climb> {
        let climb = if self.has_climbed {
            Climb::Climbed
        } else {
            Climb::Held
        };
        (!self.is_lifted).then_some(climb)
    }
}
