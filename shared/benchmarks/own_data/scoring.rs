//! The model, the metric and the classes of a contest: how a training set becomes a score.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::eval_set::EvalSet;
use dataperf::evidence::{EvidenceError, Repeats, UnitEvidence};
use dataperf_numerics::bootstrap::ItemMetric;
use dataperf_numerics::learner::Learner;
use dataperf_numerics::metrics::{
    ItemWeights, accuracy_per_group, balanced_accuracy, class_counts, f1_of_counts, macro_f1_of_classes,
    mean, weighted_accuracy,
};

/// The most classes a contest has.
pub const MAX_CLASSES: usize = 100;

/// How a training set becomes a score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scoring<M = Learner> {
    /// The classes, numbered in this order.
    pub classes: Vec<String>,
    /// The model, with its parameters.
    pub model: M,
    /// What the score is.
    pub metric: ScoreMetric,
    /// The seeds of a model that draws; the score is the mean over them.
    pub seeds: Vec<u32>,
}

/// What of the model's answers is the score. All are in [0, 1], and more is better.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ScoreMetric {
    /// The share of the items that are right.
    Accuracy,
    /// The mean over the classes that occur of the share that is right.
    BalancedAccuracy,
    /// F1 of one class.
    F1 {
        /// The class.
        class: String,
    },
    /// The mean of F1 over all classes, 0 for one that neither occurs nor is predicted.
    MacroF1,
    /// The smallest accuracy of a group.
    WorstGroupAccuracy,
}

impl ScoreMetric {
    /// Its name in a document.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Accuracy => "accuracy",
            Self::BalancedAccuracy => "balanced_accuracy",
            Self::F1 { .. } => "f1",
            Self::MacroF1 => "macro_f1",
            Self::WorstGroupAccuracy => "worst_group_accuracy",
        }
    }

    /// A few words for people.
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

/// How many examples a training set has.
const N_EXAMPLES: &str = "n_examples";
/// Begins the names of the counts of examples by class number.
const N_OF_CLASS: &str = "n_of_class_";

impl Scoring {
    /// How often the model is asked, and what each time is called.
    pub(super) fn repeats(&self) -> Repeats {
        repeats(&self.model, &self.seeds)
    }
}

/// How often a model is asked, and what each time is called.
pub(super) fn repeats(model: &Learner, seeds: &[u32]) -> Repeats {
    if model.is_seeded() {
        Repeats::Seeds(seeds.to_vec())
    } else {
        Repeats::Once
    }
}

impl<M> Scoring<M> {
    /// The number of the class of this name.
    pub fn class_of(&self, name: &str) -> Option<usize> {
        self.classes.iter().position(|class| class == name)
    }

    /// The metric of one model's answers.
    ///
    /// # Shapes and units
    /// `predicted`: `(n_items,)` class numbers.
    pub(super) fn value(&self, eval: &EvalSet, predicted: &[u8], weights: ItemWeights<'_>) -> f64 {
        self.item_metric(eval).value(&eval.truth, predicted, weights)
    }

    /// The metric with what it needs of the eval set.
    pub(super) fn item_metric<'a>(&self, eval: &'a EvalSet) -> ItemMetric<'a> {
        match &self.metric {
            ScoreMetric::Accuracy => ItemMetric::Accuracy,
            ScoreMetric::BalancedAccuracy => ItemMetric::BalancedAccuracy,
            ScoreMetric::MacroF1 => ItemMetric::MacroF1OfClasses(self.classes.len()),
            ScoreMetric::F1 { class } => {
                let class = self.class_of(class).unwrap_or(0); // the document's check has found it
                ItemMetric::F1(class as u8)
            }
            ScoreMetric::WorstGroupAccuracy => {
                let groups = eval.groups.as_ref().map_or(&[][..], |groups| &groups.of_items);
                ItemMetric::WorstGroupAccuracy(groups)
            }
        }
    }

    /// The score of a unit of evidence, the mean over its repeats, with the metrics that are shown beside it.
    pub(super) fn scored(
        &self,
        eval: &EvalSet,
        unit: &UnitEvidence,
        weights: ItemWeights<'_>,
    ) -> (f64, BTreeMap<String, Value>) {
        let of_repeats: Vec<f64> = unit
            .each_repeat()
            .map(|predicted| self.value(eval, predicted, weights))
            .collect();
        let score = mean(&of_repeats);
        let mut metrics = self.beside(eval, unit, weights);
        let names = match unit.repeats() {
            Repeats::Seeds(seeds) => Some(("per_seed", Some(json!(seeds)))),
            Repeats::Trials(_) => Some(("per_trial", None)),
            Repeats::Once | Repeats::Fixes(_) => None,
        };
        if let Some((name, labels)) = names {
            let spread: Vec<f64> = of_repeats.iter().map(|value| (value - score).powi(2)).collect();
            metrics.insert(name.to_owned(), json!(of_repeats));
            metrics.insert("std".to_owned(), json!(mean(&spread).sqrt()));
            metrics.extend(labels.map(|labels| ("seeds".to_owned(), labels)));
        }
        (score, metrics)
    }

    /// Accuracy, balanced accuracy, macro F1, F1 of each class and accuracy of each group: means over the repeats.
    fn beside(
        &self,
        eval: &EvalSet,
        unit: &UnitEvidence,
        weights: ItemWeights<'_>,
    ) -> BTreeMap<String, Value> {
        let n_repeats = unit.repeats().len() as f64;
        let (truth, n_classes) = (&eval.truth[..], self.classes.len());
        let (mut accuracy, mut balanced, mut macro_f1) = (0.0, 0.0, 0.0);
        let mut of_classes = vec![0.0; n_classes];
        let mut of_groups: BTreeMap<usize, f64> = BTreeMap::new();
        for predicted in unit.each_repeat() {
            accuracy += weighted_accuracy(truth, predicted, weights) / n_repeats;
            balanced += balanced_accuracy(truth, predicted, weights) / n_repeats;
            macro_f1 += macro_f1_of_classes(truth, predicted, n_classes, weights) / n_repeats;
            for (class, f1) in f1_of_counts(&class_counts(truth, predicted, weights)) {
                of_classes[class] += f1 / n_repeats;
            }
            if let Some(groups) = &eval.groups {
                for (group, accuracy) in accuracy_per_group(truth, predicted, &groups.of_items, weights) {
                    *of_groups.entry(group).or_default() += accuracy / n_repeats;
                }
            }
        }
        let of_classes = self.classes.iter().zip(&of_classes);
        let f1: Map<String, Value> = of_classes.map(|(name, f1)| (name.clone(), json!(f1))).collect();
        let mut metrics = BTreeMap::from([
            ("accuracy".to_owned(), json!(accuracy)),
            ("balanced_accuracy".to_owned(), json!(balanced)),
            ("macro_f1".to_owned(), json!(macro_f1)),
            ("f1_per_class".to_owned(), Value::Object(f1)),
            ("n_eval".to_owned(), json!(weights.total(eval.n_items()))),
            ("metric".to_owned(), json!(self.metric.name())),
        ]);
        if let Some(groups) = &eval.groups {
            let named = of_groups
                .iter()
                .map(|(&group, accuracy)| (groups.names[group].clone(), json!(accuracy)));
            metrics.insert("accuracy_per_group".to_owned(), Value::Object(named.collect()));
        }
        if eval.is_public {
            metrics.insert("eval_set".to_owned(), json!("public"));
        }
        metrics
    }

    /// Notes how many examples a training set has, in all and of each class.
    pub(super) fn count_examples(&self, unit: UnitEvidence, classes: &[usize]) -> UnitEvidence {
        let n_of = |class: usize| classes.iter().filter(|&&other| other == class).count();
        let unit = unit.with_count(N_EXAMPLES, classes.len());
        (0..self.classes.len()).fold(unit, |unit, class| {
            unit.with_count(&format!("{N_OF_CLASS}{class}"), n_of(class))
        })
    }

    /// What [`count_examples`](Self::count_examples) noted, as metrics.
    ///
    /// # Errors
    /// [`EvidenceError`] when the evidence is of something else.
    pub(super) fn counted_examples(
        &self,
        unit: &UnitEvidence,
    ) -> Result<BTreeMap<String, Value>, EvidenceError> {
        let mut n_per_class = Map::new();
        for (class, name) in self.classes.iter().enumerate() {
            n_per_class.insert(name.clone(), json!(unit.count(&format!("{N_OF_CLASS}{class}"))?));
        }
        Ok(BTreeMap::from([
            (N_EXAMPLES.to_owned(), json!(unit.count(N_EXAMPLES)?)),
            ("n_per_class".to_owned(), Value::Object(n_per_class)),
        ]))
    }
}
