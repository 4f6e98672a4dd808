//! When a round's data set is retired for a fresh one.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Round;
use super::document::fields::{Object, Reader};
use crate::board::Board;
use crate::rejection::{pointer, quote};
use crate::{Digest, Timestamp};

const FORM: &str =
    "`retire` has a time and the data set that follows: `{at: 2027-03-01, dataset: sha256:...}`";

/// The policy by which a round's data set is retired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retire {
    /// The data set that follows.
    pub dataset: Digest,
    /// The first moment whose uploads are scored with it.
    pub at: Timestamp,
}

impl Retire {
    /// The mark in the table of the run that scores a board's submissions with the successor data
    /// set.
    pub fn run(&self, board: &Board) -> Board {
        Board {
            round: format!("{}.retired-for-{}", board.round, self.dataset.hex()),
            ..board.clone()
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
        retire.filter(|retire| retire.at <= at)
    }
}

impl Reader {
    pub(super) fn retire(&mut self, object: &Object, at: &str) -> Option<Retire> {
        let (value, at) = (object.get("retire")?, pointer(at, "retire"));
        let Value::Object(_) = value else {
            self.wrong("bad_retire", &at, FORM);
            return None;
        };
        let fields = self.object(value, &at, &["at", "dataset"])?;
        if !fields.contains_key("at") {
            self.wrong("missing_key", &pointer(&at, "at"), FORM);
        }
        if !fields.contains_key("dataset") {
            let message = "`retire` names the data set that follows: `dataset: sha256:...`";
            self.wrong("missing_key", &pointer(&at, "dataset"), message);
        }
        let when = self.beginning(fields, &at, "at");
        Some(Retire {
            dataset: self.parsed::<Digest>(fields, &at, "dataset")?,
            at: when?,
        })
    }

    /// A data set is retired while its round is open, for one that no upload has seen.
    pub(super) fn retirements_fit(&mut self, rounds: &[(String, Round)]) {
        for (at, round) in rounds {
            let Some(retire) = &round.retire else { continue };
            let at = pointer(at, "retire");
            let place = pointer(&at, "at");
            if retire.at <= round.opens {
                let message = format!(
                    "the round opens at {}, and `retire` has to be later: for a data set from the \
                        beginning use `dataset`",
                    round.opens
                );
                self.wrong("retired_before_opening", &place, message);
            }
            if let Some(closes) = round.closes.filter(|closes| *closes <= retire.at) {
                let message = format!(
                    "the round closes at {closes}, and `retire` has to be earlier: for later scoring use \
                        `final`, or the next round's `dataset`"
                );
                self.wrong("retired_after_close", &place, message);
            }
            if round.ladder {
                let message = "a round can't have both `ladder` and `retire`, because the report of a retirement shows \
                    scores that the Ladder withholds: leave one out";
                self.wrong("retire_with_ladder", &at, message);
            }
            let is_seen = |other: &Round| {
                let is_later = other.id != round.id && retire.at <= other.opens;
                other.dataset == Some(retire.dataset) && !is_later
            };
            if let Some((_, other)) = rounds.iter().find(|(_, other)| is_seen(other)) {
                let message = format!(
                    "the round {} already scores uploads with this data set, and the one that follows has \
                        to be unused: name another",
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

    fn digest(name: &str) -> Digest {
        Digest::compute(name.as_bytes())
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
    fn the_upload_time_decides_the_data_set() {
        let retire = json!({ "at": "2026-03-05T00:00:00Z", "dataset": digest("new") });
        let (before, after) = (time("2026-03-04T23:59:59.999Z"), time("2026-03-05T00:00:00Z"));
        for (pinned, old) in [(json!(digest("old")), Some(digest("old"))), (Value::Null, None)] {
            let retired = challenge(&json!({ "dataset": pinned, "retire": retire }));
            let datasets = [before, after].map(|at| retired.rounds[0].dataset_at(at));
            assert_eq!(datasets, [old, Some(digest("new"))]);
        }
    }
}
