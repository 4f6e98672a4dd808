//! Defines the results that a round shows until it closes.

use serde::{Deserialize, Serialize};

use super::document::fields::{Object, Reader};
use super::{Challenge, Round, last_to_close};
use crate::Timestamp;
use crate::benchmark::descriptor::Descriptor;
use crate::benchmark::feedback::Feedback;
use crate::ladder::Ladder;
use crate::rejection::{Reason, pointer, quote};

/// The results that a round shows until it closes. Then it shows everything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// Scores with all digits, metrics and intervals. Curves only where the round says `curves`.
    Practice,
    /// Scores rounded to 1/n, n the number of items of the test set, and rank intervals; or what a Ladder releases.
    #[default]
    Contest,
    /// Nothing.
    Blind,
}

impl Preset {
    /// The word documents use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Practice => "practice",
            Self::Contest => "contest",
            Self::Blind => "blind",
        }
    }
}

impl Round {
    /// How much submitters and the public see `at` a time, while results of the round are withheld.
    pub fn feedback(&self, at: Timestamp) -> Feedback {
        match self.preset {
            Preset::Practice if self.curves => Feedback::Full,
            Preset::Practice => Feedback::Metrics,
            Preset::Blind if !self.is_closed(at) => Feedback::Nothing,
            Preset::Contest | Preset::Blind => Feedback::Score,
        }
    }

    /// How scores are released until everything is shown; `None` if scores are shown unchanged.
    /// Programs' scores are rounded when they are computed. Scores of a blind round are rounded if
    /// another round with the same data is open after its close.
    pub fn release(&self) -> Option<Ladder> {
        let is_released = self.preset != Preset::Practice && self.programs.is_none();
        is_released.then_some(if self.ladder {
            Ladder::Auto
        } else {
            Ladder::Rounded
        })
    }

    /// Whether both rounds may be scored with one data set. A round that pins none may use any data
    /// set that can become active, so not one that programs meet unseen.
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

impl Challenge {
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

    /// A warning for each round that withholds results until another one closes, which may be scored with the same data. `n_own` is the number of the
    /// document's own rounds, which come first; published ones follow. Own rounds that have closed `at` a time are left out.
    pub fn warnings_of_shared_data(&self, n_own: usize, hosted: &Descriptor, at: Timestamp) -> Vec<Reason> {
        let mut warnings = Vec::new();
        for (idx, round) in self.rounds.iter().enumerate() {
            let is_over = round.is_closed(at) && idx < n_own;
            if round.preset == Preset::Practice || !hosted.has_hidden_data || is_over {
                continue;
            }
            let Some(last) = self.last_after(round) else {
                continue;
            };
            let place = self.rounds[..n_own].iter().position(|own| own.id == last.id);
            let Some(place) = (idx < n_own).then_some(idx).or(place) else {
                continue;
            };
            warnings.push(Reason {
                at: format!("/rounds/{place}"),
                ..stays_withheld(round, last)
            });
        }
        warnings
    }
}

fn stays_withheld(round: &Round, last: &Round) -> Reason {
    let until = last.closes.map_or_else(
        || "for good: that round never closes".to_owned(),
        |closes| format!("until it closes at {closes}"),
    );
    let of_final = if round.final_dataset.is_some() {
        ", and the `final` board is not made before that"
    } else {
        ""
    };
    let message = format!(
        "scores of the round {} stay rounded after its close, because the round {} may use the same data: \
            {until}{of_final}. Give each round its own `dataset`",
        quote(&round.id),
        quote(&last.id)
    );
    Reason::new("stays_rounded", "", message)
}

impl Reader {
    /// The results that a round shows. Benchmarks without hidden data show everything, unless a
    /// round is blind.
    pub(super) fn preset(&mut self, object: &Object, at: &str, hosted: Option<&Descriptor>) -> Preset {
        let chosen = self.choice::<Preset>(object, at, "preset", "`practice`, `contest` or `blind`");
        let has_hidden_data = hosted.is_none_or(|hosted| hosted.has_hidden_data);
        if chosen == Some(Preset::Contest) && !has_hidden_data {
            let message = "this benchmark has no hidden data that scores could reveal: leave `preset` out, or set \
                `preset: blind`";
            self.wrong("not_of_this_benchmark", &pointer(at, "preset"), message);
        }
        chosen.unwrap_or(if has_hidden_data {
            Preset::Contest
        } else {
            Preset::Practice
        })
    }

    /// Checks settings that depend on what a round shows.
    pub(super) fn presets_fit(&mut self, rounds: &[(String, Round)], hosted: Option<&Descriptor>) {
        for (at, round) in rounds {
            let preset = round.preset.as_str();
            if round.curves && round.preset != Preset::Practice {
                let message = format!(
                    "curves reveal hidden labels, and `preset: {preset}` shows none: leave `curves` out, \
                        or set `preset: practice`"
                );
                self.wrong("not_with_preset", &pointer(at, "curves"), message);
            }
            if round.ladder && round.preset != Preset::Contest {
                let message = format!(
                    "only `preset: contest` can have a Ladder, and this is `preset: {preset}`: leave \
                        `ladder` out, or set `preset: contest`"
                );
                self.wrong("not_with_preset", &pointer(at, "ladder"), message);
            }
            if round.preset == Preset::Blind && round.closes.is_none() {
                let message =
                    "a blind round shows nothing until it closes, and this one never closes: add `closes`";
                self.wrong("hidden_for_good", &pointer(at, "preset"), message);
            }
            if round.preset == Preset::Practice && round.programs.is_some() {
                let message = "scores of programs have to be rounded, because their data are unseen: set `preset: \
                    contest` or `preset: blind`";
                self.wrong("not_with_programs", &pointer(at, "preset"), message);
            }
            if round.ladder && hosted.is_some_and(|hosted| !hosted.has_hidden_data) {
                let message = "this benchmark has no hidden data for a Ladder to protect: leave `ladder` out";
                self.wrong("not_of_this_benchmark", &pointer(at, "ladder"), message);
            }
            if round.ladder && hosted.is_some_and(Descriptor::is_place_on_a_curve) {
                let message = "a Ladder needs the standard error of a score, and scores on a curve have none: leave \
                    `ladder` out";
                self.wrong("ladder_without_error", &pointer(at, "ladder"), message);
            }
        }
    }
}
