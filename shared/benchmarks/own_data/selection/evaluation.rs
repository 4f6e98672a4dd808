//! The frozen part of a board, the model's answers and the score.

use std::collections::HashMap;

use ndarray::Array2;

use super::{Checked, LabelSource, POOL, Parameters};
use crate::own_data::eval_set::scoring_eval_set;
use crate::own_data::table::{self, Examples, ID, LABEL, examples_file, features_file};
use crate::own_data::{EVAL, EvalSet, Scoring};
use dataperf::Scorecard;
use dataperf::dataset::{DatasetError, Files};
use dataperf::evidence::{EvalItems, Evidence, EvidenceError, UnitEvidence, Weights};
use dataperf::frozen::{FrozenError, ReadRows};
use dataperf_numerics::numbers::{Encoding, Stored};

/// What scoring keeps in memory for a board: the pool's ids and labels, and the eval set.
#[derive(Debug)]
pub struct Frozen {
    scoring: Scoring,
    labels: LabelSource,
    max_examples: usize,
    row_of: HashMap<String, u32>,
    /// The class of each row of the pool, where the pool has labels.
    pool_classes: Option<Vec<u8>>,
    encoding: Encoding,
    n_features: usize,
    eval: Option<EvalSet>,
}

impl Frozen {
    pub(super) async fn open(files: &Files<'_>, leaderboard: &str) -> Result<Self, DatasetError> {
        let manifest = files.manifest();
        let parameters: Parameters = manifest.parameters()?;
        let max_examples = parameters.board(leaderboard)?.max_examples;
        let (n_rows, n_features, encoding) = table::shape(manifest, POOL)?;
        let examples = Examples::read(files, POOL, n_rows).await?;
        let ids = examples.required(ID)?;
        let row_of: HashMap<String, u32> = ids.iter().cloned().zip(0..).collect();
        if row_of.len() != n_rows {
            return Err(FrozenError::damaged(&examples_file(POOL), "an id is there twice").into());
        }
        let scoring = parameters.scoring;
        let pool_classes = match parameters.labels {
            LabelSource::Pool => Some(examples.classes(LABEL, &scoring.classes)?),
            LabelSource::Submission => None,
        };
        let eval = EvalSet::open(files, &scoring).await?;
        if eval
            .as_ref()
            .is_some_and(|eval| eval.features.ncols() != n_features)
        {
            let why = format!("its rows have not {n_features} numbers, as the pool's have");
            return Err(FrozenError::damaged(&features_file(EVAL), why).into());
        }
        Ok(Self {
            scoring,
            labels: parameters.labels,
            max_examples,
            row_of,
            pool_classes,
            encoding,
            n_features,
            eval,
        })
    }

    pub(super) fn scoring(&self) -> &Scoring {
        &self.scoring
    }

    pub(super) fn labels(&self) -> LabelSource {
        self.labels
    }

    pub(super) fn max_examples(&self) -> usize {
        self.max_examples
    }

    pub(super) fn n_features(&self) -> usize {
        self.n_features
    }

    /// The ids of the pool.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.row_of.keys().map(String::as_str)
    }

    pub(super) fn row_of(&self, id: &str) -> Option<usize> {
        self.row_of.get(id).map(|&row| row as usize)
    }

    pub(super) fn pool_class(&self, row: usize) -> Option<usize> {
        self.pool_classes.as_ref().map(|classes| classes[row].into())
    }
}

/// What the model of each seed says of every item. `chosen` are the features of the checked rows.
pub(super) fn evidence(
    checked: &Checked,
    frozen: &Frozen,
    chosen: &ReadRows,
) -> Result<Evidence, FrozenError> {
    let damaged = |why: String| FrozenError::damaged(&features_file(POOL), why);
    let eval = scoring_eval_set(frozen.eval.as_ref())?;
    let scoring = &frozen.scoring;
    let mut numbers = Stored::with_capacity(frozen.encoding, checked.rows().len() * frozen.n_features);
    (0..chosen.len()).for_each(|idx| numbers.extend(chosen.row(idx)));
    let x = Array2::from_shape_vec((checked.rows().len(), frozen.n_features), numbers.view().to_f64());
    let x = x.map_err(|error| damaged(error.to_string()))?;
    let predicted = scoring
        .model
        .prepare(x.view(), eval.features.view())
        .and_then(|prepared| prepared.predict_seeds(checked.classes(), &scoring.seeds))
        .map_err(|error| damaged(error.to_string()))?;
    let unit = UnitEvidence::new(
        scoring.repeats(),
        eval.n_items(),
        scoring.classes.len(),
        predicted.concat(),
    );
    let unit = scoring.count_examples(unit, checked.classes());
    Ok(Evidence::of_unit(EVAL, unit))
}

pub(super) fn scorecard(
    frozen: &Frozen,
    evidence: &Evidence,
    weights: &Weights,
) -> Result<Scorecard, EvidenceError> {
    let scoring = &frozen.scoring;
    let eval = eval_set(frozen)?;
    let unit = eval.unit(evidence, scoring)?;
    let weights = weights.unit(EVAL, eval.n_items())?;
    let (score, mut metrics) = scoring.scored(eval, unit, weights);
    metrics.extend(scoring.counted_examples(unit)?);
    Ok(Scorecard { score, metrics })
}

fn eval_set(frozen: &Frozen) -> Result<&EvalSet, EvidenceError> {
    Ok(scoring_eval_set(frozen.eval.as_ref())?)
}

pub(super) fn eval_items(frozen: &Frozen) -> Result<Vec<(String, EvalItems<'_>)>, EvidenceError> {
    Ok(eval_set(frozen)?.items(&frozen.scoring))
}
