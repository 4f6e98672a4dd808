//! When a round's data set is retired for a fresh one.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Round;
use super::fields::{Object, Reader};
use crate::board::Board;
use crate::ports::maintenance::DataNote;
use crate::rejection::{pointer, quote};
use crate::submission::Entry;
use crate::{Digest, Timestamp};

const FORM: &str = "`retire` has the `dataset` that follows and either `at:` with a time or `after_submissions:` with a number, such as \
    `{at: 2027-03-01T00:00:00Z, dataset: sha256:...}`";

/// The policy by which a round's data set is retired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retire {
    /// The data set that follows.
    pub dataset: Digest,
    /// The first moment whose uploads are scored with it. Where the number of submissions decides, the moment is not in the document:
    /// [`Challenge::current`](super::Challenge::current) takes it from the table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The number of scored submissions after which that moment comes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_submissions: Option<u64>,
}

impl Retire {
    /// Where the table notes the run that scores what stands on a board with the data set that follows.
    pub fn run(&self, board: &Board) -> Board {
        Board {
            round: format!("{}.retired-for-{}", board.round, self.dataset.hex()),
            ..board.clone()
        }
    }

    /// What the table notes of the moment from which on a round's uploads are scored with the data set that follows.
    pub fn note(&self, round: &str) -> DataNote {
        DataNote::Retired {
            round: round.to_owned(),
            successor: self.dataset,
        }
    }
}

impl Round {
    /// The data set that uploads of a time are scored with, where the round says one.
    pub fn dataset_at(&self, at: Timestamp) -> Option<Digest> {
        self.retired(at).map(|retire| retire.dataset).or(self.dataset)
    }

    /// The policy, if the data set is retired by `at`.
    pub fn retired(&self, at: Timestamp) -> Option<&Retire> {
        let retire = self.retire.as_ref();
        retire.filter(|retire| retire.at.is_some_and(|retired| retired <= at))
    }

    /// How many submissions, without baselines, were scored with the evaluation data that was asked most often, by the round's present data set.
    /// `series` are the submissions of each board of the round.
    pub fn n_asked(&self, series: &[(Board, Vec<Entry>)]) -> u64 {
        let successor = self.retire.map(|retire| retire.dataset);
        let is_counted = |entry: &&Entry| {
            !entry.is_baseline
                && match self.dataset {
                    Some(pinned) => entry.dataset == Some(pinned),
                    None => entry.dataset != successor,
                }
        };
        let asked = |board: &Board| {
            let shared: Vec<&str> = self.shared_with(&board.leaderboard).collect();
            let is_shared = |other: &Board| *other == *board || shared.contains(&other.leaderboard.as_str());
            let together = series.iter().filter(|(other, _)| is_shared(other));
            let counts = together.map(|(_, entries)| entries.iter().filter(is_counted).count() as u64);
            counts.sum::<u64>()
        };
        series.iter().map(|(board, _)| asked(board)).max().unwrap_or(0)
    }
}

impl Reader {
    pub(super) fn retire(&mut self, object: &Object, at: &str) -> Option<Retire> {
        let (value, at) = (object.get("retire")?, pointer(at, "retire"));
        let Value::Object(_) = value else {
            self.wrong("bad_retire", &at, FORM);
            return None;
        };
        let fields = self.object(value, &at, &["at", "after_submissions", "dataset"])?;
        if fields.contains_key("at") == fields.contains_key("after_submissions") {
            self.wrong("bad_retire", &at, FORM);
        }
        if !fields.contains_key("dataset") {
            let message = "`retire` names the data set that follows: `dataset: sha256:...`";
            self.wrong("missing_key", &pointer(&at, "dataset"), message);
        }
        let when = self.beginning(fields, &at, "at");
        let after_submissions = self.limit(fields, &at, "after_submissions");
        Some(Retire {
            dataset: self.parsed::<Digest>(fields, &at, "dataset")?,
            at: when,
            after_submissions,
        })
    }

    /// A data set is retired while its round is open, for one that no upload has seen.
    pub(super) fn retirements_fit(&mut self, rounds: &[(String, Round)]) {
        for (at, round) in rounds {
            let Some(retire) = &round.retire else { continue };
            let at = pointer(at, "retire");
            if let Some(when) = retire.at {
                let place = pointer(&at, "at");
                if when <= round.opens {
                    let message = format!(
                        "the round opens at {}, and `retire` has to be after that: a data set that uploads are scored with from the beginning is the round's `dataset`",
                        round.opens
                    );
                    self.wrong("retired_before_opening", &place, message);
                }
                if let Some(closes) = round.closes.filter(|closes| *closes <= when) {
                    let message = format!(
                        "the round closes at {closes}: what is scored with afterwards is a `final` data set, or the next round's `dataset`"
                    );
                    self.wrong("retired_after_close", &place, message);
                }
            }
            if round.ladder.is_some() {
                let message = "a round has either a `ladder`, which keeps an eval set from wearing out, or `retire`, which replaces it: the \
                               report of a retirement shows scores that the Ladder withholds";
                self.wrong("retire_with_ladder", &at, message);
            }
            let is_seen = |other: &Round| {
                let is_later = other.id != round.id && retire.at.is_some_and(|when| when <= other.opens);
                other.dataset == Some(retire.dataset) && !is_later
            };
            if let Some((_, other)) = rounds.iter().find(|(_, other)| is_seen(other)) {
                let message = format!(
                    "the round {} scores uploads with this data set: the one that follows is fresh, and seen by no upload before",
                    quote(&other.id)
                );
                self.wrong("successor_in_use", &pointer(&at, "dataset"), message);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::challenge::Challenge;
    use crate::{Ending, SubmissionId};

    fn digest(of: &str) -> Digest {
        Digest::of(of.as_bytes())
    }

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn challenge(round: &Value) -> Challenge {
        let mut whole = json!({ "id": "one", "opens": "2026-03-01T00:00:00Z" });
        for (key, value) in round.as_object().unwrap() {
            whole[key] = value.clone();
        }
        serde_json::from_value(json!({ "schema": 1, "title": "t", "rounds": [whole] })).unwrap()
    }

    #[test]
    fn the_time_of_the_upload_decides_the_data_set() {
        let retire = json!({ "at": "2026-03-05T00:00:00Z", "dataset": digest("new") });
        let (before, after) = (time("2026-03-04T23:59:59.999Z"), time("2026-03-05T00:00:00Z"));
        for (pinned, old) in [(json!(digest("old")), Some(digest("old"))), (Value::Null, None)] {
            let of = challenge(&json!({ "dataset": pinned, "retire": retire }));
            let found = [before, after].map(|at| of.rounds[0].dataset_at(at));
            assert_eq!(found, [old, Some(digest("new"))]);
        }
        let counted = challenge(&json!({ "retire": { "after_submissions": 9, "dataset": digest("new") } }));
        assert_eq!(
            counted.rounds[0].dataset_at(after),
            None,
            "until the table says when"
        );
    }

    #[test]
    fn boards_with_one_eval_set_wear_it_out_together() {
        let of = challenge(&json!({
            "dataset": digest("old"), "retire": { "after_submissions": 9, "dataset": digest("new") },
            "evaluations": { "en-25": "en", "en-60": "en", "pt-25": "pt" },
        }));
        let series = |leaderboard: &str, n: usize, is_baseline: bool, dataset: &str| {
            let board = Board {
                benchmark: "b".into(),
                leaderboard: leaderboard.into(),
                round: "one".into(),
            };
            let entry = |n: usize| Entry {
                id: SubmissionId::of("bucket", &format!("{leaderboard}{n}"), ""),
                board: board.clone(),
                submitter: "ada".into(),
                received_at: Timestamp::from_unix_millis(0),
                is_baseline,
                withdrawn_at: None,
                withdrawals: Vec::new(),
                ending: Some(Ending::Scored),
                score: Some(0.5),
                climb: None,
                dataset: Some(digest(dataset)),
            };
            (board.clone(), (0..n).map(entry).collect())
        };
        let of = &of.rounds[0];
        assert_eq!(of.n_asked(&[]), 0);
        let asked = [
            series("en-25", 3, false, "old"),
            series("en-60", 2, false, "old"),
            series("pt-25", 4, false, "old"),
            series("en-60", 7, true, "old"),
            series("en-60", 7, false, "new"),
        ];
        assert_eq!(of.n_asked(&asked), 5);
    }
}
