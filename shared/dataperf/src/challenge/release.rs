//! What a document says of how scores are released, and with what they are scored in the end.

use serde_json::Value;

use super::fields::{Object, Reader};
use super::{Challenge, Round};
use crate::descriptor::Descriptor;
use crate::feedback::Feedback;
use crate::ladder::Ladder;
use crate::rejection::{pointer, quote};

const FORM: &str =
    "`ladder` is `auto`, `rounded`, `none`, or `step:` with a number from 0.000001, such as `{step: 0.01}`";

/// What a document says for scores as they are.
pub(super) const NO_LADDER: &str = "none";

/// A smaller step releases every score nearly as it is.
const MIN_STEP: f64 = 1e-6;

/// What says that a round shows more than scores.
enum More<'a> {
    Round(Feedback),
    Leaderboard(&'a str),
    Benchmark,
}

fn another_feedback(by: &str) -> String {
    format!(
        "a round with a `ladder` shows released scores and nothing else, and {by} has another `feedback`: say `feedback: score` in the round"
    )
}

impl Challenge {
    /// How a round of this challenge releases scores whose document doesn't say it. They are rounded to what the eval set resolves until the
    /// round closes and everything is shown, unless the round shows more than scores, a score is a place on a curve, or there are no hidden
    /// items. Programs' scores are rounded already, and the report of a retirement has both scores of everything that stands.
    /// Where another round may be scored with the same data after that, or the round never closes, the digits would be shown much
    /// later, and a final board would wait for them.
    pub(super) fn ladder_unless_said(&self, round: &Round, hosted: &Descriptor) -> Option<Ladder> {
        let is_of_items = hosted.has_hidden_data && !hosted.is_place_on_a_curve();
        let is_left_out = round.programs.is_some() || round.retire.is_some();
        let is_rounded = is_of_items
            && !is_left_out
            && self.shows_more_than_scores(round).is_none()
            && self.shows_everything_at_the_close_of(round);
        is_rounded.then_some(Ladder::Rounded)
    }

    /// Whether a round closes, and no other one that may be scored with the same data does so later.
    fn shows_everything_at_the_close_of(&self, round: &Round) -> bool {
        let Some(closes) = round.closes else {
            return false;
        };
        // a round that pins no data set may use any: one data set may be in force for all boards
        let may_share = |other: &&Round| {
            let retires_to = other.retire.map(|retire| retire.dataset);
            let is_apart = round.dataset.is_some()
                && other.dataset.is_some()
                && round.dataset != other.dataset
                && round.dataset != retires_to;
            other.id != round.id && !is_apart
        };
        let mut others = self.rounds.iter().filter(may_share);
        others.all(|other| other.closes.is_some_and(|other| other <= closes))
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
                    "the round {} scores uploads with this data set: a `final` one is seen by no upload",
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
                    let message = "`auto` needs the standard error of a score, which a place on a curve has none of: choose a step, such \
                                   as `{step: 0.05}`";
                    self.wrong("ladder_without_error", &at, message);
                }
                Some(Ladder::Rounded) if hosted.is_place_on_a_curve() => {
                    let message = "`rounded` rounds to 1/n, n the number of eval items, which says nothing of a place on a curve: choose a step, such \
                                   as `{step: 0.05}`";
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
