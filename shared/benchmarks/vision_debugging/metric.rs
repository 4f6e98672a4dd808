//! The score: how soon 95 % of the cleaned set's accuracy is reached, as the mean over the tasks.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::model::N_CLASSES;
use super::{Extent, Frozen};
use dataperf::Scorecard;
use dataperf::evidence::{Evidence, EvidenceError, Fixes, UnitEvidence, Weights};
use dataperf_numerics::metrics::{ItemWeights, mean, weighted_accuracy};

/// How long the method took, where the submitter says.
pub(super) const METHOD_SECONDS: &str = "method_seconds";

/// How the accuracy on one task's test images grows with the fixes.
#[derive(Debug, Clone, PartialEq)]
struct Curve {
    /// Before any fix.
    before: f64,
    /// When every label is right.
    after: f64,
    /// After each fix; ends with the step that reaches the target when no more was asked for.
    accuracy: Vec<f64>,
    /// What has to be reached, in rounded accuracy.
    target: f64,
    /// The first step that reaches it, counted from 0.
    first: usize,
}

impl Curve {
    /// `accuracy`: after each fix as far as it is known. `None` when no known step reaches the target.
    fn new(before: f64, after: f64, accuracy: Vec<f64>, target_share: f64) -> Option<Self> {
        let first = accuracy
            .iter()
            .position(|&step| reaches(step, after, target_share))?;
        Some(Self {
            before,
            after,
            target: target_share * rounded(after),
            first,
            accuracy,
        })
    }

    /// The curve of one task of `n_images`.
    fn of(
        unit: &UnitEvidence,
        truth: &[u8],
        weights: ItemWeights<'_>,
        n_images: usize,
        target_share: f64,
    ) -> Result<Option<Self>, EvidenceError> {
        let fixes = unit.repeats().fixes()?;
        let models = unit
            .each_repeat()
            .map(|predicted| weighted_accuracy(truth, predicted, weights));
        let of_models: Vec<f64> = models.collect();
        let accuracy = models_of_steps(fixes, n_images)
            .map(|model| of_models[model])
            .collect();
        let (before, after) = (of_models[0], of_models[of_models.len() - 1]);
        Ok(Self::new(before, after, accuracy, target_share))
    }
}

/// The model of each step from the first, as far as they are known.
fn models_of_steps(fixes: &Fixes, n_images: usize) -> impl Iterator<Item = usize> {
    (1..=n_images).map_while(|n_fixes| fixes.model_after(n_fixes as u32))
}

/// The target is reached later than the models are known.
fn cut_off(task: &str, fixes: &Fixes) -> EvidenceError {
    EvidenceError::CutOff {
        unit: task.to_owned(),
        n_known: fixes.n_known as usize,
    }
}

/// Whether an accuracy is the share of the cleaned set's, both rounded to two decimals, which is part of the score.
pub(super) fn reaches(accuracy: f64, after: f64, target_share: f64) -> bool {
    rounded(accuracy) >= target_share * rounded(after)
}

/// Rounds to two decimals by the exact value of the float, ties to even, as Python does.
fn rounded(accuracy: f64) -> f64 {
    format!("{accuracy:.2}").parse().unwrap_or(accuracy)
}

pub(super) fn scorecard(
    frozen: &Frozen,
    evidence: &Evidence,
    weights: &Weights,
) -> Result<Scorecard, EvidenceError> {
    let mut fractions = Vec::new();
    let mut tasks = Map::new();
    for (task_idx, name) in frozen.tasks().enumerate() {
        let (truth, n_images) = (frozen.test_labels(task_idx), frozen.n_images(task_idx));
        let unit = evidence.unit(name, truth.len(), N_CLASSES)?;
        let weights = weights.unit(name, truth.len())?;
        let curve = Curve::of(unit, truth, weights, n_images, frozen.target_share())?;
        let fixes = unit.repeats().fixes()?;
        let mut curve = curve.ok_or_else(|| cut_off(name, fixes))?;
        if frozen.extent() == Extent::UntilTarget {
            curve.accuracy.truncate(curve.first + 1);
        }
        let fraction = curve.first as f64 / n_images as f64;
        let mut of_task = json!({
            "fraction_of_fixes": fraction, "first_step": curve.first,
            "accuracy_before": curve.before, "accuracy_after": curve.after, "target": curve.target,
            "accuracy": curve.accuracy, "n_images": n_images,
            "n_wrong": frozen.n_wrong(task_idx), "n_test": weights.total(truth.len()),
        });
        if unit.facts().contains_key(METHOD_SECONDS) {
            of_task[METHOD_SECONDS] = json!(unit.amount(METHOD_SECONDS)?);
        }
        fractions.push(fraction);
        tasks.insert(name.to_owned(), of_task);
    }
    let score = mean(&fractions);
    let metrics = BTreeMap::from([
        ("percent_of_fixes".to_owned(), json!(score * 100.0)),
        ("target_share".to_owned(), json!(frozen.target_share())),
        ("tasks".to_owned(), Value::Object(tasks)),
    ]);
    Ok(Scorecard { score, metrics })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_pythons() {
        // round(x, 2) of Python 3.11
        for (exact, two_decimals) in [
            (0.845, 0.84),
            (0.855, 0.85),
            (0.125, 0.12),
            (0.375, 0.38),
            (0.675, 0.68),
            (0.995, 0.99),
            (0.842, 0.84),
            (0.846, 0.85),
            (1.0, 1.0),
            (0.0, 0.0),
        ] {
            assert_eq!(rounded(exact).to_bits(), f64::to_bits(two_decimals), "{exact}");
        }
    }

    #[test]
    fn the_first_step_at_the_target_counts_even_if_later_ones_fall_back() {
        let curve = Curve::new(0.5, 0.8, vec![0.5, 0.76, 0.6, 0.8], 0.95).expect("the target is reached");
        assert_eq!(
            (curve.first, curve.target.to_bits()),
            (1, f64::to_bits(0.95 * 0.8))
        );
        let first = |after, accuracy| Curve::new(0.5, after, accuracy, 0.95).map(|curve| curve.first);
        // 0.756 is below the target and its two decimals are not
        assert_eq!(first(0.8, vec![0.754, 0.756, 0.8]), Some(1));
        assert_eq!(first(0.0, vec![0.0, 0.0]), Some(0));
        // a curve that was cut before it gets there
        assert_eq!(first(0.8, vec![0.5, 0.6]), None);
    }
}
