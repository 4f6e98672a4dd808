//! The score: macro F1 on the whole eval set, averaged over the seeds.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::Frozen;
use dataperf::Scorecard;
use dataperf::evidence::{EvalItems, Evidence, EvidenceError, Repeat, Weights};
use dataperf::frozen::FrozenError;
use dataperf_numerics::bootstrap::ItemMetric;
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
    let f1_of: Map<String, Value> = names
        .zip(&of_classes)
        .map(|(name, f1)| (name.to_owned(), json!(f1)))
        .collect();
    let metrics = BTreeMap::from([
        ("seeds".to_owned(), json!(frozen.seeds())),
        ("per_seed".to_owned(), json!(per_seed)),
        ("std".to_owned(), json!(spread)),
        ("f1_per_class".to_owned(), Value::Object(f1_of)),
        ("n_clips".to_owned(), json!(unit.count(N_CLIPS)?)),
        ("n_nontargets".to_owned(), json!(unit.count(N_NONTARGETS)?)),
        ("n_eval".to_owned(), json!(weights.total(truth.len()))),
    ]);
    Ok(Scorecard { score, metrics })
}

pub(super) fn eval_items(frozen: &Frozen) -> Result<Vec<(String, EvalItems<'_>)>, FrozenError> {
    let items = EvalItems::of(&frozen.eval()?.classes, ItemMetric::MacroF1);
    Ok(vec![(frozen.language().to_owned(), items)])
}
