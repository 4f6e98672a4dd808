//! The score: how soon 95 % of the cleaned set's accuracy is reached, as the mean over the tasks.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Checked, Frozen};
use crate::metrics::mean;
use crate::verdict::Scorecard;

/// How the accuracy on one task's test images grows with the fixes.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Before any fix.
    pub before: f64,
    /// When every label is right.
    pub after: f64,
    /// After each fix; ends with the step that reaches the target when no more was asked for.
    pub accuracy: Vec<f64>,
    /// What has to be reached, in rounded accuracy.
    pub target: f64,
    /// The first step that reaches it, counted from 0.
    pub first: usize,
}

impl Curve {
    pub(super) fn new(before: f64, after: f64, accuracy: Vec<f64>, target_share: f64) -> Self {
        let first = accuracy
            .iter()
            .position(|&step| reaches(step, after, target_share));
        Self {
            before,
            after,
            target: target_share * rounded(after),
            // the last step has every label right and reaches any share of its own accuracy
            first: first.unwrap_or(accuracy.len().saturating_sub(1)),
            accuracy,
        }
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

/// `curves`: each task's.
pub(super) fn scorecard(checked: &Checked, frozen: &Frozen, curves: &[Curve]) -> Scorecard {
    let n_images: Vec<usize> = checked.tasks().iter().map(|task| task.order.len()).collect();
    let fractions: Vec<f64> = curves
        .iter()
        .zip(&n_images)
        .map(|(curve, &n_images)| curve.first as f64 / n_images as f64)
        .collect();
    let score = mean(&fractions);
    let named = frozen.tasks().enumerate().zip(checked.tasks());
    let tasks: Map<String, Value> = named
        .map(|((task_idx, name), inspection)| {
            let curve = &curves[task_idx];
            let mut of_task = json!({
                "fraction_of_fixes": fractions[task_idx], "first_step": curve.first,
                "accuracy_before": curve.before, "accuracy_after": curve.after, "target": curve.target,
                "accuracy": curve.accuracy, "n_images": n_images[task_idx],
                "n_wrong": frozen.n_wrong(task_idx), "n_test": frozen.n_tests(task_idx),
            });
            if let Some(seconds) = inspection.seconds {
                of_task["method_seconds"] = json!(seconds);
            }
            (name.to_owned(), of_task)
        })
        .collect();
    let metrics = BTreeMap::from([
        ("percent_of_fixes".to_owned(), json!(score * 100.0)),
        ("target_share".to_owned(), json!(frozen.target_share())),
        ("tasks".to_owned(), Value::Object(tasks)),
    ]);
    Scorecard { score, metrics }
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
        let curve = Curve::new(0.5, 0.8, vec![0.5, 0.76, 0.6, 0.8], 0.95);
        assert_eq!(
            (curve.first, curve.target.to_bits()),
            (1, f64::to_bits(0.95 * 0.8))
        );
        // 0.756 is below the target and its two decimals are not
        assert_eq!(Curve::new(0.5, 0.8, vec![0.754, 0.756, 0.8], 0.95).first, 1);
        assert_eq!(Curve::new(0.0, 0.0, vec![0.0, 0.0], 0.95).first, 0);
    }
}
