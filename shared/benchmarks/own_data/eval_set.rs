//! The eval set: what the model of a submission is asked for, and the labels that its answers are compared with.

use std::collections::{BTreeMap, BTreeSet};

use ndarray::Array2;

use super::scoring::{ScoreMetric, Scoring};
use super::table::{Examples, LABEL, features, features_file};
use dataperf::dataset::{DatasetError, Files};
use dataperf::evidence::{EvalItems, Evidence, EvidenceError, UnitEvidence};
use dataperf::frozen::{FrozenError, Manifest};

/// The hidden eval set's table; also the name of the one unit of evidence.
pub const EVAL: &str = "eval";
/// The table of the eval set that participants may have.
pub const PUBLIC_EVAL: &str = "public/eval";
const GROUP: &str = "group";
const CLUSTER: &str = "cluster";

/// The rows to predict and what is right.
#[derive(Debug)]
pub struct EvalSet {
    /// `(n_items, n_features)`
    pub features: Array2<f64>,
    /// `(n_items,)` class numbers.
    pub truth: Vec<u8>,
    /// The items' groups, where the data set has some.
    pub groups: Option<Grouping>,
    /// What depends on each other among the items, such as the recordings of one speaker, where the data set says so.
    pub clusters: Option<Grouping>,
    /// Whether it is the one that participants may have.
    pub is_public: bool,
}

/// A partition of the items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grouping {
    /// The parts' names, ascending.
    pub names: Vec<String>,
    /// The part of each item, `(n_items,)`.
    pub of_items: Vec<usize>,
}

impl Grouping {
    fn of(column: &[String]) -> Self {
        let names: BTreeSet<&String> = column.iter().collect();
        let number_of: BTreeMap<&String, usize> = names.iter().copied().zip(0..).collect();
        Self {
            of_items: column.iter().map(|name| number_of[name]).collect(),
            names: names.into_iter().cloned().collect(),
        }
    }
}

impl EvalSet {
    /// The table of the eval set that a data set is scored with: the hidden one, or in what participants have the public one.
    pub fn table_in(manifest: &Manifest) -> Option<&'static str> {
        [EVAL, PUBLIC_EVAL]
            .into_iter()
            .find(|table| manifest.files.contains_key(&features_file(table)))
    }

    /// The eval set of a data set; `None` where participants have none.
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

    /// The eval set of a table whose features have been read.
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
            groups: examples.column(GROUP).map(Grouping::of),
            clusters: examples.column(CLUSTER).map(Grouping::of),
            features,
            is_public: table == PUBLIC_EVAL,
        })
    }

    /// The number of items.
    pub fn n_items(&self) -> usize {
        self.truth.len()
    }

    /// The items, as they are drawn: within groups where the score is that of the worst one.
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

    /// The unit of evidence, if it is of this eval set.
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

/// The eval set, where there is one to score with.
///
/// # Errors
/// [`FrozenError::ForParticipants`].
pub(super) fn scoring_eval_set(eval: Option<&EvalSet>) -> Result<&EvalSet, FrozenError> {
    eval.ok_or(FrozenError::ForParticipants { missing: "eval set" })
}
