//! The model, the metric and the classes of a contest: how a training set becomes a score.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use dataperf::Reason;
use dataperf::benchmark::NotScored;
use dataperf::benchmark::scorecard::{MetricValue, Metrics};
use dataperf::dataset::frozen::FrozenError;
use dataperf::evidence::{EvidenceError, Repeats, UnitEvidence};
use dataperf_numerics::learner::{FitError, Learner};

/// The code of the rejection of a training set that the model can't be fitted to.
pub const NOT_FITTED: &str = "not_fitted";

/// The verdict if the model can't be fitted to a training set: a rejection if the model does not converge because the training set
/// separates its classes too badly, else damage to the data set's file at `path`.
pub(super) fn not_fitted(error: &FitError, path: &str) -> NotScored {
    match error {
        FitError::NotConverged => {
            let message = "the contest's model can't learn this training set: it does not separate two classes within 10 \
                million steps, or reads more than 10 billion rows. This counts against your limits like a \
                score. Choose other examples";
            Reason::new(NOT_FITTED, "", message).into()
        }
        error => FrozenError::damaged(path, error.to_string()).into(),
    }
}

/// The most classes that a contest may have.
pub const MAX_CLASSES: usize = 100;

/// How a training set becomes a score: the model is fitted to it, and the metric compares predictions with labels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scoring<M = Learner> {
    /// The names of the classes; their numbers follow this order.
    pub classes: Vec<String>,
    /// The model, with its parameters.
    pub model: M,
    /// The metric that is the score.
    pub metric: ScoreMetric,
    /// The seeds of a model that draws; the score is the mean over them.
    pub seeds: Vec<u32>,
}

/// A metric of the model's predictions. All are in [0, 1], and higher is better.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ScoreMetric {
    /// The share of the items that are predicted correctly.
    Accuracy,
    /// The mean of the recalls of the classes that occur.
    BalancedAccuracy,
    /// F1 of one class.
    F1 {
        /// The class's name.
        class: String,
    },
    /// The mean of F1 over all classes, 0 for one that neither occurs nor is predicted.
    MacroF1,
    /// The lowest accuracy of any group of items.
    WorstGroupAccuracy,
}

impl ScoreMetric {
    /// The metric's name in a document.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Accuracy => "accuracy",
            Self::BalancedAccuracy => "balanced_accuracy",
            Self::F1 { .. } => "f1",
            Self::MacroF1 => "macro_f1",
            Self::WorstGroupAccuracy => "worst_group_accuracy",
        }
    }

    /// A short description for people.
    pub fn about(&self) -> String {
        match self {
            Self::Accuracy => "accuracy".into(),
            Self::BalancedAccuracy => "balanced accuracy".into(),
            Self::F1 { class } => format!("F1 of {}", dataperf::quote(class)),
            Self::MacroF1 => "macro F1".into(),
            Self::WorstGroupAccuracy => "the accuracy of the worst group".into(),
        }
    }
}

/// The name of the count of a training set's examples.
const N_EXAMPLES: &str = "n_examples";
/// The beginning of the names of the counts of each class's examples; a class number follows it.
const N_OF_CLASS: &str = "n_of_class_";

impl Scoring {
    /// How often the model is fitted, and the name of each repetition.
    pub(super) fn repeats(&self) -> Repeats {
        repeats(&self.model, &self.seeds)
    }
}

/// How often a model is fitted, and the name of each repetition: once, or once for each seed if it
/// depends on one.
pub(super) fn repeats(model: &Learner, seeds: &[u32]) -> Repeats {
    if model.is_seeded() {
        Repeats::Seeds(seeds.to_vec())
    } else {
        Repeats::Once
    }
}

impl<M> Scoring<M> {
    /// The number of the class with this name.
    pub fn class_of(&self, name: &str) -> Option<usize> {
        self.classes.iter().position(|class| class == name)
    }

    /// Adds the number of examples in a training set to the evidence, in all and of each class.
    pub(super) fn count_examples(&self, unit: UnitEvidence, classes: &[usize]) -> UnitEvidence {
        let n_of = |class: usize| classes.iter().filter(|&&other| other == class).count();
        let unit = unit.with_count(N_EXAMPLES, classes.len());
        (0..self.classes.len()).fold(unit, |unit, class| {
            unit.with_count(&format!("{N_OF_CLASS}{class}"), n_of(class))
        })
    }

    /// The counts of [`count_examples`](Self::count_examples), as metrics.
    ///
    /// # Errors
    /// [`EvidenceError`] if the evidence does not have these counts.
    pub(super) fn counted_examples(&self, unit: &UnitEvidence) -> Result<Metrics, EvidenceError> {
        let mut n_per_class = BTreeMap::new();
        for (class, name) in self.classes.iter().enumerate() {
            n_per_class.insert(name.clone(), unit.count(&format!("{N_OF_CLASS}{class}"))?);
        }
        Ok(Metrics::new()
            .with(N_EXAMPLES, unit.count(N_EXAMPLES)?)
            .with("n_per_class", MetricValue::Counts(n_per_class)))
    }
}
