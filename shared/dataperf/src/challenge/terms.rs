//! Under which terms an upload is judged: its round, and what follows from it.

use super::evaluations::without_dataset;
use super::{BASELINE_PREFIX, Challenge, Ranking, Round};
use crate::board::{Board, OPEN_ROUND, POST_ROUND, Usage};
use crate::ladder::Ladder;
use crate::programs::Programs;
use crate::receipt::verdict::{Receipt, Verdict};
use crate::rejection::{Reason, quote};
use crate::{Digest, Timestamp};

/// How many submissions of a submitter are scored on a leaderboard of a round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// In a day (UTC) by the time of the upload.
    pub daily: Option<u64>,
    /// In the whole round.
    pub total: Option<u64>,
}

/// How many uploads of a submitter may fail in a day, unless the round says otherwise.
pub const DAILY_FAILURES: u64 = 20;

/// A limit that is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverLimit {
    /// The limit.
    pub limit: u64,
    /// How many submissions were scored before.
    pub count: u64,
    /// Whether it is the day's limit; otherwise it is the round's.
    pub is_daily: bool,
}

/// The result of counting a submission before its evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reserved {
    /// It is counted from now on.
    Now,
    /// It was counted before, or has ended.
    Before,
    /// It is not counted: there is no limit.
    Unlimited,
    /// It would be one too many.
    OverLimit(OverLimit),
}

/// Leaderboards whose submissions count together, because they are scored with the same evaluation data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Together {
    /// The name of the evaluation data.
    pub evaluation: String,
    /// The leaderboards of the round that share it.
    pub leaderboards: Vec<String>,
}

/// The terms that the challenge sets for one upload.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    /// The round it counts in; [`OPEN_ROUND`] outside any challenge.
    pub round: String,
    /// The data set, when the round pins one.
    pub dataset: Option<Digest>,
    /// How programs are run, where they are what is uploaded.
    pub programs: Option<Programs>,
    /// Which submissions the board shows.
    pub ranking: Ranking,
    /// Whether it is a baseline.
    pub is_baseline: bool,
    /// Whether it is a baseline that the round lists.
    pub is_listed: bool,
    /// The limits; `None` where scored submissions are not even counted.
    pub limits: Option<Limits>,
    /// How many uploads of the submitter may fail in a day ([`Verdict::is_counted_failure`]); `None` for listed baselines.
    pub daily_failures: Option<u64>,
    /// The leaderboards that are counted together; `None` where the leaderboard counts alone.
    pub together: Option<Together>,
    /// How the score is released until everything is shown; `None` if it is shown unchanged.
    pub ladder: Option<Ladder>,
    /// Why it can't be judged at all: the round is not open yet.
    pub refusal: Option<Reason>,
    /// When the round closes, if it does.
    pub closes: Option<Timestamp>,
}

impl Terms {
    /// The terms without a challenge: one open round without limits.
    pub fn outside_any_challenge(submitter: &str) -> Self {
        Self {
            round: OPEN_ROUND.into(),
            dataset: None,
            programs: None,
            ranking: Ranking::default(),
            is_baseline: submitter.starts_with(BASELINE_PREFIX),
            is_listed: false,
            limits: None,
            daily_failures: Some(DAILY_FAILURES),
            together: None,
            ladder: None,
            refusal: None,
            closes: None,
        }
    }

    /// The terms of an upload that was stored `at` a time.
    pub fn resolve(challenge: Option<&Challenge>, leaderboard: &str, submitter: &str, at: Timestamp) -> Self {
        let outside = Self::outside_any_challenge(submitter);
        let Some(challenge) = challenge else {
            return outside;
        };
        let outside = Self {
            ranking: challenge.ranking(leaderboard),
            ..outside
        };
        let rounds = challenge.rounds_of(leaderboard);
        let begun = rounds.iter().rev().find(|round| round.opens <= at);
        match (begun, rounds.first()) {
            (Some(round), _) => outside.within(round, leaderboard, submitter, at),
            (None, Some(first)) => Self {
                refusal: Some(not_open(first)),
                ..outside.within(first, leaderboard, submitter, at)
            },
            (None, None) => outside,
        }
    }

    /// The same terms in a round or, after its close, on the board that stays open as a benchmark, without a limit on the whole.
    fn within(self, round: &Round, leaderboard: &str, submitter: &str, at: Timestamp) -> Self {
        let is_closed = round.is_closed(at);
        let is_listed = is_listed(round, submitter);
        let limits = Limits {
            daily: round.daily_limit,
            total: round.total_limit.filter(|_| !is_closed),
        };
        Self {
            round: if is_closed {
                format!("{}{POST_ROUND}", round.id)
            } else {
                round.id.clone()
            },
            dataset: round.dataset_at(at),
            programs: round.programs.clone(),
            is_baseline: self.is_baseline || is_listed,
            is_listed,
            // Whoever is only called a baseline is limited as everybody: a participant can't gain by the name.
            limits: (!is_listed).then_some(limits),
            daily_failures: (!is_listed).then_some(round.daily_failures()),
            together: together(round, leaderboard),
            ladder: round.release(),
            closes: round.closes,
            ..self
        }
    }

    /// The terms for evaluating a submission of a round again, with `dataset` or with the active
    /// data set. Limits do not apply, because the submission was admitted when it was uploaded.
    pub fn again(round: Option<&Round>, board: &Board, submitter: &str, dataset: Option<Digest>) -> Self {
        let outside = Self {
            dataset,
            ..Self::outside_any_challenge(submitter)
        };
        let Some(round) = round else {
            return outside;
        };
        Self {
            programs: round.programs.clone(),
            is_listed: is_listed(round, submitter),
            together: together(round, &board.leaderboard),
            ladder: round.release(),
            ..outside
        }
    }

    /// The board that submissions are counted on: one for all leaderboards of the round that are scored with the same evaluation data.
    pub fn counter(&self, board: &Board) -> Board {
        let together = self.together.as_ref();
        Board {
            leaderboard: together
                .map_or(&board.leaderboard, |together| &together.evaluation)
                .clone(),
            ..board.clone()
        }
    }

    /// Names the evaluation data whose boards share the submitter's Ladder. The name is the same in
    /// every data set, because the Ladder itself stores which data set it released a score with. It
    /// survives a change of the data set. A listed baseline has one Ladder per leaderboard.
    pub fn ladder_of<'a>(&'a self, leaderboard: &'a str) -> &'a str {
        let together = self.together.as_ref().filter(|_| !self.is_listed);
        together.map_or(leaderboard, |together| without_dataset(&together.evaluation))
    }

    /// The limits against which a submission is counted before it is evaluated; `None` where neither has a number. Programs are counted in any case,
    /// so that it is known which one is being run.
    pub fn reserved(&self) -> Option<Limits> {
        let has_number = |limits: &Limits| limits.daily.or(limits.total).is_some();
        self.limits
            .filter(|limits| has_number(limits) || self.programs.is_some())
    }

    /// The board that counts failures ([`Verdict::is_counted_failure`]). For programs it covers the
    /// same leaderboards as [`Self::counter`]. For an artifact it is its own leaderboard, because
    /// it can fail before its partners are known.
    pub fn failures(&self, board: &Board) -> Board {
        match self.programs {
            Some(_) => self.counter(board).of_failures(),
            None => board.of_failures(),
        }
    }

    /// Why an upload that was stored `at` a time is not evaluated; `None` while the `count` of its submitter's uploads that have failed that day is
    /// below the limit.
    pub fn failures_reason(&self, count: u64, leaderboard: &str, at: Timestamp) -> Option<Reason> {
        let limit = self.daily_failures.filter(|&limit| count >= limit)?;
        let (day, next, round) = (at.day(), at.next_day(), quote(&self.round));
        let message = match &self.programs {
            Some(programs) => format!(
                "{count} of your programs failed on {day} on {}. Round {round} runs no more after {limit} \
                    failures a day. Try the program with `dataperf closed run --max-fuel {} --max-memory {}` \
                    and the participants' kit, and upload it again from {next}",
                self.boards(leaderboard),
                programs.max_fuel,
                programs.max_memory_mib,
            ),
            None => format!(
                "{count} of your uploads of {day} to {} took too long or broke off. Round {round} \
                    evaluates no more after {limit} a day. Make the upload smaller or simpler, and upload it \
                    again from {next}",
                quote(leaderboard),
            ),
        };
        Some(Reason::over("daily_failures", "", limit, count, message))
    }

    /// The limit that is used up, if one is. The round's comes first: waiting for tomorrow does not help there.
    pub fn over_limit(&self, usage: Usage) -> Option<OverLimit> {
        let limits = self.limits?;
        let over = |limit: Option<u64>, count, is_daily| {
            limit.filter(|&limit| count >= limit).map(|limit| OverLimit {
                limit,
                count,
                is_daily,
            })
        };
        over(limits.total, usage.total, false).or_else(|| over(limits.daily, usage.day, true))
    }

    /// The rejection of an upload that was stored `at` a time, over a limit.
    pub fn limit_reason(&self, over: OverLimit, leaderboard: &str, at: Timestamp) -> Reason {
        let OverLimit {
            limit,
            count,
            is_daily,
        } = over;
        let (board, round) = (self.boards(leaderboard), quote(&self.round));
        let (code, message) = if is_daily {
            let message = format!(
                "{count} of your submissions of {} count on {board}, and the limit of round {round} is \
                    {limit} a day. Rejected submissions don't count unless their reason says so. Upload it \
                    again from {}",
                at.day(),
                at.next_day()
            );
            ("daily_limit", message)
        } else {
            let reset = match self.closes {
                Some(closes) => {
                    format!(
                        "Upload it again after {closes}: the round closes then, and the leaderboard stays open"
                    )
                }
                None => "The round never closes: ask the organizer for a higher limit".into(),
            };
            let message = format!(
                "{count} of your submissions count on {board}, and the limit of the whole round {round} is \
                    {limit}. Rejected submissions don't count unless their reason says so. {reset}"
            );
            ("total_limit", message)
        };
        Reason::over(code, "", limit, count, message)
    }

    /// The result for a score if others have used the limit up during its computation.
    pub fn over_limit_verdict(&self, over: OverLimit, scored: &Receipt) -> Verdict {
        let Verdict {
            benchmark,
            leaderboard,
            dataset,
            artifact,
            ..
        } = &scored.verdict;
        let reason = self.limit_reason(over, leaderboard, scored.received_at);
        Verdict::rejected(benchmark, leaderboard, *dataset, *artifact, &reason.into())
    }

    /// The leaderboards that count together, in words.
    fn boards(&self, leaderboard: &str) -> String {
        let boards = self
            .together
            .as_ref()
            .map_or(&[][..], |together| &together.leaderboards);
        if boards.len() < 2 {
            return quote(leaderboard);
        }
        let boards: Vec<String> = boards.iter().map(|board| quote(board)).collect();
        format!(
            "{} together, which are scored with the same evaluation data",
            boards.join(" and ")
        )
    }
}

fn is_listed(round: &Round, submitter: &str) -> bool {
    round.baselines.iter().any(|name| name == submitter)
}

fn together(round: &Round, leaderboard: &str) -> Option<Together> {
    let evaluation = round.evaluations.get(leaderboard)?;
    let leaderboards = round.shared_with(leaderboard).filter(|board| round.has(board));
    Some(Together {
        evaluation: evaluation.clone(),
        leaderboards: leaderboards.map(str::to_owned).collect(),
    })
}

fn not_open(round: &Round) -> Reason {
    let text = round.messages.before.as_deref();
    let text = text.map_or(String::new(), |text| format!(". {text}"));
    let message = format!(
        "the leaderboard is not open yet. Upload it again when round {} opens, at {}{text}",
        quote(&round.id),
        round.opens
    );
    Reason::new("not_open", "", message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::challenge::named_by_dataset;

    fn challenge() -> Challenge {
        let rounds = json!([
            { "id": "two", "leaderboards": ["en-25"], "opens": "2026-03-10T00:00:00Z", "closes": "2026-03-20T00:00:00Z",
              "daily_limit": 2, "total_limit": 5, "baselines": ["organizers"],
              "dataset": Digest::compute(b"two").to_string() },
            { "id": "one", "leaderboards": ["en-25"], "opens": "2026-03-01T00:00:00Z", "closes": "2026-03-05T00:00:00Z" },
            { "id": "ever", "leaderboards": ["pt-25"], "opens": "2026-03-01T00:00:00Z" },
        ]);
        let challenge = json!({ "schema": 1, "title": "t", "ranking": "latest", "rounds": rounds,
                                "leaderboards": { "pt-25": { "ranking": "best" } } });
        serde_json::from_value(challenge).expect("a challenge")
    }

    fn at(leaderboard: &str, submitter: &str, time: &str) -> Terms {
        let time = time.parse().expect("a time");
        Terms::resolve(Some(&challenge()), leaderboard, submitter, time)
    }

    #[test]
    fn the_time_of_the_upload_decides_the_round() {
        for (time, round) in [
            ("2026-03-01T00:00:00.000Z", "one"),
            ("2026-03-04T23:59:59.999Z", "one"),
            ("2026-03-05T00:00:00.000Z", "one.post"),
            ("2026-03-09T23:59:59.999Z", "one.post"),
            ("2026-03-10T00:00:00.000Z", "two"),
            ("2026-03-20T00:00:00.000Z", "two.post"),
            ("2027-03-20T00:00:00.000Z", "two.post"),
        ] {
            let terms = at("en-25", "ada", time);
            assert_eq!((terms.round.as_str(), terms.refusal), (round, None), "{time}");
        }
        let early = at("en-25", "ada", "2026-02-28T23:59:59.999Z");
        let refusal = early.refusal.expect("it is too early");
        assert_eq!((early.round.as_str(), refusal.code.as_str()), ("one", "not_open"));
        assert!(
            refusal.message.contains("2026-03-01T00:00:00.000Z"),
            "{refusal:?}"
        );
        assert_eq!(at("pt-25", "ada", "2030-01-01T00:00:00Z").round, "ever");
        assert_eq!(at("id-25", "ada", "2026-03-02T00:00:00Z").round, OPEN_ROUND);
    }

    #[test]
    fn round_terms_continue_except_for_the_total_limit() {
        let (during, after) = (
            at("en-25", "ada", "2026-03-11T00:00:00Z"),
            at("en-25", "ada", "2026-03-21T00:00:00Z"),
        );
        assert_eq!(during.dataset, Some(Digest::compute(b"two")));
        assert_eq!(after.dataset, during.dataset);
        let (daily, total) = (Some(2), Some(5));
        assert_eq!(during.limits, Some(Limits { daily, total }));
        assert_eq!(after.limits, Some(Limits { daily, total: None }));
        assert_eq!(
            (during.ranking, at("pt-25", "", "2026-03-02T00:00:00Z").ranking),
            (Ranking::Latest, Ranking::Best)
        );
    }

    #[test]
    fn boards_sharing_evaluation_data_count_together_per_round() {
        let mut challenge = challenge();
        let evaluations = [("en-25", "en"), ("en-60", "en"), ("en-99", "en"), ("pt-25", "pt")];
        challenge.rounds[0].leaderboards = vec!["en-25".into(), "en-60".into(), "pt-25".into()];
        challenge.rounds[0].evaluations = evaluations.map(|(a, b)| (a.to_owned(), b.to_owned())).into();
        let time = "2026-03-11T00:00:00Z".parse().expect("a time");
        let counter = |leaderboard: &str| {
            let terms = Terms::resolve(Some(&challenge), leaderboard, "ada", time);
            let board = Board {
                benchmark: "b".into(),
                leaderboard: leaderboard.into(),
                round: terms.round.clone(),
            };
            (
                terms.counter(&board).leaderboard,
                terms.together.map(|together| together.leaderboards),
            )
        };
        let both = Some(vec!["en-25".to_owned(), "en-60".to_owned()]);
        assert_eq!(counter("en-25"), ("en".into(), both.clone()));
        assert_eq!(counter("en-60"), ("en".into(), both));
        assert_eq!(counter("pt-25"), ("pt".into(), Some(vec!["pt-25".into()])));
        assert_eq!(counter("id-25"), ("id-25".into(), None), "it is in no round");
        let terms = Terms::resolve(Some(&challenge), "en-25", "ada", time);
        let over = terms.over_limit(Usage { day: 0, total: 5 }).expect("the round's");
        let reason = terms.limit_reason(over, "en-25", time);
        assert!(
            reason.message.contains("`en-25` and `en-60` together"),
            "{reason:?}"
        );
    }

    #[test]
    fn the_ladder_goes_on_with_another_data_set() {
        let mut challenge = challenge();
        let names = || {
            [
                ("en-25".to_owned(), "en".to_owned()),
                ("en-60".into(), "en".into()),
            ]
            .into()
        };
        challenge.rounds[0].leaderboards = vec!["en-25".into(), "en-60".into()];
        let time = "2026-03-11T00:00:00Z".parse().expect("a time");
        let board = |leaderboard: &str| Board {
            benchmark: "b".into(),
            leaderboard: leaderboard.into(),
            round: "two".into(),
        };
        let mut counters = Vec::new();
        for dataset in [Digest::compute(b"one"), Digest::compute(b"two")] {
            challenge.rounds[0].evaluations = named_by_dataset(names(), dataset);
            for leaderboard in ["en-25", "en-60"] {
                let board = board(leaderboard);
                let terms = |submitter| Terms::resolve(Some(&challenge), leaderboard, submitter, time);
                let round = challenge.round("two");
                let again = |submitter| Terms::again(round, &board, submitter, Some(dataset));
                for of_ada in [terms("ada"), again("ada")] {
                    assert_eq!(of_ada.ladder_of(leaderboard), "en");
                }
                for listed in [terms("organizers"), again("organizers")] {
                    assert_eq!(listed.ladder_of(leaderboard), leaderboard);
                }
                counters.push(terms("ada").counter(&board).leaderboard);
            }
        }
        counters.dedup();
        assert_eq!(counters.len(), 2, "limits count by data set: {counters:?}");
    }

    #[test]
    fn only_a_listed_baseline_has_no_limit() {
        let named = at("en-25", "baseline-me", "2026-03-11T00:00:00Z");
        assert!(named.is_baseline && named.limits.is_some());
        let listed = at("en-25", "organizers", "2026-03-11T00:00:00Z");
        assert!(listed.is_baseline && listed.limits.is_none());
        assert!(
            !at("en-25", "organizers", "2026-03-02T00:00:00Z").is_baseline,
            "it is not listed there"
        );
        assert!(Terms::outside_any_challenge("baseline-x").is_baseline);
        assert!(!Terms::outside_any_challenge("ada-baseline-").is_baseline);
    }

    #[test]
    fn a_rejection_says_limit_count_and_reset() {
        let time: Timestamp = "2026-03-11T23:10:00Z".parse().expect("a time");
        let terms = at("en-25", "ada", "2026-03-11T23:10:00Z");
        assert_eq!(terms.over_limit(Usage { day: 1, total: 4 }), None);
        let over = terms.over_limit(Usage { day: 2, total: 4 }).expect("the day's");
        let reason = terms.limit_reason(over, "en-25", time);
        assert_eq!(
            (reason.code.as_str(), reason.limit, reason.actual),
            ("daily_limit", Some(2), Some(2))
        );
        assert!(reason.message.contains("2026-03-12T00:00:00.000Z"), "{reason:?}");
        let over = terms.over_limit(Usage { day: 2, total: 5 }).expect("the round's");
        let reason = terms.limit_reason(over, "en-25", time);
        assert_eq!(
            (reason.code.as_str(), reason.limit, reason.actual),
            ("total_limit", Some(5), Some(5))
        );
        assert!(reason.message.contains("2026-03-20T00:00:00.000Z"), "{reason:?}");
    }
}
