//! The order of a leaderboard, as a text that a database can sort by.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Timestamp;
use crate::upload::SubmissionId;

/// Which scores are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// A larger score is better, as with F1.
    HigherIsBetter,
    /// A smaller score is better, as with the fraction of fixes.
    LowerIsBetter,
}

impl Direction {
    /// Whether `one` score is better than the `other`.
    pub fn is_better(self, one: f64, other: f64) -> bool {
        match self {
            Self::HigherIsBetter => one > other,
            Self::LowerIsBetter => one < other,
        }
    }
}

/// A sort key: smaller text is the better place. Sixteen hexadecimal digits of the score with its direction
/// normalised, then the time, then the id, so that the order is total: a better score, then the earlier upload.
///
/// ```
/// use dataperf::{Direction::HigherIsBetter, RankKey, SubmissionId, Timestamp};
/// let id = SubmissionId::derive("bucket", "key", "version");
/// let key = |score, at| RankKey::new(score, HigherIsBetter, Timestamp::from_unix_millis(at), &id);
/// assert!(key(0.5, 2) < key(0.25, 1));
/// assert!(key(0.5, 1) < key(0.5, 2));
/// assert_eq!(key(f64::NAN, 1), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RankKey(String);

impl RankKey {
    /// The key of a score; `None` for NaN, which has no place on a board.
    pub fn new(score: f64, direction: Direction, received_at: Timestamp, id: &SubmissionId) -> Option<Self> {
        if score.is_nan() {
            return None;
        }
        let bits = (score + 0.0).to_bits(); // + 0.0 makes -0 a 0: they are equal scores
        // IEEE 754 bits sort as the numbers do once negative ones are inverted and positive ones moved above them.
        let ascending = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
        let better_first = match direction {
            Direction::HigherIsBetter => !ascending,
            Direction::LowerIsBetter => ascending,
        };
        Some(Self(format!("{better_first:016x}#{received_at}#{id}")))
    }

    /// The key's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RankKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(score: f64, direction: Direction, at: i64, n: u8) -> Option<RankKey> {
        let id = SubmissionId::derive("bucket", &n.to_string(), "");
        RankKey::new(score, direction, Timestamp::from_unix_millis(at), &id)
    }

    proptest! {
        #[test]
        fn sorts_by_score_then_time_then_id(
            a in prop::num::f64::ANY, b in prop::num::f64::ANY, same in any::<bool>(),
            s in 0i64..5_000_000_000_000, t in 0i64..5_000_000_000_000, higher in any::<bool>(),
        ) {
            let b = if same { a } else { b };
            let direction = if higher { Direction::HigherIsBetter } else { Direction::LowerIsBetter };
            let (one, other) = (key(a, direction, s, 1), key(b, direction, t, 1));
            prop_assert_eq!(one.is_none(), a.is_nan());
            if let (Some(one), Some(other)) = (one, other) {
                let by_score = if higher { b.partial_cmp(&a) } else { a.partial_cmp(&b) };
                prop_assert_eq!(Some(one.cmp(&other)), by_score.map(|order| order.then(s.cmp(&t))));
                prop_assert_eq!(one.as_str().len(), other.as_str().len());
            }
        }
    }

    #[test]
    fn ids_break_ties_of_score_and_time() {
        let direction = Direction::LowerIsBetter;
        assert_ne!(key(0.0, direction, 7, 1), key(0.0, direction, 7, 2));
        assert_eq!(key(0.0, direction, 7, 1), key(-0.0, direction, 7, 1));
    }
}
