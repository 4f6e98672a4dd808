//! The frozen part of a market, what the model of each trial answers and the score.

use ndarray::Array2;
use rayon::prelude::*;
use serde_json::json;

use super::{Checked, Parameters, SELLERS};
use crate::data_acquisition::market::{Market, Seller};
use crate::own_data::table::{self, Examples, LABEL, features_file};
use crate::own_data::{EVAL, EvalSet};
use dataperf::Scorecard;
use dataperf::dataset::{DatasetError, Files};
use dataperf::evidence::{EvalItems, Evidence, EvidenceError, Repeats, UnitEvidence, Weights};
use dataperf::frozen::{FrozenError, ReadRows};
use dataperf_numerics::learner::FitError;
use dataperf_numerics::numbers::{Encoding, Stored};

const COST: &str = "cost";
const N_BOUGHT: &str = "n_bought";

/// What scoring keeps in memory: the sellers' labels and the eval set.
#[derive(Debug)]
pub struct Frozen {
    parameters: Parameters,
    market: Market,
    data: Option<Hidden>,
}

/// What participants don't have.
#[derive(Debug)]
pub(super) struct Hidden {
    encoding: Encoding,
    n_features: usize,
    /// The class of each row of all sellers.
    classes: Vec<u8>,
    eval: EvalSet,
}

impl Frozen {
    pub(super) async fn open(files: &Files<'_>) -> Result<Self, DatasetError> {
        let parameters: Parameters = files.manifest().parameters()?;
        let sellers = parameters.sellers.iter().map(|seller| Seller {
            n_rows: seller.n_rows,
            max_price: seller.price,
        });
        let market = Market {
            budget: parameters.budget,
            n_decimals: None,
            sellers: sellers.collect(),
        };
        let data = if files.has(&features_file(SELLERS)) {
            Some(Hidden::open(files, &parameters).await?)
        } else {
            None
        };
        Ok(Self {
            parameters,
            market,
            data,
        })
    }

    pub(super) fn market(&self) -> &Market {
        &self.market
    }

    pub(super) fn seller_names(&self) -> impl Iterator<Item = &str> {
        self.parameters.sellers.iter().map(|seller| seller.name.as_str())
    }

    pub(super) fn seller_of(&self, name: &str) -> Option<usize> {
        self.parameters
            .sellers
            .iter()
            .position(|seller| seller.name == name)
    }

    pub(super) fn seed(&self) -> u32 {
        self.parameters.seed
    }

    pub(super) fn n_trials(&self) -> usize {
        self.parameters.n_trials
    }

    /// Whether the model can be trained on so many rows. What participants have does not say how wide a row is, and no model
    /// has a limit to that.
    pub(super) fn check_size(&self, n_rows: usize) -> Result<(), FitError> {
        let scoring = &self.parameters.scoring;
        let n_features = self.data.as_ref().map_or(1, |data| data.n_features);
        scoring.model.check(n_rows, n_features, scoring.classes.len())
    }

    pub(super) fn hidden(&self) -> Result<&Hidden, FrozenError> {
        self.data.as_ref().ok_or(FrozenError::ForParticipants {
            missing: "sellers' rows",
        })
    }
}

impl Hidden {
    async fn open(files: &Files<'_>, parameters: &Parameters) -> Result<Self, DatasetError> {
        let path = features_file(SELLERS);
        let (n_rows, n_features, encoding) = table::shape(files.manifest(), SELLERS)?;
        let n_of_sellers: usize = parameters.sellers.iter().map(|seller| seller.n_rows).sum();
        if n_rows != n_of_sellers || u32::try_from(n_rows).is_err() {
            let why = format!("it has {n_rows} rows, and the sellers have {n_of_sellers}");
            return Err(FrozenError::damaged(&path, why).into());
        }
        let examples = Examples::read(files, SELLERS, n_rows).await?;
        let classes = examples.classes(LABEL, &parameters.scoring.classes)?;
        let eval = EvalSet::open(files, &parameters.scoring).await?;
        let eval = eval.filter(|eval| eval.features.ncols() == n_features);
        let eval = eval.ok_or_else(|| {
            FrozenError::damaged(
                &features_file(EVAL),
                "it is missing or its rows are of another width than the sellers'",
            )
        })?;
        Ok(Self {
            encoding,
            n_features,
            classes,
            eval,
        })
    }
}

/// What the model of each trial says of every item. `read` are the rows of [`Checked::rows`].
pub(super) fn evidence(checked: &Checked, frozen: &Frozen, read: &ReadRows) -> Result<Evidence, FrozenError> {
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
        let damaged = |why: String| FrozenError::damaged(&features_file(SELLERS), why);
        let x = Array2::from_shape_vec((rows.len(), *n_features), numbers.view().to_f64());
        let x = x.map_err(|error| damaged(error.to_string()))?;
        let of_rows: Vec<usize> = rows.iter().map(|&row| classes[row as usize].into()).collect();
        let prepared = scoring.model.prepare(x.view(), eval.features.view());
        let predicted = prepared.and_then(|prepared| prepared.predict(&of_rows, seed));
        predicted.map_err(|error| damaged(error.to_string()))
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
    metrics.insert(COST.to_owned(), json!(unit.amount(COST)?));
    metrics.insert("budget".to_owned(), json!(frozen.parameters.budget));
    metrics.insert(N_BOUGHT.to_owned(), json!(unit.count(N_BOUGHT)?));
    Ok(Scorecard { score, metrics })
}

fn hidden(frozen: &Frozen) -> Result<&Hidden, EvidenceError> {
    Ok(frozen.hidden()?)
}

pub(super) fn eval_items(frozen: &Frozen) -> Result<Vec<(String, EvalItems<'_>)>, EvidenceError> {
    Ok(hidden(frozen)?.eval.items(&frozen.parameters.scoring))
}
