//! Checks a document's settings on the data sets that score rounds in the end.

use super::fields::Reader;
use crate::benchmark::descriptor::Descriptor;
use crate::challenge::{Challenge, Round};
use crate::rejection::{pointer, quote};

impl Reader {
    /// A final data set is scored with after the close, and by no upload before it.
    pub(crate) fn finals_fit(&mut self, rounds: &[(String, Round)]) {
        for (at, round) in rounds {
            let Some(last) = round.final_dataset else { continue };
            if round.closes.is_none() {
                let message =
                    "the platform scores with a `final` data set once the round has closed: add `closes`";
                self.wrong("final_without_close", &pointer(at, "closes"), message);
            }
            let scores_with = |other: &Round| {
                other.dataset == Some(last) || other.retire.is_some_and(|retire| retire.dataset == last)
            };
            let mut pins = rounds.iter().filter(|(_, other)| scores_with(other));
            if let Some((_, other)) = pins.next() {
                let message = format!(
                    "the round {} already scores uploads with this data set, and a `final` data set has to \
                        be unused: name another",
                    quote(&other.id)
                );
                self.wrong("final_in_use", &pointer(at, "final"), message);
            }
        }
    }

    /// Refuses settings that need hidden data if the benchmark has none.
    pub(crate) fn needs_hidden_data(&mut self, challenge: &Challenge, hosted: Option<&Descriptor>, at: &str) {
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
                let message = "this benchmark has no hidden data to retire: leave `retire` out";
                self.wrong("not_of_this_benchmark", &pointer(&at, "retire"), message);
            }
        }
    }
}
