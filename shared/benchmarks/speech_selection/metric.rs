//! The score: macro F1 on the whole test set, averaged over the seeds.

use super::Frozen;
use dataperf::benchmark::scorecard::{MetricValue, Metrics, Scorecard};
use dataperf::evidence::{Evidence, EvidenceError, Repeat, Weights};
use dataperf_numerics::metrics::{class_counts, f1_of_counts, mean, mean_f1};

/// The name of the metric with the number of chosen clips.
pub(super) const N_CLIPS: &str = "n_clips";
/// The name of the metric with the number of chosen nontargets.
pub(super) const N_NONTARGETS: &str = "n_nontargets";

pub(super) fn scorecard(
    frozen: &Frozen,
    evidence: &Evidence,
    weights: &Weights,
) -> Result<Scorecard, EvidenceError> {
    let (language, truth) = (frozen.language(), &frozen.eval()?.classes[..]);
    let unit = evidence.unit(language, truth.len(), frozen.n_classes())?;
    let weights = weights.unit(language, truth.len())?;
    let mut per_seed = Vec::with_capacity(frozen.seeds().len());
    let mut of_classes = vec![0.0; frozen.n_classes()];
    for &seed in frozen.seeds() {
        let predicted = unit.predicted(Repeat::Seed(seed))?;
        let of_seed = f1_of_counts(&class_counts(truth, predicted, weights));
        per_seed.push(mean_f1(&of_seed));
        for (class, f1) in of_seed {
            of_classes[class] += f1 / frozen.seeds().len() as f64;
        }
    }
    let score = mean(&per_seed);
    let spread = mean(&per_seed.iter().map(|f1| (f1 - score).powi(2)).collect::<Vec<_>>()).sqrt();
    let names = std::iter::once("nontarget").chain(frozen.words().iter().map(String::as_str));
    let f1_of = names.zip(of_classes).map(|(name, f1)| (name.to_owned(), f1));
    let metrics = Metrics::new()
        .with("seeds", MetricValue::seeds(frozen.seeds()))
        .with("per_seed", MetricValue::Trials(per_seed))
        .with("std", spread)
        .with("f1_per_class", MetricValue::Each(f1_of.collect()))
        .with(N_CLIPS, unit.count(N_CLIPS)?)
        .with(N_NONTARGETS, unit.count(N_NONTARGETS)?)
        .with("n_eval", weights.total(truth.len()));
    Ok(Scorecard { score, metrics })
}
