//! The evidence of one unit of an evaluation.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::repeats::{Repeat, Repeats};
use super::{EvidenceError, quote};

/// A number of the submission itself that its scorecard shows, such as how much it costs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Fact {
    /// How many.
    Count(u64),
    /// How much; finite.
    Amount(f64),
}

/// The evidence of one unit. It has a class for every item of the test set and every repeat: the
/// class that a frozen model predicted, or how a program's answer was judged. It also has numbers
/// of the submission itself.
#[derive(Debug, Clone, PartialEq)]
pub struct UnitEvidence {
    repeats: Repeats,
    n_items: usize,
    n_classes: usize,
    /// `(n_repeats, n_items)`, row after row
    predicted: Vec<u8>,
    facts: BTreeMap<String, Fact>,
}

impl UnitEvidence {
    /// The answers of the models of a unit.
    ///
    /// # Shapes and units
    /// `predicted`: `(n_repeats, n_items)` classes below `n_classes`, row after row, in the order of `repeats`.
    ///
    /// # Panics
    /// If `predicted` is not of this shape, or `repeats` contradicts itself: a mistake in the program.
    pub fn new(repeats: Repeats, n_items: usize, n_classes: usize, predicted: Vec<u8>) -> Self {
        let unit = Self::unchecked(repeats, n_items, n_classes, predicted);
        let checked = unit.check();
        assert!(checked.is_ok(), "{checked:?}");
        unit
    }

    pub(super) fn unchecked(repeats: Repeats, n_items: usize, n_classes: usize, predicted: Vec<u8>) -> Self {
        Self {
            repeats,
            n_items,
            n_classes,
            predicted,
            facts: BTreeMap::new(),
        }
    }

    /// Adds a count that the scorecard shows.
    #[must_use]
    pub fn with_count(mut self, name: &str, n: usize) -> Self {
        self.facts.insert(name.to_owned(), Fact::Count(n as u64));
        self
    }

    /// Adds an amount that the scorecard shows.
    ///
    /// # Panics
    /// If it is not finite.
    #[must_use]
    pub fn with_amount(mut self, name: &str, amount: f64) -> Self {
        assert!(amount.is_finite(), "an amount is a finite number");
        self.facts.insert(name.to_owned(), Fact::Amount(amount));
        self
    }

    pub(super) fn with_facts(self, facts: BTreeMap<String, Fact>) -> Self {
        Self { facts, ..self }
    }

    /// The repeats.
    pub fn repeats(&self) -> &Repeats {
        &self.repeats
    }

    /// Items of the test set.
    pub fn n_items(&self) -> usize {
        self.n_items
    }

    /// Classes of the test set.
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// The predicted classes of each repeat, `(n_items,)`, in the order of [`repeats`](Self::repeats).
    pub fn each_repeat(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let n_items = self.n_items;
        (0..self.repeats.len()).map(move |place| &self.predicted[place * n_items..][..n_items])
    }

    /// The place of a repeat among [`each_repeat`](Self::each_repeat).
    ///
    /// # Errors
    /// [`EvidenceError::OtherData`] when there is no such repeat.
    pub fn place(&self, repeat: Repeat) -> Result<usize, EvidenceError> {
        let place = self.repeats.place(repeat);
        place.ok_or_else(|| EvidenceError::OtherData {
            why: format!("it has no repeat {repeat:?}"),
        })
    }

    /// The predicted classes of one repeat, `(n_items,)`.
    ///
    /// # Errors
    /// [`EvidenceError::OtherData`] when there is no such repeat.
    pub fn predicted(&self, repeat: Repeat) -> Result<&[u8], EvidenceError> {
        Ok(&self.predicted[self.place(repeat)? * self.n_items..][..self.n_items])
    }

    /// The numbers of the submission that the scorecard shows.
    pub fn facts(&self) -> &BTreeMap<String, Fact> {
        &self.facts
    }

    /// A count of the submission.
    ///
    /// # Errors
    /// [`EvidenceError::OtherData`] if no count has this name.
    pub fn count(&self, name: &str) -> Result<u64, EvidenceError> {
        match self.facts.get(name) {
            Some(Fact::Count(n)) => Ok(*n),
            other => Err(no_fact("count", name, other)),
        }
    }

    /// An amount of the submission.
    ///
    /// # Errors
    /// [`EvidenceError::OtherData`] if no amount has this name.
    pub fn amount(&self, name: &str) -> Result<f64, EvidenceError> {
        match self.facts.get(name) {
            Some(Fact::Amount(amount)) => Ok(*amount),
            other => Err(no_fact("amount", name, other)),
        }
    }

    /// The first contradiction, if there is one.
    pub(super) fn check(&self) -> Result<(), String> {
        self.repeats.check()?;
        if self.repeats.len().checked_mul(self.n_items) != Some(self.predicted.len()) {
            return Err(format!(
                "it has {} predictions for {} repeats of {} items",
                self.predicted.len(),
                self.repeats.len(),
                self.n_items
            ));
        }
        let largest = self.predicted.iter().max();
        if largest.is_some_and(|&class| usize::from(class) >= self.n_classes) {
            return Err(format!(
                "it has predictions beyond its {} classes",
                self.n_classes
            ));
        }
        let amounts = self.facts.values();
        if amounts
            .into_iter()
            .any(|fact| matches!(fact, Fact::Amount(amount) if !amount.is_finite()))
        {
            return Err("it has an amount that is not finite".into());
        }
        Ok(())
    }
}

fn no_fact(kind: &str, name: &str, fact: Option<&Fact>) -> EvidenceError {
    let fact = fact.map_or_else(String::new, |fact| format!(", but {fact:?}"));
    EvidenceError::OtherData {
        why: format!("it has no {kind} {}{fact}", quote(name)),
    }
}
