//! A leaderboard of a round: its name, which submissions it shows, and how many a submitter may
//! have scored.

pub(crate) mod rank_key;

use serde::{Deserialize, Serialize};

use crate::board::rank_key::Direction;
use crate::upload::UNNAMED;

/// The round that is always open: a leaderboard outside any challenge.
pub const OPEN_ROUND: &str = "open";
/// Follows a round's id in the name of the board that stays open after its closing. No round's own id ends so.
pub const POST_ROUND: &str = ".post";

/// Follows a round's id in the name of the board of its final data set. No round's own id ends so.
pub const FINAL_ROUND: &str = ".final";

/// Identifies a board: scores are compared within one round of one leaderboard of one benchmark.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Board {
    /// The benchmark's id.
    pub benchmark: String,
    /// The leaderboard's name, such as `en-25`.
    pub leaderboard: String,
    /// The round; [`OPEN_ROUND`] if there is none.
    pub round: String,
}

/// Which board of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The public board, which takes uploads until the round closes.
    Public,
    /// The board that stays open after the close.
    Post,
    /// The board of the round's final data set.
    Final,
}

/// The id of a round and which of its boards it is, by the round's name on boards: `ID`, `ID.post` or `ID.final`.
pub fn parse_round(name: &str) -> (&str, Stage) {
    if let Some(id) = name.strip_suffix(POST_ROUND) {
        (id, Stage::Post)
    } else if let Some(id) = name.strip_suffix(FINAL_ROUND) {
        (id, Stage::Final)
    } else {
        (name, Stage::Public)
    }
}

impl Board {
    /// The place where failures count, of submissions that count on this board.
    #[must_use]
    pub fn of_failures(&self) -> Self {
        Self {
            round: format!("{}.failed", self.round),
            ..self.clone()
        }
    }

    /// The id of the round that it is of.
    pub fn round_id(&self) -> &str {
        parse_round(&self.round).0
    }

    /// Which board of its round it is.
    pub fn stage(&self) -> Stage {
        parse_round(&self.round).1
    }

    /// Whether this is the board of a closed round, which stays open as a benchmark.
    pub fn is_post_round(&self) -> bool {
        self.stage() == Stage::Post
    }

    /// Whether this is a board of the round with this id, while it is open or after its close; a final board is not.
    pub fn is_of_round(&self, id: &str) -> bool {
        !self.is_final() && self.round_id() == id
    }

    /// The public board whose final board this is; `None` if this is no final board.
    pub fn public(&self) -> Option<Self> {
        self.is_final().then(|| Self {
            round: self.round_id().to_owned(),
            ..self.clone()
        })
    }

    /// The key of an object about the board in the results bucket, below no submitter's name.
    pub(crate) fn object_key(&self, kind: &str) -> String {
        let Self {
            benchmark,
            leaderboard,
            round,
        } = self;
        format!("{benchmark}/{UNNAMED}/{kind}/{leaderboard}/{round}")
    }

    /// Whether this is a final board, with the scores of its round's final data set.
    pub fn is_final(&self) -> bool {
        self.stage() == Stage::Final
    }
}

/// Which of a submitter's scored submissions a board shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ranking {
    /// The best one.
    #[default]
    Best,
    /// The one uploaded last.
    Latest,
}

impl Ranking {
    /// The word that documents use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Best => "best",
            Self::Latest => "latest",
        }
    }
}

/// How a board ranks: its benchmark's direction and its own setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// Which scores are better.
    pub direction: Direction,
    /// Which submissions it shows.
    pub ranking: Ranking,
}

/// How many scored submissions count against a submitter's limits on a board.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Uploaded on the day in question.
    pub day: u64,
    /// In the round.
    pub total: u64,
}
