//! The test set: the items that a submission's model predicts, and their labels.

use std::collections::{BTreeMap, BTreeSet};

use ndarray::Array2;

use super::scoring::{ScoreMetric, Scoring};
use super::table::{Examples, LABEL, features, features_file};
use dataperf::benchmark::scorecard::{MetricValue, Metrics};
use dataperf::dataset::frozen::{FrozenError, Manifest};
use dataperf::dataset::{DatasetError, Files};
use dataperf::evidence::{EvalItems, Evidence, EvidenceError, Repeats, UnitEvidence};
use dataperf_numerics::bootstrap::ItemMetric;
use dataperf_numerics::metrics::{
    ItemWeights, accuracy_per_group, balanced_accuracy, class_counts, f1_of_counts, macro_f1_of_classes,
    mean, weighted_accuracy,
};

/// The name of the hidden test set's table, and of the only unit of evidence.
pub const EVAL: &str = "eval";
/// The name of the table with the test set that participants may have.
pub const PUBLIC_EVAL: &str = "public/eval";
const GROUP: &str = "group";
const CLUSTER: &str = "cluster";

/// The items to predict, and their right classes.
#[derive(Debug)]
pub struct EvalSet {
    /// `(n_items, n_features)`
    pub features: Array2<f64>,
    /// `(n_items,)` class numbers.
    pub truth: Vec<u8>,
    /// The items' groups, if the data set has groups.
    pub groups: Option<Grouping>,
    /// The clusters of items that depend on each other, such as the recordings of one speaker, if the data set has clusters.
    pub clusters: Option<Grouping>,
    /// Whether this is the test set that participants may have.
    pub is_public: bool,
}

/// A division of the items into parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grouping {
    /// The parts' names, ascending.
    pub names: Vec<String>,
    /// The part of each item, `(n_items,)`.
    pub of_items: Vec<usize>,
}

impl Grouping {
    fn from_column(column: &[String]) -> Self {
        let names: BTreeSet<&String> = column.iter().collect();
        let number_of: BTreeMap<&String, usize> = names.iter().copied().zip(0..).collect();
        Self {
            of_items: column.iter().map(|name| number_of[name]).collect(),
            names: names.into_iter().cloned().collect(),
        }
    }
}

impl EvalSet {
    /// The table of the test set that a data set is scored with: the hidden one if it is there, as it is not in a participants'
    /// kit, else the public one.
    pub fn table_in(manifest: &Manifest) -> Option<&'static str> {
        [EVAL, PUBLIC_EVAL]
            .into_iter()
            .find(|table| manifest.files.contains_key(&features_file(table)))
    }

    /// Reads the test set of a data set; `None` if there is none, as in some participants' kits.
    ///
    /// # Errors
    /// [`DatasetError`] when its files are not what the manifest says.
    pub(super) async fn open<M>(
        files: &Files<'_>,
        scoring: &Scoring<M>,
    ) -> Result<Option<Self>, DatasetError> {
        let Some(table) = Self::table_in(files.manifest()) else {
            return Ok(None);
        };
        let features = features(files, table).await?;
        Self::with_features(files, table, features, scoring)
            .await
            .map(Some)
    }

    /// The test set of a table whose features have been read already.
    ///
    /// # Errors
    /// [`DatasetError`] when its examples are not what the manifest says.
    pub(super) async fn with_features<M>(
        files: &Files<'_>,
        table: &str,
        features: Array2<f64>,
        scoring: &Scoring<M>,
    ) -> Result<Self, DatasetError> {
        let examples = Examples::read(files, table, features.nrows()).await?;
        if scoring.metric == ScoreMetric::WorstGroupAccuracy {
            examples.required(GROUP)?;
        }
        Ok(Self {
            truth: examples.classes(LABEL, &scoring.classes)?,
            groups: examples.column(GROUP).map(Grouping::from_column),
            clusters: examples.column(CLUSTER).map(Grouping::from_column),
            features,
            is_public: table == PUBLIC_EVAL,
        })
    }

    /// The number of items.
    pub fn n_items(&self) -> usize {
        self.truth.len()
    }

    /// The items and how they are drawn: within groups if the score is the accuracy of the worst group.
    pub(super) fn items<M>(&self, scoring: &Scoring<M>) -> Vec<(String, EvalItems<'_>)> {
        let of_groups = scoring.metric == ScoreMetric::WorstGroupAccuracy;
        let groups = self.groups.as_ref().filter(|_| of_groups);
        let items = EvalItems {
            truth: &self.truth,
            groups: groups.map(|groups| &groups.of_items[..]),
            clusters: self.clusters.as_ref().map(|clusters| &clusters.of_items[..]),
            metric: scoring.item_metric(self),
        };
        vec![(EVAL.to_owned(), items)]
    }

    /// The unit of evidence, checked to belong to this test set.
    ///
    /// # Errors
    /// [`EvidenceError::OtherData`].
    pub(super) fn unit<'a, M>(
        &self,
        evidence: &'a Evidence,
        scoring: &Scoring<M>,
    ) -> Result<&'a UnitEvidence, EvidenceError> {
        evidence.unit(EVAL, self.n_items(), scoring.classes.len())
    }
}

impl<M> Scoring<M> {
    /// The score of one model's predictions, with each item counted by its weight.
    ///
    /// # Shapes and units
    /// `predicted`: `(n_items,)` class numbers.
    pub(super) fn value(&self, eval: &EvalSet, predicted: &[u8], weights: ItemWeights<'_>) -> f64 {
        self.item_metric(eval).value(&eval.truth, predicted, weights)
    }

    /// The metric together with the groups of the test set, if it needs them.
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

    /// The score of a unit of evidence, the mean over its repeats, with its other metrics.
    pub(super) fn scored(
        &self,
        eval: &EvalSet,
        unit: &UnitEvidence,
        weights: ItemWeights<'_>,
    ) -> (f64, Metrics) {
        let of_repeats: Vec<f64> = unit
            .each_repeat()
            .map(|predicted| self.value(eval, predicted, weights))
            .collect();
        let score = mean(&of_repeats);
        let mut metrics = self.extra_metrics(eval, unit, weights);
        let names = match unit.repeats() {
            Repeats::Seeds(seeds) => Some(("per_seed", Some(MetricValue::seeds(seeds)))),
            Repeats::Trials(_) => Some(("per_trial", None)),
            Repeats::Once | Repeats::Fixes(_) => None,
        };
        if let Some((name, labels)) = names {
            let spread: Vec<f64> = of_repeats.iter().map(|value| (value - score).powi(2)).collect();
            metrics.insert(name, MetricValue::Trials(of_repeats));
            metrics.insert("std", mean(&spread).sqrt());
            if let Some(labels) = labels {
                metrics.insert("seeds", labels);
            }
        }
        (score, metrics)
    }

    /// Accuracy, balanced accuracy, macro F1, F1 of each class and accuracy of each group: means over the repeats.
    fn extra_metrics(&self, eval: &EvalSet, unit: &UnitEvidence, weights: ItemWeights<'_>) -> Metrics {
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
        let f1 = self.classes.iter().cloned().zip(of_classes).collect();
        let mut metrics = Metrics::new()
            .with("accuracy", accuracy)
            .with("balanced_accuracy", balanced)
            .with("macro_f1", macro_f1)
            .with("f1_per_class", MetricValue::Each(f1))
            .with("n_eval", weights.total(eval.n_items()))
            .with("metric", self.metric.name());
        if let Some(groups) = &eval.groups {
            let named = of_groups
                .iter()
                .map(|(&group, &accuracy)| (groups.names[group].clone(), accuracy));
            metrics.insert("accuracy_per_group", MetricValue::Each(named.collect()));
        }
        if eval.is_public {
            metrics.insert("eval_set", "public");
        }
        metrics
    }
}

/// The test set to score with.
///
/// # Errors
/// [`FrozenError::ForParticipants`] if there is none.
pub(super) fn scoring_eval_set(eval: Option<&EvalSet>) -> Result<&EvalSet, FrozenError> {
    eval.ok_or(FrozenError::ForParticipants { missing: "test set" })
}
