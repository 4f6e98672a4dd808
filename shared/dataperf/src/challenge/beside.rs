//! Rounds of several organizers in one challenge: a document for some leaderboards is put beside what is published for others.

use std::collections::BTreeSet;

use super::{BoardRules, Challenge, Round, announcements};
use crate::Digest;
use crate::pointer;
use crate::rejection::{Reason, Reasons, Rejection, quote};

impl Challenge {
    /// The published challenge with the rounds and rules of this one's leaderboards in place of those that they had. Its title and
    /// everything about other leaderboards stays.
    ///
    /// This one's leaderboards are those that its rounds and its `leaderboards` name.
    ///
    /// # Errors
    /// A [`Rejection`] when it can't be told whose a round is: one of all leaderboards, a published one that also has leaderboards
    /// of others, or one whose id is taken.
    pub fn beside(self, published: Self) -> Result<Self, Rejection> {
        let mut reasons = Reasons::default();
        for (idx, round) in self.rounds.iter().enumerate() {
            if round.leaderboards.is_empty() {
                let message =
                    "a round beside those of others names its leaderboards: without, it has all of them";
                reasons.add(Reason::new("all_leaderboards", at(idx, "leaderboards"), message));
            }
        }
        let of_rounds = self.rounds.iter().flat_map(|round| &round.leaderboards);
        let own: BTreeSet<&String> = of_rounds.chain(self.leaderboards.keys()).collect();
        let mut kept = Vec::new();
        for round in &published.rounds {
            let (mine, others): (Vec<&String>, Vec<&String>) =
                round.leaderboards.iter().partition(|board| own.contains(board));
            if round.leaderboards.is_empty() || (!mine.is_empty() && !others.is_empty()) {
                let which = if others.is_empty() {
                    "all leaderboards".to_owned()
                } else {
                    let others: Vec<String> = others.iter().map(|board| quote(board)).collect();
                    format!("{} as well", others.join(", "))
                };
                let message = format!(
                    "the published round {} has {which}: whoever published it has to name its leaderboards first, or make two rounds of it",
                    quote(&round.id)
                );
                reasons.add(Reason::new("round_of_others", "/rounds", message));
            } else if mine.is_empty() {
                kept.push(round.clone());
            }
        }
        for (idx, round) in self.rounds.iter().enumerate() {
            if kept.iter().any(|other| other.id == round.id) {
                let message = format!(
                    "the id {} is that of a published round of other leaderboards: choose another",
                    quote(&round.id)
                );
                reasons.add(Reason::new("round_of_others", at(idx, "id"), message));
            }
        }
        for (idx, round) in self.rounds.iter().enumerate() {
            for other in &kept {
                let scores_with = |round: &Round, dataset: Option<Digest>| {
                    let successor = round.retire.map(|retire| retire.dataset);
                    dataset.is_some() && (round.dataset == dataset || successor == dataset)
                };
                let own_final = scores_with(other, round.final_dataset);
                let is_own_of_others = [round.dataset, round.retire.map(|retire| retire.dataset)]
                    .map(|own| own.is_some() && own == other.final_dataset);
                if own_final || is_own_of_others.contains(&true) {
                    let message = format!(
                        "the published round {} has it too, and a `final` data set is seen by no upload: choose another",
                        quote(&other.id)
                    );
                    let key = match is_own_of_others {
                        _ if own_final => "final",
                        [true, _] => "dataset",
                        _ => "retire",
                    };
                    reasons.add(Reason::new("final_in_use", at(idx, key), message));
                }
            }
        }
        let rules = own.iter().map(|board| {
            let own = self.leaderboards.get(*board).cloned().unwrap_or_default();
            let rules = BoardRules {
                ranking: Some(own.ranking.unwrap_or(self.ranking)),
                feedback: Some(own.feedback.unwrap_or(self.feedback)),
            };
            ((*board).clone(), rules)
        });
        let mut leaderboards = published.leaderboards.clone();
        leaderboards.extend(rules.collect::<Vec<_>>());
        kept.extend(self.rounds.iter().cloned());
        let mut announcements = published.announcements.clone();
        let new = self
            .announcements
            .iter()
            .filter(|one| !published.announcements.contains(one));
        announcements.extend(new.cloned());
        announcements::sort(&mut announcements);
        reasons.into_verdict(Self {
            announcements,
            leaderboards,
            rounds: kept,
            ..published
        })
    }
}

fn at(idx: usize, key: &str) -> String {
    pointer(&format!("/rounds/{idx}"), key)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn challenge(of_task: &Value) -> Challenge {
        let mut document = json!({ "schema": 1, "title": "t" });
        for (key, value) in of_task.as_object().expect("an object") {
            document[key] = value.clone();
        }
        serde_json::from_value(document).expect("a challenge")
    }

    fn round(id: &str, leaderboards: &[&str]) -> Value {
        json!({ "id": id, "leaderboards": leaderboards, "opens": "2026-01-01T00:00:00Z" })
    }

    #[test]
    fn rounds_of_other_leaderboards_stay() {
        let published = challenge(
            &json!({ "title": "Digits", "ranking": "latest", "feedback": "full",
            "leaderboards": { "digits-9": { "ranking": "all" } },
            "rounds": [round("one", &["digits"]), round("wines-old", &["wine"])] }),
        );
        let own = json!({ "title": "Wines", "feedback": "metrics", "rounds": [round("wines", &["wine", "wine-9"])] });
        let both = challenge(&own).beside(published.clone()).expect("both");
        let ids: Vec<&str> = both.rounds.iter().map(|round| round.id.as_str()).collect();
        assert_eq!(ids, ["one", "wines"]);
        assert_eq!((both.title.as_str(), both.ranking), ("Digits", published.ranking));
        assert_eq!(both.leaderboards["digits-9"], published.leaderboards["digits-9"]);
        for board in ["wine", "wine-9"] {
            assert_eq!(both.leaderboards[board].feedback, Some(crate::Feedback::Metrics));
            assert_eq!(both.ranking(board), crate::challenge::Ranking::Best);
        }
        // and again, now without rounds
        let none = challenge(&json!({ "leaderboards": { "wine": {}, "wine-9": {} } }));
        let both = none.beside(both).expect("both");
        assert_eq!(both.rounds, published.rounds[..1]);
    }

    #[test]
    fn a_final_data_set_of_one_round_is_no_other_rounds() {
        let digest = |text: &str| json!(crate::Digest::of(text.as_bytes()));
        let with = |mut round: Value, key: &str, dataset: &str| {
            round[key] = digest(dataset);
            challenge(&json!({ "rounds": [round] }))
        };
        for (of_others, own, at) in [
            (("final", "a"), ("dataset", "a"), Some("/rounds/0/dataset")),
            (("final", "a"), ("final", "a"), None), // scored with after both have closed
            (("dataset", "a"), ("final", "a"), Some("/rounds/0/final")),
            (("final", "a"), ("dataset", "b"), None),
            (("dataset", "a"), ("dataset", "a"), None),
        ] {
            let published = with(round("one", &["digits"]), of_others.0, of_others.1);
            let both = with(round("two", &["wine"]), own.0, own.1).beside(published);
            let said = both.err().map(|refused| refused.reasons()[0].clone());
            assert_eq!(said.as_ref().map(|reason| reason.at.as_str()), at, "{said:?}");
            assert!(said.is_none_or(|reason| reason.code == "final_in_use"));
        }
    }

    #[test]
    fn a_round_whose_leaderboards_are_not_told_apart_is_refused() {
        let own = challenge(&json!({ "rounds": [round("one", &["wine"]), round("all", &[])] }));
        let published = challenge(&json!({ "rounds": [
            round("one", &["digits"]), round("everything", &[]), round("two", &["wine", "digits"])
        ] }));
        let refused = own.beside(published).expect_err("refused");
        let said: Vec<(&str, &str)> = refused
            .reasons()
            .iter()
            .map(|reason| (reason.code.as_str(), reason.at.as_str()))
            .collect();
        assert_eq!(
            said,
            [
                ("all_leaderboards", "/rounds/1/leaderboards"),
                ("round_of_others", "/rounds"),
                ("round_of_others", "/rounds"),
                ("round_of_others", "/rounds/0/id"),
            ]
        );
        assert!(refused.reasons()[2].message.contains("`digits` as well"));
    }
}
