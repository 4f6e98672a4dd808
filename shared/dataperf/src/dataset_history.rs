//! Records which data sets uploads were scored with, whatever is published or removed later. The
//! table keeps when data sets were retired, which ones were active or pinned, and the scores.

use std::collections::{BTreeMap, BTreeSet};

use crate::board::{Stage, parse_round};
use crate::challenge::{Challenge, ChallengeError, Round};
use crate::ports::PortError;
use crate::ports::bucket::Bucket;
use crate::rejection::{Reason, quote};
use crate::table::maintenance::{DataNote, Maintenance};
use crate::{Digest, Timestamp};

/// A retirement that has taken effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Retired {
    /// The data set that followed.
    dataset: Digest,
    /// The first moment whose uploads are scored with it.
    at: Timestamp,
}

/// Scores with one data set on the boards of one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Scores {
    /// When the last of them was uploaded.
    last: Timestamp,
}

/// The table's notes on a benchmark's data sets.
#[derive(Debug, Clone, Default)]
pub struct Noted {
    /// Retirements by round, the last one last.
    retired: BTreeMap<String, Vec<Retired>>,
    /// Data sets that were active, or that an open round pinned.
    seen: Vec<Digest>,
    /// Scores by round, as boards name it, and by data set.
    scores: BTreeMap<(String, Digest), Scores>,
}

/// The noted data sets of a benchmark: active now or before, or pinned by an open round.
///
/// # Errors
/// [`PortError`] when the table does not answer.
pub async fn seen_datasets(table: &dyn Maintenance, benchmark: &str) -> Result<BTreeSet<Digest>, PortError> {
    let notes = table.notes(benchmark).await?;
    let seen = notes.into_iter().filter_map(|(note, _)| match note {
        DataNote::Seen { dataset } => Some(dataset),
        DataNote::Retired { .. } => None,
    });
    Ok(seen.collect())
}

/// Notes that data sets are no longer fresh: uploads may be scored with them from now on.
///
/// # Errors
/// [`PortError`] when the table does not answer.
pub async fn note_seen(
    table: &dyn Maintenance,
    benchmark: &str,
    datasets: impl IntoIterator<Item = Digest>,
    at: Timestamp,
) -> Result<(), PortError> {
    for dataset in datasets {
        table.note(benchmark, &DataNote::Seen { dataset }, at).await?;
    }
    Ok(())
}

impl Challenge {
    /// Publishes the challenge and notes its existence, once the table
    /// [knows](Self::note_published) the effects of the previous one by `at`.
    ///
    /// # Errors
    /// [`ChallengeError`] when bucket or table do not answer, or it can't be written as JSON.
    pub async fn publish(
        &self,
        datasets: &impl Bucket,
        table: &dyn Maintenance,
        benchmark: &str,
        at: Timestamp,
    ) -> Result<(), ChallengeError> {
        Self::note_published(datasets, table, benchmark, at).await?;
        datasets.put(&Self::key(benchmark), self.to_json()?).await?;
        self.mark(datasets, benchmark).await
    }

    /// Notes what this challenge has done by `at`, before another one takes its place or it is removed: which rounds' data sets it has
    /// retired, and which ones it has had uploads scored with.
    ///
    /// # Errors
    /// [`PortError`] when the table does not answer.
    pub async fn note(
        &self,
        table: &dyn Maintenance,
        benchmark: &str,
        at: Timestamp,
    ) -> Result<(), PortError> {
        let opened = self.rounds.iter().filter(|round| round.opens <= at);
        for round in opened {
            round.note_retired(table, benchmark, at).await?;
            let scored_with = [round.dataset, round.dataset_at(at)];
            note_seen(table, benchmark, scored_with.into_iter().flatten(), at).await?;
        }
        Ok(())
    }

    /// Notes the effects of the published challenge by `at`, if it can be read. Returns the
    /// challenge.
    ///
    /// # Errors
    /// [`PortError`] when table or bucket do not answer.
    pub async fn note_published(
        datasets: &impl Bucket,
        table: &dyn Maintenance,
        benchmark: &str,
        at: Timestamp,
    ) -> Result<Option<Self>, PortError> {
        let published = match Self::published(datasets, benchmark).await {
            Ok(published) => published,
            Err(ChallengeError::Port(error)) => return Err(error),
            Err(ChallengeError::Malformed { .. } | ChallengeError::Gone { .. }) => None,
        };
        if let Some(published) = &published {
            published.note(table, benchmark, at).await?;
        }
        Ok(published)
    }
}

impl Round {
    /// Notes from when on the round's data set is retired, once that moment has come.
    ///
    /// # Errors
    /// [`PortError`] when the table does not answer.
    pub async fn note_retired(
        &self,
        table: &dyn Maintenance,
        benchmark: &str,
        at: Timestamp,
    ) -> Result<(), PortError> {
        if let Some(retire) = self.retired(at) {
            let note = DataNote::Retired {
                round: self.id.clone(),
                successor: retire.dataset,
            };
            table.note(benchmark, &note, retire.at).await?;
        }
        Ok(())
    }
}

impl Noted {
    /// The table's notes on a benchmark's data sets. It reads the scores of all boards.
    ///
    /// # Errors
    /// [`PortError`] when the table does not answer.
    pub async fn read(table: &dyn Maintenance, benchmark: &str) -> Result<Self, PortError> {
        let mut noted = Self::default();
        for (note, at) in table.notes(benchmark).await? {
            match note {
                DataNote::Seen { dataset } => noted.seen.push(dataset),
                DataNote::Retired { round, successor } => {
                    let of_round = noted.retired.entry(round).or_default();
                    of_round.push(Retired {
                        dataset: successor,
                        at,
                    });
                }
            }
        }
        for of_round in noted.retired.values_mut() {
            of_round.sort_by_key(|retired| retired.at);
        }
        for board in table.boards(benchmark).await? {
            for entry in table.series(&board).await? {
                let Some(dataset) = entry.dataset else { continue };
                let key = (board.round.clone(), dataset);
                let scores = noted.scores.entry(key).or_insert(Scores {
                    last: entry.received_at,
                });
                scores.last = scores.last.max(entry.received_at);
            }
        }
        Ok(noted)
    }

    /// Whether a data set of a round has been retired.
    pub fn has_retired(&self, round: &str) -> bool {
        self.retired.contains_key(round)
    }

    /// Whether a round's data set has been retired for this one.
    pub fn is_retired_for(&self, round: &str, dataset: Digest) -> bool {
        let of_round = self.retired.get(round).into_iter().flatten();
        of_round.into_iter().any(|retired| retired.dataset == dataset)
    }

    /// Why a data set is not fresh, in words; `None` if it is. Scores on final boards count, unless the data set is to be a final one again
    /// (`is_final`).
    pub fn is_used(&self, dataset: Digest, is_final: bool) -> Option<String> {
        let mut rounds = self
            .scores
            .keys()
            .filter(|(round, used)| *used == dataset && !(is_final && is_final_round(round)));
        if let Some((round, _)) = rounds.next() {
            return Some(format!("scores in the round {} are of it", quote(round)));
        }
        let is_seen = self.seen.contains(&dataset);
        is_seen.then(|| "it was active, or a round's `dataset`, before".to_owned())
    }

    /// Refuses a challenge that contradicts earlier retirements. Rounds must not use a retired data
    /// set, must not start with the next one at another moment, and must have been open when
    /// uploads were scored with it.
    pub fn undone(&self, challenge: &Challenge) -> Vec<Reason> {
        let mut reasons = Vec::new();
        for (idx, round) in challenge.rounds.iter().enumerate() {
            let Some(last) = self.retired.get(&round.id).and_then(|of_round| of_round.last()) else {
                continue;
            };
            let Retired { dataset, at } = *last;
            let mut refuse = |key: &str, message: String| {
                let reason = Reason::new("retirement_undone", format!("/rounds/{idx}/{key}"), message);
                reasons.push(reason);
            };
            let id = quote(&round.id);
            let since = format!("uploads to {id} are scored with {dataset} since {at}");
            let elsewhere = "for a round with another data set choose another id";
            let is_kept = round.retire.is_some_and(|retire| retire.dataset == dataset);
            match round.retire.map(|retire| retire.at) {
                Some(moved) if is_kept && moved != at => refuse(
                    "retire/at",
                    format!("{since}, and scores can't move to another time: write `at: {at}`"),
                ),
                _ if is_kept => {}
                Some(next) if round.dataset == Some(dataset) && next <= at => refuse(
                    "retire/at",
                    format!("{since}, and the next data set has to come later: write a later `at`"),
                ),
                _ if round.dataset == Some(dataset) => {}
                _ => refuse(
                    "retire",
                    format!(
                        "{since}: leave `retire` with `at: {at}` and that data set, or name it as the round's `dataset`; {elsewhere}"
                    ),
                ),
            }
            if round.opens >= at {
                refuse(
                    "opens",
                    format!("{since}, so the round was open before: leave `opens` as it was; {elsewhere}"),
                );
            }
            let Some(closes) = round.closes else { continue };
            let scored = self.scores.get(&(round.id.clone(), dataset));
            let last = scored.map_or(at, |scores| scores.last.max(at));
            if closes <= last {
                refuse(
                    "closes",
                    format!(
                        "{since}, the last of them uploaded at {last}: let it close after that, or leave out `closes`"
                    ),
                );
            }
        }
        reasons
    }
}

fn is_final_round(round: &str) -> bool {
    parse_round(round).1 == Stage::Final
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const MOMENT: &str = "2026-03-05T00:00:00.000Z";

    fn data(name: &str) -> Digest {
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

    fn places(noted: &Noted, round: &Value) -> Vec<String> {
        let reasons = noted.undone(&challenge(round));
        assert!(reasons.iter().all(|reason| reason.code == "retirement_undone"));
        reasons
            .into_iter()
            .map(|reason| reason.at.replacen("/rounds/0/", "", 1))
            .collect()
    }

    fn noted(retired: &[(&str, &str)], seen: &[&str]) -> Noted {
        let of_round = retired.iter().map(|(dataset, at)| Retired {
            dataset: data(dataset),
            at: time(at),
        });
        let retired = [("one".to_owned(), of_round.collect())];
        Noted {
            retired: retired.into_iter().collect(),
            seen: seen.iter().map(|name| data(name)).collect(),
            scores: BTreeMap::new(),
        }
    }

    #[test]
    fn a_retirement_is_never_undone() {
        let retire = |at: &str, dataset: &str| json!({ "at": at, "dataset": data(dataset) });
        let first = json!({ "dataset": data("old"), "retire": retire(MOMENT, "new") });
        let before = noted(&[], &["old"]);
        assert_eq!(places(&before, &json!({ "dataset": data("old") })), [""; 0]);
        assert!(before.is_used(data("old"), false).is_some());
        assert_eq!(before.is_used(data("new"), false), None);

        let known = noted(&[("new", MOMENT)], &["old", "new"]);
        assert!(known.is_retired_for("one", data("new")) && !known.is_retired_for("two", data("new")));
        let late = "2026-03-09T00:00:00Z";
        for (round, at) in [
            (first.clone(), vec![]),
            (json!({ "dataset": data("new") }), vec![]),
            (
                json!({ "dataset": data("new"), "retire": retire(late, "newer") }),
                vec![],
            ),
            (json!({ "dataset": data("new"), "closes": late }), vec![]),
            (json!({ "dataset": data("old") }), vec!["retire"]),
            (json!({}), vec!["retire"]),
            (
                json!({ "dataset": data("old"), "retire": retire(late, "new") }),
                vec!["retire/at"],
            ),
            (
                json!({ "dataset": data("old"), "retire": retire(MOMENT, "other") }),
                vec!["retire"],
            ),
            (
                json!({ "dataset": data("new"), "retire": retire("2026-03-04T00:00:00Z", "newer") }),
                vec!["retire/at"],
            ),
            (json!({ "dataset": data("new"), "opens": late }), vec!["opens"]),
            (
                json!({ "dataset": data("new"), "closes": "2026-03-04T00:00:00Z" }),
                vec!["closes"],
            ),
            (json!({ "id": "two", "dataset": data("old") }), vec![]),
        ] {
            assert_eq!(places(&known, &round), at, "{round}");
        }

        // the next one takes its place
        let second = json!({ "dataset": data("new"), "retire": retire(late, "newer") });
        let known = noted(&[("new", MOMENT), ("newer", late)], &[]);
        assert_eq!(places(&known, &first), ["retire"]);
        assert_eq!(places(&known, &second), [""; 0]);
    }
}
