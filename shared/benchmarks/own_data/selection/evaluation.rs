//! The model's predictions and the score.

use ndarray::Array2;

use super::{Checked, Frozen, POOL};
use crate::own_data::eval_set::scoring_eval_set;
use crate::own_data::scoring::not_fitted;
use crate::own_data::table::features_file;
use crate::own_data::{EVAL, EvalSet};
use dataperf::Scorecard;
use dataperf::benchmark::NotScored;
use dataperf::dataset::frozen::{FrozenError, ReadRows};
use dataperf::evidence::{Evidence, EvidenceError, UnitEvidence, Weights};
use dataperf_numerics::numbers::Stored;

/// The predicted class of every item by the model of each seed. `chosen` are the features of the checked rows.
pub(super) fn evidence(checked: &Checked, frozen: &Frozen, chosen: &ReadRows) -> Result<Evidence, NotScored> {
    let path = features_file(POOL);
    let eval = scoring_eval_set(frozen.eval.as_ref())?;
    let scoring = &frozen.scoring;
    let mut numbers = Stored::with_capacity(frozen.encoding, checked.rows().len() * frozen.n_features);
    (0..chosen.len()).for_each(|idx| numbers.extend(chosen.row(idx)));
    let x = Array2::from_shape_vec((checked.rows().len(), frozen.n_features), numbers.view().to_f64());
    let x = x.map_err(|error| FrozenError::damaged(&path, error.to_string()))?;
    let predicted = scoring
        .model
        .prepare(x.view(), eval.features.view())
        .and_then(|prepared| prepared.predict_seeds(checked.classes(), &scoring.seeds))
        .map_err(|error| not_fitted(&error, &path))?;
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
