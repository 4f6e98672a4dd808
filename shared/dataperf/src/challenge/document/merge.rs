//! Publishing a document adds its rounds to those that are published, which stay unless they are removed.

use std::collections::BTreeSet;

use super::rounds_fit;
use crate::challenge::{Announcement, BoardRules, Challenge, Round, document::announcements};
use crate::pointer;
use crate::rejection::{Reason, Reasons, Rejection, quote};

impl Challenge {
    /// Adds the rounds and rules of this challenge to the `published` one. A round replaces the
    /// published round with the same id. Other rounds stay unless they are `removed`. If no
    /// published round is left, the result is this challenge alone.
    ///
    /// # Errors
    /// A [`Rejection`] if rounds of the two conflict, a new round reuses the id of a published
    /// round with other leaderboards, or a round that stays would get another ranking.
    pub fn merged_into(self, published: &Self, removed: &[String]) -> Result<Self, Rejection> {
        let stays = |round: &&Round| !removed.contains(&round.id);
        let is_own = |round: &Round| self.rounds.iter().any(|own| own.id == round.id);
        let (replaced, kept): (Vec<&Round>, Vec<&Round>) = published
            .rounds
            .iter()
            .filter(stays)
            .partition(|round| is_own(round));
        let mut reasons = Reasons::default();
        for (idx, round) in self.rounds.iter().enumerate() {
            let before = replaced.iter().find(|before| before.id == round.id);
            if before.is_some_and(|before| !before.shares_boards(round)) {
                let message = format!(
                    "a published round of other leaderboards has the id {}: choose another id, or remove \
                        that round with `--remove {}`",
                    quote(&round.id),
                    round.id
                );
                let at = pointer(&format!("/rounds/{idx}"), "id");
                reasons.add(Reason::new("round_of_others", at, message));
            }
        }
        reasons.append(rounds_fit(&kept, &self.rounds));
        reasons.into_verdict(())?;
        let announcements = self.merged_announcements(published, &kept);
        if kept.is_empty() {
            return Ok(Self {
                announcements,
                ..self
            });
        }
        let mut merged = Self {
            announcements,
            ..self.with_rules_of(published)
        };
        let rankings = kept
            .iter()
            .copied()
            .flat_map(|round| self.other_rankings(published, round, &merged));
        let mut reasons = Reasons::default();
        rankings.for_each(|reason| reasons.add(reason));
        reasons.into_verdict(())?;
        let kept = kept.into_iter();
        let kept: Vec<Round> = kept.map(|round| merged.titled_as(published, round)).collect();
        merged.rounds.extend(kept);
        Ok(merged)
    }

    /// The title of a round's contest.
    pub fn title_of<'a>(&'a self, round: &'a Round) -> &'a str {
        round.title.as_ref().unwrap_or(&self.title)
    }

    /// More about the contest of a round.
    pub fn about_of<'a>(&'a self, round: &'a Round) -> Option<&'a str> {
        let about = if round.title.is_some() {
            &round.about
        } else {
            &self.about
        };
        about.as_deref()
    }

    /// This challenge with the published rules of boards that it does not name. Where it is about all boards, its own rules hold for the others.
    fn with_rules_of(&self, published: &Self) -> Self {
        let of_rounds = self.rounds.iter().flat_map(|round| &round.leaderboards);
        let own: BTreeSet<&String> = of_rounds.chain(self.leaderboards.keys()).collect();
        if own.is_empty() || self.rounds.iter().any(|round| round.leaderboards.is_empty()) {
            let others = published
                .leaderboards
                .iter()
                .filter(|(board, _)| !own.contains(board));
            let others = others.map(|(board, rules)| (board.clone(), rules.clone()));
            return Self {
                leaderboards: others.chain(self.leaderboards.clone()).collect(),
                ..self.clone()
            };
        }
        let rules = own.into_iter().map(|board| {
            let rules = BoardRules {
                ranking: Some(self.ranking(board)),
            };
            (board.clone(), rules)
        });
        let of_others = published.leaderboards.clone().into_iter();
        Self {
            ranking: published.ranking,
            leaderboards: of_others.chain(rules).collect(),
            ..self.clone()
        }
    }

    /// The boards of a round that this challenge or `other` may have rules of; `None` is every other board of a round of all boards.
    fn boards_of<'a>(&'a self, round: &'a Round, other: &'a Self) -> BTreeSet<Option<&'a String>> {
        let named = self.leaderboards.keys().chain(other.leaderboards.keys());
        let named = named.chain(&round.leaderboards).filter(|board| round.has(board));
        let rest = round.leaderboards.is_empty().then_some(None);
        named.map(Some).chain(rest).collect()
    }

    /// Why a published round can't stay: another ranking would hold on its boards in `merged`.
    fn other_rankings(&self, published: &Self, round: &Round, merged: &Self) -> Vec<Reason> {
        let ranking =
            |side: &Self, board: Option<&String>| board.map_or(side.ranking, |board| side.ranking(board));
        let boards = published.boards_of(round, merged).into_iter();
        let differs = boards.filter(|board| ranking(published, *board) != ranking(merged, *board));
        let reason = |board: Option<&String>| {
            let is_own = |board: &&String| {
                let rules = self.leaderboards.get(*board);
                rules.is_some_and(|rules| rules.ranking.is_some())
            };
            let under = board
                .filter(is_own)
                .map_or(String::new(), |board| pointer("/leaderboards", board));
            let (before, id) = (ranking(published, board).as_str(), quote(&round.id));
            let message = format!(
                "the published round {id} has `ranking: {before}` on {}, and this document sets `{}`: write `ranking: {before}`, add the round to the \
                 document to change its ranking, or remove it with `--remove {}`",
                board.map_or_else(
                    || "leaderboards that the document does not name".to_owned(),
                    |board| quote(board)
                ),
                ranking(merged, board).as_str(),
                round.id
            );
            Reason::new("ranking_of_published_round", pointer(&under, "ranking"), message)
        };
        differs.map(reason).collect()
    }

    /// A published round with a title and a text of its own, unless they are this challenge's.
    fn titled_as(&self, published: &Self, round: &Round) -> Round {
        let (title, about) = (published.title_of(round), published.about_of(round));
        let is_same = title == self.title && about == self.about.as_deref();
        Round {
            title: (!is_same).then(|| title.to_owned()),
            about: about.filter(|_| !is_same).map(str::to_owned),
            ..round.clone()
        }
    }

    /// The published announcements for the rounds that are `kept`, and this challenge's own. Of the rounds that one names, those stay that there are; it
    /// goes with the last of them. One that names none is for this challenge's rounds.
    fn merged_announcements(&self, published: &Self, kept: &[&Round]) -> Vec<Announcement> {
        let all = || self.rounds.iter().chain(kept.iter().copied());
        let own = self.announcements.iter().map(|one| {
            let rounds = match (one.rounds.as_slice(), kept) {
                ([], []) => Vec::new(),
                ([], _) => ids(self.rounds.iter()),
                _ => ids(all().filter(|round| one.is_of(&round.id))),
            };
            (
                one.rounds.is_empty(),
                Announcement {
                    rounds,
                    ..one.clone()
                },
            )
        });
        let own = own.filter(|(is_of_all, one)| *is_of_all || !one.rounds.is_empty());
        let mut merged: Vec<Announcement> = own.map(|(_, one)| one).collect();
        let of_kept = published.announcements.iter().map(|one| {
            let repeats =
                |own: &Announcement, id: &str| own.date == one.date && own.text == one.text && own.is_of(id);
            let is_new = |round: &&Round| !merged.iter().any(|own| repeats(own, &round.id));
            let of_rounds = kept.iter().copied().filter(|round| one.is_of(&round.id));
            Announcement {
                rounds: ids(of_rounds.filter(is_new)),
                ..one.clone()
            }
        });
        let of_kept: Vec<Announcement> = of_kept.filter(|one| !one.rounds.is_empty()).collect();
        merged.extend(of_kept);
        announcements::sort(&mut merged);
        merged
    }
}

fn ids<'a>(rounds: impl Iterator<Item = &'a Round>) -> Vec<String> {
    rounds.map(|round| round.id.clone()).collect()
}

impl Announcement {
    /// Whether it is for the participants of a round.
    pub fn is_of(&self, round: &str) -> bool {
        self.rounds.is_empty() || self.rounds.iter().any(|id| id == round)
    }
}

#[cfg(test)]
#[allow(clippy::expect_used)]
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

    fn round(id: &str, leaderboards: &[&str], month: u8) -> Value {
        json!({ "id": id, "leaderboards": leaderboards, "opens": format!("2026-0{month}-01T00:00:00Z"),
                "closes": format!("2026-0{month}-20T00:00:00Z") })
    }

    fn codes(refused: &Rejection) -> Vec<(&str, &str)> {
        let reasons = refused.reasons().iter();
        reasons
            .map(|reason| (reason.code.as_str(), reason.at.as_str()))
            .collect()
    }

    #[test]
    fn published_rounds_stay_with_their_texts() {
        let published = challenge(&json!({
            "title": "Digits", "about": "Prize: a mug.", "ranking": "latest",
            "announcements": [{ "date": "2026-01-05T00:00:00Z", "text": "Digits are new." }],
            "leaderboards": { "digits-9": { "ranking": "best" } },
            "rounds": [round("one", &["digits"], 1), round("two", &["digits"], 2)],
        }));
        let wines = json!({
            "title": "Wines", "rounds": [round("wines", &["wine"], 1)],
            "announcements": [{ "date": "2026-01-06T00:00:00Z", "text": "Wines are new." }],
        });
        let both = challenge(&wines).merged_into(&published, &[]).expect("both");
        let shown = |challenge: &Challenge| -> Vec<(String, String, Option<String>, Vec<String>)> {
            let rounds = challenge.rounds.iter();
            let announced = |id: &str| {
                let announced = challenge.announcements.iter().filter(|one| one.is_of(id));
                announced.map(|one| one.text.clone()).collect()
            };
            let shown = |round: &Round| {
                let about = challenge.about_of(round).map(str::to_owned);
                (
                    round.id.clone(),
                    challenge.title_of(round).to_owned(),
                    about,
                    announced(&round.id),
                )
            };
            rounds.map(shown).collect()
        };
        let of_wines = (
            "wines".to_owned(),
            "Wines".to_owned(),
            None,
            vec!["Wines are new.".to_owned()],
        );
        let of_digits = |id: &str| {
            let about = Some("Prize: a mug.".to_owned());
            (
                id.to_owned(),
                "Digits".to_owned(),
                about,
                vec!["Digits are new.".to_owned()],
            )
        };
        assert_eq!(
            shown(&both),
            [of_wines.clone(), of_digits("one"), of_digits("two")]
        );
        assert_eq!(both.ranking, published.ranking);
        assert_eq!(both.leaderboards["digits-9"], published.leaderboards["digits-9"]);
        assert_eq!(both.ranking("wine"), crate::challenge::Ranking::Best);

        // the first contest again, with one of its rounds: the other stays too
        let again = json!({ "title": "Digits", "about": "Prize: a mug.", "ranking": "latest",
            "announcements": [{ "date": "2026-01-05T00:00:00Z", "text": "Digits are new." }],
            "rounds": [round("two", &["digits"], 3)] });
        let all = challenge(&again).merged_into(&both, &[]).expect("all");
        assert_eq!(shown(&all), [of_digits("two"), of_wines, of_digits("one")]);
        assert_eq!(all.rounds[0].opens.to_string(), "2026-03-01T00:00:00.000Z");
        // what removes a round names it
        let less = challenge(&again)
            .merged_into(&all, &["one".to_owned(), "wines".to_owned()])
            .expect("less");
        assert_eq!(less, challenge(&again));
    }

    #[test]
    fn announcements_stay_with_the_rounds_they_name() {
        let published = challenge(
            &json!({ "rounds": [round("one", &["digits"], 1), round("gone", &["digits"], 2)],
            "announcements": [{ "date": "2026-01-05T00:00:00Z", "text": "for one", "rounds": ["one"] }] }),
        );
        let news = |text: &str, rounds: &[&str]| json!({ "date": "2026-01-05T00:00:00Z", "text": text, "rounds": rounds });
        let own = json!({ "rounds": [round("two", &["digits"], 3)], "announcements": [
            news("for one", &["one"]), news("for both", &["one", "two"]), news("for none", &["gone"]), news("for all", &[]),
        ] });
        let announced = |removed: &[&str]| -> Vec<(String, Vec<String>)> {
            let removed: Vec<String> = removed.iter().map(ToString::to_string).collect();
            let both = challenge(&own).merged_into(&published, &removed).expect("both");
            both.announcements
                .into_iter()
                .map(|one| (one.text, one.rounds))
                .collect()
        };
        let expected = |text: &str, rounds: &[&str]| {
            (
                text.to_owned(),
                rounds.iter().map(ToString::to_string).collect::<Vec<_>>(),
            )
        };
        assert_eq!(
            announced(&["gone"]),
            [
                expected("for one", &["one"]),
                expected("for both", &["two", "one"]),
                expected("for all", &["two"])
            ]
        );
        assert_eq!(
            announced(&["gone", "one"]),
            [expected("for both", &["two"]), expected("for all", &[])]
        );
    }

    #[test]
    fn a_kept_round_keeps_its_ranking() {
        let published = challenge(&json!({ "rounds": [round("one", &["digits"], 1)] }));
        let own = |ranking: &str| json!({ "ranking": ranking, "rounds": [round("two", &["digits"], 2)] });
        let refused = challenge(&own("latest"))
            .merged_into(&published, &[])
            .expect_err("refused");
        assert_eq!(codes(&refused), [("ranking_of_published_round", "/ranking")]);
        assert!(challenge(&own("best")).merged_into(&published, &[]).is_ok());
        // who names the round means it
        let both = json!({ "ranking": "latest", "rounds": [round("one", &["digits"], 1), round("two", &["digits"], 2)] });
        assert!(challenge(&both).merged_into(&published, &[]).is_ok());
    }

    #[test]
    fn merging_keeps_board_rules_with_general_rounds() {
        let published = challenge(&json!({ "rounds": [round("one", &[], 1)],
            "leaderboards": { "wine": { "ranking": "latest" } } }));
        let own = challenge(&json!({ "rounds": [round("two", &[], 2)] }));
        let both = own.merged_into(&published, &[]).expect("both");
        assert_eq!(both.ranking("wine"), crate::challenge::Ranking::Latest);
    }

    #[test]
    fn rounds_conflicting_with_published_ones_are_refused() {
        let published = challenge(&json!({ "rounds": [round("one", &["digits"], 1), round("all", &[], 3)] }));
        let refused = |own: &Value, removed: &[String]| {
            let merged = challenge(&json!({ "rounds": [own] })).merged_into(&published, removed);
            merged.err()
        };
        let of_others = refused(&round("one", &["wine"], 2), &[]).expect("refused");
        assert_eq!(codes(&of_others), [("round_of_others", "/rounds/0/id")]);
        assert_eq!(refused(&round("one", &["wine"], 2), &["one".to_owned()]), None);
        for own in [round("two", &["digits"], 1), round("two", &["wine"], 3)] {
            let overlaps = refused(&own, &[]).expect("refused");
            assert_eq!(codes(&overlaps), [("overlapping_rounds", "/rounds/0/opens")]);
        }
        assert_eq!(refused(&round("two", &["digits"], 2), &[]), None);
    }

    #[test]
    fn final_data_sets_are_not_reused_by_rounds() {
        let digest = |text: &str| json!(crate::Digest::compute(text.as_bytes()));
        let with = |mut round: Value, key: &str, dataset: &str| {
            round[key] = digest(dataset);
            challenge(&json!({ "rounds": [round] }))
        };
        for (of_others, own, is_refused) in [
            (("final", "a"), ("dataset", "a"), true),
            (("final", "a"), ("final", "a"), false), // scored with after both have closed
            (("dataset", "a"), ("final", "a"), true),
            (("final", "a"), ("dataset", "b"), false),
            (("dataset", "a"), ("dataset", "a"), false),
        ] {
            let published = with(round("one", &["digits"], 1), of_others.0, of_others.1);
            let both = with(round("two", &["wine"], 1), own.0, own.1).merged_into(&published, &[]);
            let refused = both.err();
            assert_eq!(refused.is_some(), is_refused, "{refused:?}");
            assert!(refused.is_none_or(|refused| refused.reasons()[0].code == "final_in_use"));
        }
    }
}
