//! The score: the mean of the concepts' F1, with accuracy, precision and recall beside it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::Frozen;
use super::frozen::N_CLASSES;
use dataperf::Scorecard;
use dataperf::evidence::{EvalItems, Evidence, EvidenceError, Repeat, Weights};
use dataperf::frozen::FrozenError;
use dataperf_numerics::bootstrap::ItemMetric;
use dataperf_numerics::metrics::{ClassCounts, mean, weighted_accuracy};

/// The class of images that show the concept.
const POSITIVE: u8 = 1;
/// The name of the metric with the number of a concept's labelled images.
pub(super) const N_EXAMPLES: &str = "n_examples";
/// The name of the metric with the number of images that are labelled as showing the concept.
pub(super) const N_POSITIVE: &str = "n_positive";

pub(super) fn scorecard(
    frozen: &Frozen,
    evidence: &Evidence,
    weights: &Weights,
) -> Result<Scorecard, EvidenceError> {
    let mut of_concepts = Vec::new();
    let mut concepts = Map::new();
    let mut n_examples = 0;
    for (concept, truth) in frozen.tests()? {
        let unit = evidence.unit(concept, truth.len(), N_CLASSES)?;
        let weights = weights.unit(concept, truth.len())?;
        let predicted = unit.predicted(Repeat::Only)?;
        let positive = ClassCounts::of(truth, predicted, &POSITIVE, weights);
        of_concepts.push(positive.f1());
        n_examples += unit.count(N_EXAMPLES)?;
        let of_concept = json!({
            "f1": positive.f1(), "accuracy": weighted_accuracy(truth, predicted, weights),
            "precision": positive.precision(), "recall": positive.recall(),
            "n_examples": unit.count(N_EXAMPLES)?, "n_positive": unit.count(N_POSITIVE)?,
            "n_test": weights.total(truth.len()),
        });
        concepts.insert(concept.to_owned(), of_concept);
    }
    let score = mean(&of_concepts);
    let metrics = BTreeMap::from([
        ("concepts".to_owned(), Value::Object(concepts)),
        ("n_examples".to_owned(), json!(n_examples)),
    ]);
    Ok(Scorecard { score, metrics })
}

pub(super) fn eval_items(frozen: &Frozen) -> Result<Vec<(String, EvalItems<'_>)>, FrozenError> {
    let tests = frozen.tests()?;
    let items =
        tests.map(|(concept, truth)| (concept.to_owned(), EvalItems::of(truth, ItemMetric::F1(POSITIVE))));
    Ok(items.collect())
}
