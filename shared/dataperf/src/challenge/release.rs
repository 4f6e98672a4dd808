//! What a document says of how scores are released, and with what they are scored in the end.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fields::{Object, Reader};
use super::{Challenge, Round, last_to_close};
use crate::Timestamp;
use crate::descriptor::Descriptor;
use crate::feedback::Feedback;
use crate::ladder::Ladder;
use crate::rejection::{Reason, pointer, quote};

const FORM: &str =
    "`ladder` is `auto`, `rounded`, `none`, or `step:` with a number from 0.000001, such as `{step: 0.01}`";

/// The word by which a document says that scores are shown as they are.
pub(super) const NO_LADDER: &str = "none";

/// The smallest step: a smaller one would release every score nearly as it is.
const MIN_STEP: f64 = 1e-6;

/// What says that a round shows more than scores.
enum More<'a> {
    Round(Feedback),
    Leaderboard(&'a str),
    Benchmark,
}

/// What the default does in a round that its organizer may not expect.
enum Unexpected<'a> {
    /// Scores have all their digits: the report of a retirement has both scores of everything that stands.
    Retires,
    /// Scores have all their digits, which would never be shown otherwise.
    NeverCloses,
    /// Scores have all their digits, which would never be shown otherwise: this round never closes, and may be scored with the same data.
    NeverShown(&'a Round),
    /// Scores have all their digits: the final board would wait until this round has closed, which may be scored with the same data.
    FinalWouldWait(&'a Round),
    /// Scores are rounded until this round has closed, which may be scored with the same data.
    SharedData(&'a Round),
}

impl Unexpected<'_> {
    fn is_rounded(&self) -> bool {
        match self {
            Self::Retires | Self::NeverCloses | Self::NeverShown(_) | Self::FinalWouldWait(_) => false,
            Self::SharedData(_) => true,
        }
    }

    fn warning(&self) -> Reason {
        let later = |later: &Round| {
            let closes = later.closes.map_or_else(
                || "never closes".to_owned(),
                |closes| format!("closes at {closes}"),
            );
            let id = quote(&later.id);
            format!("the round {id} may be scored with the same data and {closes}")
        };
        let own = "Pin a `dataset` of its own in each of the rounds that may have the same";
        let (why, remedy) = match self {
            Self::Retires => (
                "the report of a retirement has both scores of everything that stands".to_owned(),
                "Let a `total_limit` bound what they tell",
            ),
            Self::NeverCloses => (
                "rounded scores would stay so for good, since the round never closes".to_owned(),
                "Say when it `closes`, or say `ladder: rounded`",
            ),
            Self::NeverShown(round) => (
                format!("rounded scores would stay so for good, since {}", later(round)),
                "Say when that round `closes`, or pin a `dataset` of its own in each of the two",
            ),
            Self::FinalWouldWait(round) => (
                format!(
                    "the `final` board is made once all digits are shown, and would wait if scores were rounded: {}",
                    later(round)
                ),
                own,
            ),
            Self::SharedData(round) => (later(round), own),
        };
        let (code, what, said) = if self.is_rounded() {
            (
                "stays_rounded",
                "scores may stay rounded after this round's close",
                "`ladder: rounded` says that this is meant, `ladder: none` shows all digits from the beginning",
            )
        } else {
            (
                "not_rounded",
                "scores are shown with all their digits, which tell more of hidden labels than rounded ones",
                "`ladder: none` says that this is meant",
            )
        };
        Reason::new(code, "", format!("{what}: {why}. {remedy}; {said}"))
    }
}

fn another_feedback(by: &str) -> String {
    format!(
        "a round with a `ladder` shows released scores and nothing else, and {by} has another `feedback`: say `feedback: score` in the round"
    )
}

impl Challenge {
    /// How a round of this challenge releases scores if its document doesn't say it. They are rounded to what the eval set resolves until everything is
    /// shown, unless the round shows more than scores, there are no hidden items, scores are rounded anyway, as programs' are, or
    /// [`Unexpected`] says that they are not.
    pub(super) fn ladder_unless_said(&self, round: &Round, hosted: &Descriptor) -> Option<Ladder> {
        let unexpected = self.unexpected(round);
        let is_rounded = self.shows_scores_alone(round, hosted)
            && unexpected.is_none_or(|unexpected| unexpected.is_rounded());
        is_rounded.then_some(Ladder::Rounded)
    }

    fn shows_scores_alone(&self, round: &Round, hosted: &Descriptor) -> bool {
        hosted.has_hidden_data && round.programs.is_none() && self.shows_more_than_scores(round).is_none()
    }

    /// What the default does in a round that shows scores alone, where that is not to round them until its close.
    fn unexpected<'a>(&'a self, round: &Round) -> Option<Unexpected<'a>> {
        if round.retire.is_some() {
            return Some(Unexpected::Retires);
        }
        if round.closes.is_none() {
            return Some(Unexpected::NeverCloses);
        }
        let last = self.last_after(round)?;
        Some(match (last.closes, round.final_dataset) {
            (None, _) => Unexpected::NeverShown(last),
            (Some(_), Some(_)) => Unexpected::FinalWouldWait(last),
            (Some(_), None) => Unexpected::SharedData(last),
        })
    }

    /// The last of the rounds that may be scored with the data of this one and close after it.
    fn last_after(&self, round: &Round) -> Option<&Round> {
        let others = self
            .rounds
            .iter()
            .filter(|other| other.may_share_data_with(round));
        let is_later = |last: &&Round| {
            last.closes
                .is_none_or(|closes| round.closes.is_some_and(|own| own < closes))
        };
        last_to_close(others).filter(is_later)
    }

    fn shows_more_than_scores<'a>(&'a self, round: &'a Round) -> Option<More<'a>> {
        if let Some(feedback) = round.feedback {
            return (feedback > Feedback::Score).then_some(More::Round(feedback));
        }
        let own = |board: &str| self.leaderboards.get(board).and_then(|rules| rules.feedback);
        let with_own = self.leaderboards.keys().map(String::as_str);
        let mut more = with_own.filter(|board| round.has(board) && own(board) > Some(Feedback::Score));
        if let Some(board) = more.next() {
            return Some(More::Leaderboard(board));
        }
        // a round of some leaderboards, each with a `feedback` of its own, has nothing of the benchmark's
        let has_of_benchmark =
            round.leaderboards.is_empty() || round.leaderboards.iter().any(|board| own(board).is_none());
        (has_of_benchmark && self.feedback > Feedback::Score).then_some(More::Benchmark)
    }
}

impl Round {
    /// Whether both rounds may be scored with one data set. A round that pins none may use any, since one data set may be in force for all boards;
    /// but not one that programs meet unseen.
    fn may_share_data_with(&self, round: &Self) -> bool {
        if self.programs.is_some() && round.dataset.is_none() {
            return false;
        }
        let retires_to = self.retire.map(|retire| retire.dataset);
        let is_apart = self.dataset.is_some()
            && round.dataset.is_some()
            && self.dataset != round.dataset
            && round.dataset != retires_to;
        self.id != round.id && !is_apart
    }
}

/// How many of a challenge's rounds a document has, which are the first ones; and whether it says of each whether it has a `ladder`.
fn says_ladder(document: &Value, benchmark: &str) -> Vec<bool> {
    let rounds = document["benchmarks"][benchmark]["rounds"].as_array();
    let rounds = rounds.into_iter().flatten();
    rounds.map(|round| round.get("ladder").is_some()).collect()
}

/// Sets the Ladder of each round of an accepted document that doesn't say `ladder`, once published rounds are added to its challenge.
pub fn set_default_ladders(document: &Value, challenge: &mut Challenge, hosted: &Descriptor) {
    for (idx, says_ladder) in says_ladder(document, hosted.id).into_iter().enumerate() {
        if !says_ladder {
            challenge.rounds[idx].ladder = challenge.ladder_unless_said(&challenge.rounds[idx], hosted);
        }
    }
}

/// A warning for each round of an accepted document that shows scores alone, doesn't say `ladder`, and has not closed `at` a time, where the default
/// is not to round until the round closes; and for each that keeps the scores of a published round rounded. `challenges` are what [`check`](super::check)
/// made of the document, with published rounds after its own.
pub fn warnings_of_rounding(
    document: &Value,
    challenges: &BTreeMap<String, Challenge>,
    hosted: &[Descriptor],
    at: Timestamp,
) -> Vec<Reason> {
    let mut warnings = Vec::new();
    for (id, challenge) in challenges {
        let Some(hosted) = hosted.iter().find(|hosted| hosted.id == id) else {
            continue;
        };
        let place = pointer(&pointer("/benchmarks", id), "rounds");
        let says_ladder = says_ladder(document, id);
        let (own, published) = challenge.rounds.split_at(says_ladder.len());
        for (idx, (round, says_ladder)) in own.iter().zip(says_ladder).enumerate() {
            if says_ladder || round.is_closed(at) || !challenge.shows_scores_alone(round, hosted) {
                continue;
            }
            if let Some(unexpected) = challenge.unexpected(round) {
                let at = format!("{place}/{idx}");
                warnings.push(Reason {
                    at,
                    ..unexpected.warning()
                });
            }
        }
        let is_rounded = |round: &&Round| {
            round.ladder.is_some() && (!round.is_closed(at) || round.final_dataset.is_some())
        };
        for round in published.iter().filter(is_rounded) {
            let Some(last) = challenge.last_after(round) else {
                continue;
            };
            if let Some(idx) = own.iter().position(|own| own.id == last.id) {
                warnings.push(keeps_rounded(round, last, format!("{place}/{idx}")));
            }
        }
    }
    warnings
}

/// The warning that a published round's scores stay rounded until the round at this place closes.
fn keeps_rounded(published: &Round, last: &Round, at: String) -> Reason {
    let until = last.closes.map_or_else(
        || "for good, since this round never closes".to_owned(),
        |closes| format!("until {closes}, when this round closes"),
    );
    let of_final = if published.final_dataset.is_some() {
        ", and its `final` board is not made before that unless it is made by now"
    } else {
        ""
    };
    let message = format!(
        "scores of the published round {} stay rounded {until}{of_final}: both may be scored with the same data. Pin a `dataset` of its own in this round",
        quote(&published.id)
    );
    Reason::new("stays_rounded", at, message)
}

impl Reader {
    pub(super) fn ladder(&mut self, object: &Object, at: &str) -> Option<Ladder> {
        let (value, at) = (object.get("ladder")?, pointer(at, "ladder"));
        match value.as_str() {
            Some("auto") => return Some(Ladder::Auto),
            Some("rounded") => return Some(Ladder::Rounded),
            Some(NO_LADDER) => return None,
            _ => {}
        }
        let fields = value.as_object().filter(|fields| fields.len() == 1);
        let step = fields
            .and_then(|fields| fields.get("step"))
            .and_then(Value::as_f64);
        let step = step.filter(|step| step.is_finite() && *step >= MIN_STEP);
        if step.is_none() {
            self.wrong("bad_ladder", &at, FORM);
        }
        step.map(|step| Ladder::Step { step })
    }

    /// A round with a Ladder shows nothing else.
    pub(super) fn ladders_fit(&mut self, challenge: &Challenge, rounds: &[(String, Round)]) {
        for (at, round) in rounds.iter().filter(|(_, round)| round.ladder.is_some()) {
            let Some(by) = challenge.shows_more_than_scores(round) else {
                continue;
            };
            let (key, message) = match by {
                More::Round(feedback) => {
                    let message = format!(
                        "a round with a `ladder` shows released scores and nothing else: `feedback: {}` shows more. Leave one of them out",
                        feedback.as_str()
                    );
                    ("feedback", message)
                }
                More::Leaderboard(board) => (
                    "ladder",
                    another_feedback(&format!("the leaderboard {}", quote(board))),
                ),
                More::Benchmark => ("ladder", another_feedback("the benchmark")),
            };
            self.wrong("ladder_shows_more", &pointer(at, key), message);
        }
    }

    /// A final data set is scored with after the close, and by no upload before it.
    pub(super) fn finals_fit(&mut self, rounds: &[(String, Round)]) {
        for (at, round) in rounds {
            let Some(last) = round.final_dataset else { continue };
            if round.closes.is_none() {
                let message =
                    "a `final` data set is scored with once the round has closed: say when it `closes`";
                self.wrong("final_without_close", &pointer(at, "closes"), message);
            }
            let scores_with = |other: &Round| {
                other.dataset == Some(last) || other.retire.is_some_and(|retire| retire.dataset == last)
            };
            let mut pins = rounds.iter().filter(|(_, other)| scores_with(other));
            if let Some((_, other)) = pins.next() {
                let message = format!(
                    "the round {} scores uploads with this data set, and no round may score uploads with a `final` one: name another",
                    quote(&other.id)
                );
                self.wrong("final_in_use", &pointer(at, "final"), message);
            }
        }
    }

    /// What the benchmark has to have for the final data sets and the Ladders of its rounds.
    pub(super) fn ladders(&mut self, challenge: &Challenge, hosted: Option<&Descriptor>, at: &str) {
        let Some(hosted) = hosted else { return };
        let [least, greatest] = hosted.score_range;
        for (idx, round) in challenge.rounds.iter().enumerate() {
            let at = format!("{at}/rounds/{idx}");
            if round.final_dataset.is_some() && !hosted.has_hidden_data {
                let message = "this benchmark has no hidden data: leave `final` out";
                self.wrong("not_of_this_benchmark", &pointer(&at, "final"), message);
            }
            if round.retire.is_some() && !hosted.has_hidden_data {
                let message = "this benchmark has no hidden data that could wear out: leave `retire` out";
                self.wrong("not_of_this_benchmark", &pointer(&at, "retire"), message);
            }
            let at = pointer(&at, "ladder");
            match round.ladder {
                Some(_) if !hosted.has_hidden_data => {
                    let message =
                        "this benchmark has no hidden data that scores could tell of: leave `ladder` out";
                    self.wrong("not_of_this_benchmark", &at, message);
                }
                Some(Ladder::Auto) if hosted.is_place_on_a_curve() => {
                    let message = "`auto` needs the standard error of a score, and scores of this benchmark \
                                   have none, because each is a place on a curve: write `rounded`, or a \
                                   step, such as `{step: 0.05}`";
                    self.wrong("ladder_without_error", &at, message);
                }
                Some(Ladder::Step { step }) if step > (greatest - least) / 2.0 => {
                    let message = format!(
                        "a step of {step} is more than half of all scores there can be, which are from {least} to {greatest}: choose a \
                         smaller one"
                    );
                    self.wrong("bad_ladder", &at, message);
                }
                None | Some(Ladder::Auto | Ladder::Rounded | Ladder::Step { .. }) => {}
            }
        }
    }
}
