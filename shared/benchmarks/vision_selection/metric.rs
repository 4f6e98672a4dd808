//! The score: the mean of the concepts' F1, with accuracy, precision and recall as further metrics.

use std::collections::BTreeMap;

use super::Frozen;
use super::frozen::{N_CLASSES, POSITIVE};
use dataperf::benchmark::scorecard::{MetricValue, Metrics, Scorecard};
use dataperf::evidence::{Evidence, EvidenceError, Repeat, Weights};
use dataperf_numerics::metrics::{ClassCounts, mean, weighted_accuracy};

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
    let mut concepts = BTreeMap::new();
    let mut n_examples = 0;
    for (concept, truth) in frozen.tests()? {
        let unit = evidence.unit(concept, truth.len(), N_CLASSES)?;
        let weights = weights.unit(concept, truth.len())?;
        let predicted = unit.predicted(Repeat::Only)?;
        let positive = ClassCounts::new(truth, predicted, &POSITIVE, weights);
        of_concepts.push(positive.f1());
        n_examples += unit.count(N_EXAMPLES)?;
        let of_concept = Metrics::new()
            .with("f1", positive.f1())
            .with("accuracy", weighted_accuracy(truth, predicted, weights))
            .with("precision", positive.precision())
            .with("recall", positive.recall())
            .with(N_EXAMPLES, unit.count(N_EXAMPLES)?)
            .with(N_POSITIVE, unit.count(N_POSITIVE)?)
            .with("n_test", weights.total(truth.len()));
        concepts.insert(concept.to_owned(), of_concept);
    }
    let score = mean(&of_concepts);
    let metrics = Metrics::new()
        .with("concepts", MetricValue::Table(concepts))
        .with(N_EXAMPLES, n_examples);
    Ok(Scorecard { score, metrics })
}
