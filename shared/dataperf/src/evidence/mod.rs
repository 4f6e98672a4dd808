//! Evidence: the class of every item of a test set, and numbers by name. A score is a pure function of
//! evidence, the frozen part and how often each item counts.
//!
//! Evaluating a submission fits the frozen models and asks them for every item of the test set: the class is
//! what they predict. Where a submitted program gives the answers, the class says how an answer was judged,
//! and the program's fuel and memory are numbers of the evidence.
//! [`Benchmark::score`](crate::Benchmark::score) makes the score. Evidence and the score together reveal
//! hidden labels, so only the organizer may read evidence.

mod draws;
mod repeats;
mod unit;
mod weights;
mod wire;

use std::collections::BTreeMap;

pub use draws::{
    Draws, EvalItems, OnCurves, PLACES, Target, correctness, mean_over_units, per_lane, shown_area,
};
pub use repeats::{Fixes, Repeat, Repeats};
pub use unit::{Fact, UnitEvidence};
pub use weights::Weights;
pub use wire::{FORMAT, MAX_EVIDENCE_BYTES, Provenance, bytes_of_a_model};

use crate::dataset::frozen::FrozenError;
use crate::quote;

/// The results of evaluating one submission, for each unit of the evaluation by its name: the
/// language of a board, a concept, a task, a market, a round of texts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    units: BTreeMap<String, UnitEvidence>,
}

/// Why evidence can't be scored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvidenceError {
    /// The bytes are not what was written.
    #[error("the evidence is damaged: {why}. Evaluate the submission again")]
    Damaged {
        /// How they differ.
        why: String,
    },
    /// The evidence is not of the data set and the benchmark that it is scored with.
    #[error(
        "the evidence does not fit the data set: {why}. Score it with the data set that it was made with"
    )]
    OtherData {
        /// How it differs.
        why: String,
    },
    /// The weights are not of the evidence.
    #[error("the weights do not fit the evidence: {why}. Give one weight for each item of each unit")]
    OtherWeights {
        /// How they differ.
        why: String,
    },
    /// The curve ends before the score is known. Where a data set's curves go up to the target only, other weights may
    /// reach it later.
    #[error(
        "the curve of {} ends at fix {n_known}, and with these weights it reaches the target later: use a \
            data set with `whole` curves", quote(.unit)
    )]
    CutOff {
        /// The unit.
        unit: String,
        /// Fixes up to which the models are known.
        n_known: usize,
    },
}

impl From<FrozenError> for EvidenceError {
    fn from(error: FrozenError) -> Self {
        Self::OtherData {
            why: error.to_string(),
        }
    }
}

impl Evidence {
    /// The evidence of one unit.
    pub fn of_unit(name: impl Into<String>, unit: UnitEvidence) -> Self {
        [(name.into(), unit)].into_iter().collect()
    }

    /// The units by name, ascending.
    pub fn units(&self) -> &BTreeMap<String, UnitEvidence> {
        &self.units
    }

    /// The unit of this name, whose test set has `n_items` items of `n_classes` classes.
    ///
    /// # Errors
    /// [`EvidenceError::OtherData`] if it is missing, or belongs to another test set.
    pub fn unit(&self, name: &str, n_items: usize, n_classes: usize) -> Result<&UnitEvidence, EvidenceError> {
        let refuse = |why: String| EvidenceError::OtherData { why };
        let unit = self.units.get(name);
        let unit = unit.ok_or_else(|| refuse(format!("it has no unit {}", quote(name))))?;
        if (unit.n_items(), unit.n_classes()) != (n_items, n_classes) {
            return Err(refuse(format!(
                "the unit {} has {} items of {} classes, and the test set {n_items} of {n_classes}",
                quote(name),
                unit.n_items(),
                unit.n_classes()
            )));
        }
        Ok(unit)
    }
}

impl FromIterator<(String, UnitEvidence)> for Evidence {
    fn from_iter<I: IntoIterator<Item = (String, UnitEvidence)>>(units: I) -> Self {
        let units = units.into_iter().collect();
        Self { units }
    }
}
