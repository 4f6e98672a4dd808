//! The predictions of each trial's model, and the score.

use ndarray::Array2;
use rayon::prelude::*;

use super::frozen::Hidden;
use super::{Checked, Frozen, SELLERS};
use crate::own_data::EVAL;
use crate::own_data::scoring::not_fitted;
use crate::own_data::table::features_file;
use dataperf::Scorecard;
use dataperf::benchmark::NotScored;
use dataperf::dataset::frozen::{FrozenError, ReadRows};
use dataperf::evidence::{Evidence, EvidenceError, Repeats, UnitEvidence, Weights};
use dataperf_numerics::numbers::Stored;

const COST: &str = "cost";
const N_BOUGHT: &str = "n_bought";

/// The predicted class of every item by the model of each trial. `read` are the rows of [`Checked::rows`].
pub(super) fn evidence(checked: &Checked, frozen: &Frozen, read: &ReadRows) -> Result<Evidence, NotScored> {
    let Hidden {
        encoding,
        n_features,
        classes,
        eval,
    } = frozen.hidden()?;
    let scoring = &frozen.parameters.scoring;
    let seed = scoring.seeds.first().copied().unwrap_or(0);
    let trial = |rows: &Vec<u32>| {
        let mut numbers = Stored::with_capacity(*encoding, rows.len() * n_features);
        for row in rows {
            numbers.extend(read.row(checked.rows.partition_point(|known| known < row)));
        }
        let path = features_file(SELLERS);
        let x = Array2::from_shape_vec((rows.len(), *n_features), numbers.view().to_f64());
        let x = x.map_err(|error| FrozenError::damaged(&path, error.to_string()))?;
        let of_rows: Vec<usize> = rows.iter().map(|&row| classes[row as usize].into()).collect();
        let prepared = scoring.model.prepare(x.view(), eval.features.view());
        let predicted = prepared.and_then(|prepared| prepared.predict(&of_rows, seed));
        predicted.map_err(|error| not_fitted(&error, &path))
    };
    let predicted = checked
        .trials
        .par_iter()
        .map(trial)
        .collect::<Result<Vec<_>, _>>()?;
    let trials = Repeats::Trials(checked.trials.len() as u32);
    let unit = UnitEvidence::new(trials, eval.n_items(), scoring.classes.len(), predicted.concat())
        .with_count(N_BOUGHT, checked.trials.first().map_or(0, Vec::len))
        .with_amount(COST, checked.cost);
    Ok(Evidence::of_unit(EVAL, unit))
}

pub(super) fn scorecard(
    frozen: &Frozen,
    evidence: &Evidence,
    weights: &Weights,
) -> Result<Scorecard, EvidenceError> {
    let hidden = hidden(frozen)?;
    let scoring = &frozen.parameters.scoring;
    let unit = hidden.eval.unit(evidence, scoring)?;
    let item_weights = weights.unit(EVAL, hidden.eval.n_items())?;
    let (score, mut metrics) = scoring.scored(&hidden.eval, unit, item_weights);
    metrics.insert(COST, unit.amount(COST)?);
    metrics.insert("budget", frozen.parameters.budget);
    metrics.insert(N_BOUGHT, unit.count(N_BOUGHT)?);
    Ok(Scorecard { score, metrics })
}

fn hidden(frozen: &Frozen) -> Result<&Hidden, EvidenceError> {
    Ok(frozen.hidden()?)
}
