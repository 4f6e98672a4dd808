//! The score: the mean of the concepts' F1, with accuracy, precision and recall beside it.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Checked, Frozen};
use crate::metrics::{accuracy, binary_f1, mean, precision, recall};
use crate::verdict::Scorecard;

/// How one concept's classifier does on its test set; "positive" is an image that shows the concept.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Measures {
    /// F1 of the positive images.
    pub f1: f64,
    /// The share of images told rightly.
    pub accuracy: f64,
    /// The share of images called positive that are.
    pub precision: f64,
    /// The share of positive images called so.
    pub recall: f64,
}

impl Measures {
    pub(super) fn of(truth: &[usize], predicted: &[usize]) -> Self {
        Self {
            f1: binary_f1(truth, predicted, &1),
            accuracy: accuracy(truth, predicted),
            precision: precision(truth, predicted, &1),
            recall: recall(truth, predicted, &1),
        }
    }
}

pub(super) fn scorecard(checked: &Checked, frozen: &Frozen, measures: &[Measures]) -> Scorecard {
    let of_concepts: Vec<f64> = measures.iter().map(|of_concept| of_concept.f1).collect();
    let score = mean(&of_concepts);
    let named = frozen
        .concepts()
        .iter()
        .zip(measures)
        .zip(checked.concepts())
        .zip(frozen.n_tests());
    let concepts: Map<String, Value> = named
        .map(|(((concept, measures), chosen), n_test)| {
            let n_positive: usize = chosen.labels.iter().sum();
            let of_concept = json!({
                "f1": measures.f1, "accuracy": measures.accuracy, "precision": measures.precision,
                "recall": measures.recall, "n_examples": chosen.labels.len(), "n_positive": n_positive, "n_test": n_test,
            });
            (concept.clone(), of_concept)
        })
        .collect();
    let n_examples: usize = checked.concepts().iter().map(|chosen| chosen.labels.len()).sum();
    let metrics = BTreeMap::from([
        ("concepts".to_owned(), Value::Object(concepts)),
        ("n_examples".to_owned(), json!(n_examples)),
    ]);
    Scorecard { score, metrics }
}
