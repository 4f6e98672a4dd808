//! The score: the mean over markets of the mean accuracy over trials.

use std::collections::BTreeMap;

use super::Frozen;
use super::frozen::N_CLASSES;
use dataperf::benchmark::scorecard::{MetricValue, Metrics, Scorecard};
use dataperf::evidence::{Evidence, EvidenceError, Repeat, Weights};
use dataperf_numerics::metrics::{mean, weighted_accuracy};

/// The name of the metric with the cost of a market's samples.
pub(super) const COST: &str = "cost";
/// The name of the metric with the number of samples that are bought in a market.
pub(super) const N_BOUGHT: &str = "n_bought";

pub(super) fn scorecard(
    frozen: &Frozen,
    evidence: &Evidence,
    weights: &Weights,
) -> Result<Scorecard, EvidenceError> {
    let mut accuracies = Vec::new();
    let mut markets = BTreeMap::new();
    for (&number, market) in frozen.markets() {
        let (name, truth) = (number.to_string(), frozen.buyer_labels(number)?);
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
        let of_market = Metrics::new()
            .with("accuracy", accuracy)
            .with("per_trial", MetricValue::Trials(per_trial))
            .with("std", mean(&squares).sqrt())
            .with(COST, unit.amount(COST)?)
            .with("budget", market.budget)
            .with(N_BOUGHT, unit.count(N_BOUGHT)?);
        accuracies.push(accuracy);
        markets.insert(name, of_market);
    }
    let metrics = Metrics::new()
        .with("markets", MetricValue::Table(markets))
        .with("buyer_model", frozen.buyer_model().name());
    Ok(Scorecard {
        score: mean(&accuracies),
        metrics,
    })
}
