//! The model, the metric and the classes of a contest: how a training set becomes a score.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::eval_set::{EvalSet, Grouping};
use crate::evidence::{Repeats, UnitEvidence};
use dataperf_numerics::learner::Learner;
use dataperf_numerics::metrics::{ClassCounts, ItemWeights, mean};

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
            Self::F1 { class } => format!("F1 of {}", crate::quote(class)),
            Self::MacroF1 => "macro F1".into(),
            Self::WorstGroupAccuracy => "the accuracy of the worst group".into(),
        }
    }
}

/// How often each class was predicted, was true, and was both, in one repeat of an evaluation.
pub(super) struct Confusion {
    counts: Vec<ClassCounts>,
}

impl Confusion {
    /// `truth`, `predicted`: `(n_items,)` class numbers below `n_classes`.
    pub(super) fn of(truth: &[u8], predicted: &[u8], weights: ItemWeights<'_>, n_classes: usize) -> Self {
        let mut counts = vec![ClassCounts::default(); n_classes];
        for (idx, (&t, &p)) in truth.iter().zip(predicted).enumerate() {
            let weight = weights.at(idx);
            counts[usize::from(t)].actual += weight;
            counts[usize::from(p)].predicted += weight;
            counts[usize::from(t)].correct += if t == p { weight } else { 0 };
        }
        Self { counts }
    }

    /// The share of the items that are right; 0 without items.
    pub(super) fn accuracy(&self) -> f64 {
        let total = |of: fn(&ClassCounts) -> u64| self.counts.iter().map(of).sum::<u64>();
        quotient(total(|counts| counts.correct), total(|counts| counts.actual))
    }

    /// The mean recall of the classes that occur, as scikit-learn's `balanced_accuracy_score` has it.
    pub(super) fn balanced_accuracy(&self) -> f64 {
        let occurring = self.counts.iter().filter(|counts| counts.actual > 0);
        let recalls: Vec<f64> = occurring.map(|counts| counts.recall()).collect();
        if recalls.is_empty() { 0.0 } else { mean(&recalls) }
    }

    /// F1 of each class.
    pub(super) fn f1_per_class(&self) -> Vec<f64> {
        self.counts.iter().map(|counts| counts.f1()).collect()
    }

    /// The mean of F1 over all classes, as scikit-learn's `f1_score(labels=classes, average="macro", zero_division=0)`.
    pub(super) fn macro_f1(&self) -> f64 {
        mean(&self.f1_per_class())
    }
}

fn quotient(numerator: u64, denominator: u64) -> f64 {
    if denominator == 0 {
        0.0
    } else {
        numerator as f64 / denominator as f64
    }
}

/// The accuracy of each group that has items, by the group's number.
pub(super) fn accuracy_per_group(
    groups: &Grouping,
    truth: &[u8],
    predicted: &[u8],
    weights: ItemWeights<'_>,
) -> BTreeMap<u32, f64> {
    let mut counts: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for (idx, (t, p)) in truth.iter().zip(predicted).enumerate() {
        let weight = weights.at(idx);
        let (correct, total) = counts.entry(groups.of_items[idx]).or_default();
        *total += weight;
        *correct += if t == p { weight } else { 0 };
    }
    let with_items = counts.into_iter().filter(|(_, (_, total))| *total > 0);
    with_items
        .map(|(group, (correct, total))| (group, quotient(correct, total)))
        .collect()
}

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
        let confusion = || Confusion::of(&eval.truth, predicted, weights, self.classes.len());
        match &self.metric {
            ScoreMetric::Accuracy => confusion().accuracy(),
            ScoreMetric::BalancedAccuracy => confusion().balanced_accuracy(),
            ScoreMetric::MacroF1 => confusion().macro_f1(),
            ScoreMetric::F1 { class } => {
                let class = self.class_of(class).unwrap_or(0); // the document's check has found it
                confusion().f1_per_class()[class]
            }
            ScoreMetric::WorstGroupAccuracy => {
                let groups = eval.groups.as_ref();
                let of_groups =
                    groups.map(|groups| accuracy_per_group(groups, &eval.truth, predicted, weights));
                let worst = of_groups.into_iter().flatten().map(|(_, accuracy)| accuracy);
                worst.fold(1.0, f64::min)
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
        let (mut accuracy, mut balanced, mut macro_f1) = (0.0, 0.0, 0.0);
        let mut of_classes = vec![0.0; self.classes.len()];
        let mut of_groups: BTreeMap<u32, f64> = BTreeMap::new();
        for predicted in unit.each_repeat() {
            let confusion = Confusion::of(&eval.truth, predicted, weights, self.classes.len());
            accuracy += confusion.accuracy() / n_repeats;
            balanced += confusion.balanced_accuracy() / n_repeats;
            macro_f1 += confusion.macro_f1() / n_repeats;
            for (mean, f1) in of_classes.iter_mut().zip(confusion.f1_per_class()) {
                *mean += f1 / n_repeats;
            }
            if let Some(groups) = &eval.groups {
                for (group, accuracy) in accuracy_per_group(groups, &eval.truth, predicted, weights) {
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
                .map(|(&group, accuracy)| (groups.names[group as usize].clone(), json!(accuracy)));
            metrics.insert("accuracy_per_group".to_owned(), Value::Object(named.collect()));
        }
        if eval.is_public {
            metrics.insert("eval_set".to_owned(), json!("public"));
        }
        metrics
    }
}
