//! The score: the mean over markets of the mean accuracy over trials.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::Frozen;
use super::model::N_CLASSES;
use dataperf::Scorecard;
use dataperf::evidence::{
    Draws, EvalItems, Evidence, EvidenceError, Repeat, Weights, mean_over_trials, per_lane,
};
use dataperf_numerics::bootstrap::{Answers, ItemMetric};
use dataperf_numerics::metrics::{mean, weighted_accuracy};

/// What the samples of a market cost.
pub(super) const COST: &str = "cost";
/// How many samples of a market are bought.
pub(super) const N_BOUGHT: &str = "n_bought";

pub(super) fn scorecard(
    frozen: &Frozen,
    evidence: &Evidence,
    weights: &Weights,
) -> Result<Scorecard, EvidenceError> {
    let mut accuracies = Vec::new();
    let mut markets = Map::new();
    for (&number, market) in frozen.markets() {
        let (name, truth) = (number.to_string(), frozen.buyer_labels(number));
        let unit = evidence.unit(&name, truth.len(), N_CLASSES)?;
        let weights = weights.unit(&name, truth.len())?;
        let mut per_trial = Vec::with_capacity(frozen.n_trials());
        for trial in 0..frozen.n_trials() {
            let predicted = unit.predicted(Repeat::Trial(trial as u32))?;
            per_trial.push(weighted_accuracy(truth, predicted, weights));
        }
        let accuracy = mean(&per_trial);
        let squares: Vec<f64> = per_trial
            .iter()
            .map(|of_trial| (of_trial - accuracy).powi(2))
            .collect();
        let of_market = json!({
            "accuracy": accuracy, "per_trial": per_trial, "std": mean(&squares).sqrt(), "cost": unit.amount(COST)?,
            "budget": market.budget, "n_bought": unit.count(N_BOUGHT)?,
        });
        accuracies.push(accuracy);
        markets.insert(name, of_market);
    }
    let metrics = BTreeMap::from([
        ("markets".to_owned(), Value::Object(markets)),
        ("buyer_model".to_owned(), json!(frozen.buyer_model())),
    ]);
    Ok(Scorecard {
        score: mean(&accuracies),
        metrics,
    })
}

pub(super) fn eval_items(frozen: &Frozen) -> Vec<(String, EvalItems<'_>)> {
    let markets = frozen.markets().keys();
    markets
        .map(|&number| (number.to_string(), EvalItems::of(frozen.buyer_labels(number))))
        .collect()
}

/// Draws of the buyers' items, and of the trials.
pub(super) fn replicates(
    frozen: &Frozen,
    evidence: &Evidence,
    draws: &Draws,
) -> Result<Vec<f64>, EvidenceError> {
    let mut markets = Vec::new();
    for &number in frozen.markets().keys() {
        let (name, truth) = (number.to_string(), frozen.buyer_labels(number));
        let unit = evidence.unit(&name, truth.len(), N_CLASSES)?;
        let trials = draws.trials(&name, unit.repeats().len())?;
        let answers = Answers::new(ItemMetric::Accuracy, truth, unit.each_repeat());
        markets.push((name, answers, trials));
    }
    draws.scores(|batch| {
        let mut of_markets = Vec::new();
        for (name, answers, trials) in &markets {
            let weights = draws.batch(name, batch)?;
            of_markets.push(mean_over_trials(answers, (batch, &weights), trials));
        }
        Ok(per_lane(|lane| {
            mean(
                &of_markets
                    .iter()
                    .map(|accuracy| accuracy[lane])
                    .collect::<Vec<_>>(),
            )
        }))
    })
}
