//! Challenges: the rounds of a benchmark's leaderboards, with their limits, and under which terms an upload is judged.
//!
//! Time alone opens and closes a round: an upload belongs to the round that was open when it was stored.

mod document;
mod fields;
mod terms;

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::board::POST_ROUND;
use crate::ports::PortError;
use crate::ports::bucket::{Bucket, Got};
use crate::{Digest, Timestamp};

pub use crate::board::Ranking;
pub use document::check;
pub use terms::{Limits, OverLimit, Terms};

/// Begins the name of a submitter whose submissions are baselines, in a challenge or outside of any.
pub const BASELINE_PREFIX: &str = "baseline-";
const MAX_BYTES: u64 = 1 << 20;

/// Who may read the artifacts of a round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Visibility {
    /// Their submitters.
    #[default]
    Private,
    /// Everybody.
    Public,
}

/// What participants are told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Messages {
    /// Before the opening; also part of the rejection of an early upload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// While the round is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<String>,
    /// After the closing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// A round: some leaderboards of a benchmark for some time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// Its id, such as `2026-spring`.
    pub id: String,
    /// The leaderboards; all of the benchmark's when none is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leaderboards: Vec<String>,
    /// The first moment an upload counts.
    pub opens: Timestamp,
    /// The first moment it no longer does; never when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closes: Option<Timestamp>,
    /// The data set it is scored with, whatever is in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<Digest>,
    /// How many submissions of a submitter are scored in a day (UTC) on each leaderboard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_limit: Option<u64>,
    /// How many of a submitter are scored in the whole round on each leaderboard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_limit: Option<u64>,
    /// The division, shown with the round: which freedom submissions have beyond the rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub division: Option<String>,
    /// Who may read the artifacts.
    #[serde(default)]
    pub artifacts: Visibility,
    /// Submitters whose submissions are baselines and not limited, beside those called [`BASELINE_PREFIX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub baselines: Vec<String>,
    /// What participants are told.
    #[serde(default)]
    pub messages: Messages,
}

impl Round {
    fn has(&self, leaderboard: &str) -> bool {
        self.leaderboards.is_empty() || self.leaderboards.iter().any(|name| name == leaderboard)
    }

    fn is_closed(&self, at: Timestamp) -> bool {
        self.closes.is_some_and(|closes| closes <= at)
    }
}

/// How one leaderboard differs from the benchmark's others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardRules {
    /// Which submissions stand on it, when not those of the benchmark's setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranking: Option<Ranking>,
}

/// What a challenge says of one benchmark: `BENCHMARK/challenge.json` in the datasets bucket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Challenge {
    /// The version of this document's form.
    pub schema: u32,
    /// The challenge's name for people.
    pub title: String,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Which submissions stand on the boards.
    #[serde(default)]
    pub ranking: Ranking,
    /// Leaderboards with rules of their own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub leaderboards: BTreeMap<String, BoardRules>,
    /// The rounds. Those of one leaderboard never overlap.
    #[serde(default)]
    pub rounds: Vec<Round>,
}

/// Why a challenge could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ChallengeError {
    /// The bucket did not answer.
    #[error(transparent)]
    Port(#[from] PortError),
    /// What is published is not a challenge.
    #[error(
        "`{key}` in the datasets bucket is no challenge: {why}; publish it anew with `dataperf challenge publish`"
    )]
    Malformed {
        /// The object.
        key: String,
        /// What is wrong.
        why: String,
    },
}

impl Challenge {
    /// The version of the form written today.
    pub const SCHEMA: u32 = 1;

    /// Where a benchmark's challenge is in the datasets bucket.
    pub fn key(benchmark: &str) -> String {
        format!("{benchmark}/challenge.json")
    }

    /// The challenge that is published for a benchmark; `None` when there is none.
    ///
    /// # Errors
    /// [`ChallengeError`] when the bucket does not answer, or the object is of another form.
    pub async fn published(datasets: &impl Bucket, benchmark: &str) -> Result<Option<Self>, ChallengeError> {
        let key = Self::key(benchmark);
        let malformed = |why: String| ChallengeError::Malformed {
            key: key.clone(),
            why,
        };
        match datasets.get(&key, None, MAX_BYTES).await? {
            Got::Missing => Ok(None),
            Got::TooLarge { n_bytes } => Err(malformed(format!(
                "it has {n_bytes} bytes, more than {MAX_BYTES}"
            ))),
            Got::Object(object) => {
                let challenge: Self =
                    serde_json::from_slice(&object.bytes).map_err(|error| malformed(error.to_string()))?;
                if challenge.schema != Self::SCHEMA {
                    let why = format!(
                        "its schema is {}, this version reads {}",
                        challenge.schema,
                        Self::SCHEMA
                    );
                    return Err(malformed(why));
                }
                Ok(Some(challenge))
            }
        }
    }

    /// The object that is published.
    ///
    /// # Errors
    /// [`ChallengeError::Malformed`] when it can't be written as JSON.
    pub fn to_json(&self) -> Result<Bytes, ChallengeError> {
        let mut json = serde_json::to_vec_pretty(self).map_err(|error| ChallengeError::Malformed {
            key: "challenge.json".into(),
            why: error.to_string(),
        })?;
        json.push(b'\n');
        Ok(json.into())
    }

    /// A round by its id, or by the id of the board that its closing leaves.
    pub fn round(&self, id: &str) -> Option<&Round> {
        let id = id.strip_suffix(POST_ROUND).unwrap_or(id);
        self.rounds.iter().find(|round| round.id == id)
    }

    /// Which submissions stand on a leaderboard.
    pub fn ranking(&self, leaderboard: &str) -> Ranking {
        let of_board = self.leaderboards.get(leaderboard).and_then(|rules| rules.ranking);
        of_board.unwrap_or(self.ranking)
    }

    /// The rounds of a leaderboard in the order of their opening.
    fn rounds_of(&self, leaderboard: &str) -> Vec<&Round> {
        let mut rounds: Vec<&Round> = self
            .rounds
            .iter()
            .filter(|round| round.has(leaderboard))
            .collect();
        rounds.sort_by_key(|round| round.opens);
        rounds
    }
}
