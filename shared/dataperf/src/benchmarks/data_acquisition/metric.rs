//! The score: the mean over markets of the mean accuracy over trials.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Checked, Frozen};
use crate::metrics::mean;
use crate::verdict::Scorecard;

/// `outcomes`: each market's accuracy in each trial.
pub(super) fn scorecard(checked: &Checked, frozen: &Frozen, outcomes: &[Vec<f64>]) -> Scorecard {
    let accuracies: Vec<f64> = outcomes.iter().map(|per_trial| mean(per_trial)).collect();
    let markets: Map<String, Value> = checked
        .markets()
        .iter()
        .zip(outcomes)
        .zip(&accuracies)
        .map(|((bought, per_trial), accuracy)| {
            let squares: Vec<f64> = per_trial.iter().map(|of_trial| (of_trial - accuracy).powi(2)).collect();
            let of_market = json!({
                "accuracy": accuracy, "per_trial": per_trial, "std": mean(&squares).sqrt(), "cost": bought.cost,
                "budget": frozen.markets()[&bought.market].budget, "n_bought": bought.trials[0].len(),
            });
            (bought.market.to_string(), of_market)
        })
        .collect();
    let metrics = BTreeMap::from([
        ("markets".to_owned(), Value::Object(markets)),
        ("buyer_model".to_owned(), json!(frozen.buyer_model())),
    ]);
    Scorecard {
        score: mean(&accuracies),
        metrics,
    }
}
