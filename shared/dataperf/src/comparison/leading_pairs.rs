//! The paired differences of a board's first rows, for everybody once its round has closed.
//!
//! [`Pairs::compute`] compares them. An evaluator writes the result next to the board's
//! [comparison](crate::comparison), but only when everything may be shown. The inputs stay private
//! to the organizer.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::board::Board;
use crate::challenge::Challenge;
use crate::comparison::pair::Paired;
use crate::comparison::{Rows, rounded_outward, why_none};
use crate::ports::PortError;
use crate::ports::bucket::{Bucket, Got};
use crate::replicates::Replicates;
use crate::upload::SubmissionId;
use crate::{Digest, Direction, NoIntervals, Timestamp};

/// The rows of a board whose differences are published, each row with each: 1,225 pairs.
pub const PAIRED_ROWS: usize = 50;
/// The largest object that is read.
const MAX_BYTES: u64 = 1 << 20;

/// A row, by its submission, with the score that its pairs are of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Row(SubmissionId, f64);

/// The difference of two rows; the first ranks above the second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Pair {
    /// The ends of the interval, and which of the two is clearly better: 1, 2 or neither.
    Interval(f64, f64, Option<u8>),
    /// Why there is no interval.
    None(NoIntervals),
}

/// The paired differences of a board's first rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pairs {
    /// The version of this document's form.
    pub schema: u32,
    /// When the board was compared: the comparison has the same time.
    pub compared_at: Timestamp,
    /// The data set that the rows are scored with.
    pub dataset: Option<Digest>,
    /// Why no pair has an interval, where the reason is the same for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_none: Option<NoIntervals>,
    /// The rows, best first.
    rows: Vec<Row>,
    /// The first row with each that follows it, then the second, and so on; empty if no pair has an
    /// interval.
    differences: Vec<Pair>,
}

/// How far one submission is from another.
#[derive(Debug, Clone, PartialEq)]
pub struct Between {
    /// The score of each.
    pub scores: (f64, f64),
    /// The first's score less the second's.
    pub difference: f64,
    /// The interval of 95 % of it, its ends moved outward to two digits of its width.
    pub interval: Option<(f64, f64)>,
    /// Which is clearly better, 1 or 2; `None` where neither is.
    pub clearly_better: Option<u8>,
    /// Why there is no interval; `None` if there is one.
    pub why_none: Option<NoIntervals>,
}

impl Pairs {
    /// The version of the form.
    pub const SCHEMA: u32 = 2;

    /// The key of a board's paired differences in the results bucket.
    pub fn key(board: &Board) -> String {
        board.object_key("_pairs")
    }

    /// From when on the paired differences of a board may be shown: from the close of the last round that uses its data set. `None` for boards that
    /// no round closes, and for those that stay open after a round.
    pub fn shown_from(
        challenge: Option<&Challenge>,
        board: &Board,
        dataset: Option<Digest>,
    ) -> Option<Timestamp> {
        if board.is_post_round() {
            return None;
        }
        // the closing does not depend on the time of asking
        let at = Timestamp::from_unix_millis(0);
        challenge?.shown(board, dataset, at).whole_at
    }

    /// Compares the first rows of a board with each other.
    pub fn compute(rows: &Rows<'_>, at: Timestamp) -> Self {
        let of_board = rows.of_board();
        let first = &of_board[..of_board.len().min(PAIRED_ROWS)];
        let mut pairs = Vec::new();
        let mut why_none = None;
        if first.len() < 2 {
            why_none = Some(NoIntervals::FewRows);
        } else if rows.is_released() {
            why_none = Some(NoIntervals::LadderReleases);
        } else {
            let replicates: Vec<Option<&Arc<Replicates>>> =
                first.iter().map(|row| rows.replicates_for(row)).collect();
            for (place, &one) in replicates.iter().enumerate() {
                let below = replicates[place + 1..].iter();
                pairs.extend(below.map(|&other| Pair::compare(one, other, rows.direction)));
            }
            if let Some(why) = common_reason(&pairs) {
                why_none = Some(why);
                pairs.clear();
            }
        }
        let row = |row: &&crate::rows::ranking::Ranked| {
            Some(Row(row.entry.id.clone(), row.entry.score?)) // what stands on a board has a score
        };
        Self {
            schema: Self::SCHEMA,
            compared_at: at,
            dataset: rows.dataset,
            why_none,
            rows: first.iter().filter_map(row).collect(),
            differences: pairs,
        }
    }

    /// The difference of two submissions; `None` if one of them is not among the rows.
    pub fn between(&self, first: &SubmissionId, second: &SubmissionId) -> Option<Between> {
        let place = |id: &SubmissionId| self.rows.iter().position(|row| row.0 == *id);
        let (one, other) = (place(first)?, place(second)?);
        let scores = (self.rows[one].1, self.rows[other].1);
        let mut between = Between {
            scores,
            difference: scores.0 - scores.1,
            interval: None,
            clearly_better: None,
            why_none: self.why_none,
        };
        if between.why_none.is_some() {
            return Some(between);
        }
        let (above, below) = (one.min(other), one.max(other));
        let before = above * (2 * self.rows.len() - above - 1) / 2; // pairs of the rows above both
        match self.differences.get(before + (below.checked_sub(above + 1)?))? {
            Pair::None(why) => between.why_none = Some(*why),
            Pair::Interval(low, high, clearly_better) if one < other => {
                between.interval = Some((*low, *high));
                between.clearly_better = *clearly_better;
            }
            Pair::Interval(low, high, clearly_better) => {
                between.interval = Some((0.0 - high, 0.0 - low));
                between.clearly_better = clearly_better.map(|better| 3 - better);
            }
        }
        Some(between)
    }

    /// The paired differences of a board; `None` if they are missing, or the object has another
    /// form, which is then replaced.
    ///
    /// # Errors
    /// [`PortError`] when the object can't be read.
    pub async fn read(results: &dyn Bucket, board: &Board) -> Result<Option<Self>, PortError> {
        let Got::Object(object) = results.get(&Self::key(board), None, MAX_BYTES).await? else {
            return Ok(None);
        };
        let read = serde_json::from_slice::<Self>(&object.bytes).ok();
        Ok(read.filter(Self::is_whole))
    }

    /// Whether there is a pair for every two rows, in the form written today.
    fn is_whole(&self) -> bool {
        let n = self.rows.len();
        let n_pairs = n * n.saturating_sub(1) / 2;
        self.schema == Self::SCHEMA && (self.why_none.is_some() || self.differences.len() == n_pairs)
    }

    /// The object that is stored.
    ///
    /// # Errors
    /// [`PortError::Malformed`] when it can't be written as JSON.
    pub fn to_bytes(&self) -> Result<Vec<u8>, PortError> {
        serde_json::to_vec(self).map_err(|error| PortError::Malformed {
            subject: "the paired differences of a board".into(),
            why: error.to_string(),
        })
    }
}

impl Pair {
    fn compare(one: Option<&Arc<Replicates>>, other: Option<&Arc<Replicates>>, direction: Direction) -> Self {
        let (Some(first), Some(second)) = (one, other) else {
            return Self::None(why_none(&[one, other], &[]).unwrap_or(NoIntervals::NotDrawn));
        };
        match Paired::compare(first.clone(), second.clone(), direction) {
            Ok(Paired {
                interval: Some(interval),
                clearly_better,
                ..
            }) => {
                let (low, high) = rounded_outward(interval);
                Self::Interval(low, high, clearly_better)
            }
            Ok(paired) => Self::None(paired.why_none.unwrap_or(NoIntervals::NotDrawn)),
            Err(why) => Self::None(why),
        }
    }
}

/// The one reason why no pair has an interval; `None` if one has, or reasons differ.
fn common_reason(pairs: &[Pair]) -> Option<NoIntervals> {
    let Some(Pair::None(why)) = pairs.first() else {
        return None;
    };
    let is_same = |pair: &Pair| matches!(pair, Pair::None(other) if other == why);
    pairs.iter().all(is_same).then_some(*why)
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "decimals are read back as they are written")]
mod tests {
    use std::collections::BTreeMap;

    use dataperf_numerics::bootstrap::N_DRAWS;

    use super::*;
    use crate::Ending;
    use crate::ports::memory::MemoryBucket;
    use crate::rows::ranking::Ranked;
    use crate::submission::Entry;

    fn board(round: &str) -> Board {
        Board {
            benchmark: "b".into(),
            leaderboard: "l".into(),
            round: round.into(),
        }
    }

    fn id(place: usize) -> SubmissionId {
        SubmissionId::derive("bucket", &place.to_string(), "")
    }

    fn replicates(score: f64, place: usize, smallest: usize) -> Replicates {
        let of_draw = |draw: usize| (((draw + place) * 7919) % N_DRAWS) as f32 / N_DRAWS as f32 - 0.4995;
        Replicates {
            deviations: (0..N_DRAWS).map(|draw| 0.05 * of_draw(draw)).collect(),
            correctness: (0..200)
                .map(|item| 255 * u8::from(((item * 7_919) ^ (place * 104_729)) % 1_009 % 10 > 2))
                .collect(),
            ..Replicates::of_test(score, smallest, 200)
        }
    }

    /// The pairs of a board with these scores; where `is_kept` says so something is kept of the row at a place.
    fn pairs(scores: &[f64], smallest: usize, is_kept: impl Fn(usize) -> bool) -> Pairs {
        let dataset = Some(Digest::compute(b"data"));
        let mut kept = BTreeMap::new();
        let row = |(place, &score): (usize, &f64)| Ranked {
            entry: Entry {
                id: id(place),
                board: board("r"),
                submitter: format!("s{place}"),
                received_at: Timestamp::from_unix_millis(0),
                is_baseline: false,
                withdrawn_at: None,
                withdrawals: Vec::new(),
                ending: Some(Ending::Scored),
                score: Some(score),
                climb: None,
                dataset,
            },
            rank: place + 1,
            is_of_other_dataset: false,
        };
        let rows: Vec<Ranked> = scores.iter().enumerate().map(row).collect();
        for (place, &score) in scores.iter().enumerate().filter(|(place, _)| is_kept(*place)) {
            kept.insert(id(place), Arc::new(replicates(score, place, smallest)));
        }
        let rows = Rows {
            shows_every_score: false,
            rows: &rows,
            replicates: &kept,
            n_submissions: &BTreeMap::new(),
            direction: Direction::HigherIsBetter,
            dataset,
        };
        let pairs = Pairs::compute(&rows, Timestamp::from_unix_millis(9));
        // as it is read
        let (bucket, key) = (MemoryBucket::default(), Pairs::key(&board("r")));
        let bytes = pairs.to_bytes().expect("written");
        assert!(bytes.len() < 1 << 17, "{} bytes", bytes.len());
        pollster::block_on(bucket.put(&key, bytes.into())).expect("kept");
        let read = pollster::block_on(Pairs::read(&bucket, &board("r"))).expect("read");
        assert_eq!(read.as_ref(), Some(&pairs));
        pairs
    }

    #[test]
    fn each_top_pair_is_available_in_both_orders() {
        let scores: Vec<f64> = (0..PAIRED_ROWS + 3).map(|row| 0.9 - row as f64 / 70.0).collect();
        let pairs = pairs(&scores, 100, |_| true);
        for one in 0..PAIRED_ROWS {
            for other in (0..PAIRED_ROWS).filter(|other| *other != one) {
                let pair = pairs
                    .between(&id(one), &id(other))
                    .expect("both are among the first");
                let draw = |place: usize| replicates(scores[place], place, 100);
                let exact =
                    Paired::compare(draw(one), draw(other), Direction::HigherIsBetter).expect("one data set");
                let ((low, high), (inner, outer)) = (
                    pair.interval.expect("an interval"),
                    exact.interval.expect("an interval"),
                );
                assert_eq!(pair.difference, exact.difference);
                assert_eq!(pair.clearly_better, exact.clearly_better, "{one} {other}");
                let unit = 10_f64.powf((outer - inner).log10().floor() - 1.0) * 1.001;
                assert!(
                    low <= inner && inner - low <= unit,
                    "{one} {other}: {low} {inner}"
                );
                assert!(
                    outer <= high && high - outer <= unit,
                    "{one} {other}: {high} {outer}"
                );
            }
            assert_eq!(
                pairs.between(&id(one), &id(PAIRED_ROWS)),
                None,
                "it is not among the first"
            );
        }
    }

    #[test]
    fn a_missing_interval_gives_its_reason() {
        let few = pairs(&[0.7, 0.6, 0.5], 5, |_| true);
        assert_eq!(
            (few.differences.len(), few.why_none),
            (0, Some(NoIntervals::FewItems))
        );
        let pair = few.between(&id(0), &id(2)).expect("both are there");
        assert_eq!((pair.interval, pair.why_none), (None, few.why_none));

        let partly = pairs(&[0.7, 0.6, 0.5], 100, |place| place != 1);
        assert_eq!(partly.why_none, None);
        let why = |one, other| {
            partly
                .between(&id(one), &id(other))
                .and_then(|pair| pair.why_none)
        };
        assert_eq!(why(0, 2), None);
        assert_eq!(why(1, 2), Some(NoIntervals::NotDrawn));

        for scores in [&[][..], &[0.5]] {
            assert_eq!(pairs(scores, 100, |_| true).why_none, Some(NoIntervals::FewRows));
        }
    }

    #[test]
    fn boards_without_a_closing_round_show_no_pairs() {
        let challenge = serde_json::json!({ "schema": 1, "title": "t", "rounds": [
            { "id": "spring", "opens": "2026-01-01T00:00:00Z", "closes": "2026-02-01T00:00:00Z", "dataset": Digest::compute(b"a") },
            { "id": "summer", "opens": "2026-03-01T00:00:00Z", "closes": "2026-04-01T00:00:00Z", "dataset": Digest::compute(b"a") },
            { "id": "unending", "opens": "2026-05-01T00:00:00Z", "dataset": Digest::compute(b"b") },
        ] });
        let challenge: Challenge = serde_json::from_value(challenge).expect("a challenge");
        let from = |round: &str, dataset: &[u8]| {
            let from = Pairs::shown_from(Some(&challenge), &board(round), Some(Digest::compute(dataset)));
            from.map(|from| from.to_string())
        };
        // the later round uses the same data
        let april = Some("2026-04-01T00:00:00.000Z".to_owned());
        assert_eq!(
            (from("spring", b"a"), from("summer", b"a")),
            (april.clone(), april)
        );
        for round in ["open", "gone", "unending", "spring.post"] {
            assert_eq!(from(round, b"b"), None, "{round}");
        }
        assert_eq!(Pairs::shown_from(None, &board("spring"), None), None);
    }
}
