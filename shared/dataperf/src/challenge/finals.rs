//! What a document says of the data sets that rounds are scored with in the end.

use super::fields::Reader;
use super::{Challenge, Round};
use crate::descriptor::Descriptor;
use crate::rejection::{pointer, quote};

impl Reader {
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

    /// What needs hidden data, in a benchmark that has none.
    pub(super) fn needs_hidden_data(&mut self, challenge: &Challenge, hosted: Option<&Descriptor>, at: &str) {
        if hosted.is_none_or(|hosted| hosted.has_hidden_data) {
            return;
        }
        for (idx, round) in challenge.rounds.iter().enumerate() {
            let at = format!("{at}/rounds/{idx}");
            if round.final_dataset.is_some() {
                let message = "this benchmark has no hidden data: leave `final` out";
                self.wrong("not_of_this_benchmark", &pointer(&at, "final"), message);
            }
            if round.retire.is_some() {
                let message = "this benchmark has no hidden data that could wear out: leave `retire` out";
                self.wrong("not_of_this_benchmark", &pointer(&at, "retire"), message);
            }
        }
    }
}
