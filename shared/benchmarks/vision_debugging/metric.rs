//! The score: the mean over the tasks of the fraction of fixes after which 95 % of the cleaned set's accuracy is reached.

use std::collections::BTreeMap;

use super::frozen::N_CLASSES;
use super::{Extent, Frozen};
use dataperf::benchmark::scorecard::{MetricValue, Metrics, Scorecard};
use dataperf::evidence::{
    Draws, Evidence, EvidenceError, Fixes, OnCurves, Target, UnitEvidence, Weights, per_lane, shown_area,
};
use dataperf_numerics::bootstrap::{Batch, Course, LANES, draws_of};
use dataperf_numerics::metrics::{ItemWeights, mean, weighted_accuracy};

/// The name of the metric with the seconds that the method took, if the submitter says it.
pub(super) const METHOD_SECONDS: &str = "method_seconds";

/// The accuracy on one task's test images as labels are fixed.
#[derive(Debug, Clone, PartialEq)]
struct Curve {
    /// The accuracy before any fix.
    before: f64,
    /// The accuracy with every label right.
    after: f64,
    /// The accuracy after each fix. The last one belongs to the step that reaches the target, if no
    /// more was computed.
    accuracy: Vec<f64>,
    /// The area under the whole curve.
    area: f64,
    /// The accuracy that has to be reached; accuracies are rounded before they are compared with it.
    target: f64,
    /// The first step that reaches it, counted from 0.
    first: usize,
}

impl Curve {
    /// `accuracy`: after each fix as far as it is known. `None` when no known step reaches the target.
    fn new(before: f64, after: f64, accuracy: Vec<f64>, area: f64, target_share: f64) -> Option<Self> {
        let first = accuracy
            .iter()
            .position(|&step| reaches(step, after, target_share))?;
        Some(Self {
            before,
            after,
            target: target_share * rounded(after),
            first,
            accuracy,
            area,
        })
    }

    /// The curve of one task with `n_images` training images.
    fn from_evidence(
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
        let area = fixes.area(of_models);
        Ok(Self::new(before, after, accuracy, area, target_share))
    }
}

/// The model after each fix, from the first, as far as models are known.
fn models_of_steps(fixes: &Fixes, n_images: usize) -> impl Iterator<Item = usize> {
    (1..=n_images).map_while(|n_fixes| fixes.model_after(n_fixes as u32))
}

/// The error for evidence whose known models end before the target is reached.
fn cut_off(task: &str, fixes: &Fixes) -> EvidenceError {
    EvidenceError::CutOff {
        unit: task.to_owned(),
        n_known: fixes.n_known as usize,
    }
}

/// Whether an accuracy is at least the share of the cleaned set's accuracy. Both are rounded to two decimals first, which is part
/// of the score.
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
    let (mut fractions, mut areas, mut n_items) = (Vec::new(), Vec::new(), 0);
    let mut tasks = BTreeMap::new();
    for (task_idx, name) in frozen.tasks().enumerate() {
        let (truth, n_images) = (frozen.test_labels(task_idx)?, frozen.n_images(task_idx));
        let unit = evidence.unit(name, truth.len(), N_CLASSES)?;
        let weights = weights.unit(name, truth.len())?;
        let curve = Curve::from_evidence(unit, truth, weights, n_images, frozen.target_share())?;
        let fixes = unit.repeats().fixes()?;
        let mut curve = curve.ok_or_else(|| cut_off(name, fixes))?;
        if frozen.extent() == Extent::UntilTarget {
            curve.accuracy.truncate(curve.first + 1);
        }
        let (fraction, area) = (curve.first as f64 / n_images as f64, curve.area);
        let mut of_task = Metrics::new()
            .with("fraction_of_fixes", fraction)
            .with("first_step", curve.first)
            .with("accuracy_before", curve.before)
            .with("accuracy_after", curve.after)
            .with("target", curve.target)
            .with("accuracy", MetricValue::Curve(curve.accuracy))
            .with("n_images", n_images)
            .with("n_wrong", frozen.n_wrong(task_idx)?)
            .with("n_test", weights.total(truth.len()));
        if unit.facts().contains_key(METHOD_SECONDS) {
            of_task.insert(METHOD_SECONDS, unit.amount(METHOD_SECONDS)?);
        }
        fractions.push(fraction);
        areas.push(area);
        n_items += weights.total(truth.len());
        tasks.insert(name.to_owned(), of_task);
    }
    let score = mean(&fractions);
    let mut metrics = Metrics::new()
        .with("percent_of_fixes", score * 100.0)
        .with("target_share", frozen.target_share())
        .with("tasks", MetricValue::Table(tasks));
    if frozen.extent() == Extent::Whole {
        metrics.insert("area_under_curve", shown_area(mean(&areas), n_items));
    }
    Ok(Scorecard { score, metrics })
}

/// The steps of the mean fraction of all tasks; `None` where tasks have different numbers of images.
pub(super) fn n_steps(frozen: &Frozen) -> Option<usize> {
    let mut of_tasks = (0..frozen.tasks().count()).map(|task| frozen.n_images(task));
    let first = of_tasks.next()?;
    of_tasks
        .all(|n_images| n_images == first)
        .then(|| first * frozen.tasks().count())
}

/// A task that is scored under draws.
struct Drawn<'a> {
    name: &'a str,
    fixes: &'a Fixes,
    course: Course,
    /// The model after each fix.
    models: Vec<usize>,
    n_images: usize,
    /// The accuracy, rounded to two decimals, for each number of right answers: every draw has the same number of items.
    rounded: Vec<f64>,
}

impl Drawn<'_> {
    /// The fraction of fixes under one draw; `n_right` is each model's number of right answers.
    fn fraction(&self, n_right: &[[u32; LANES]], lane: usize, target_share: f64) -> Option<f64> {
        let accuracy = |model: usize| self.rounded[n_right[model][lane] as usize];
        let target = target_share * accuracy(n_right.len() - 1);
        let first = self.models.iter().position(|&model| accuracy(model) >= target)?;
        Some(first as f64 / self.n_images as f64)
    }
}

pub(super) fn replicates(
    frozen: &Frozen,
    evidence: &Evidence,
    draws: &Draws,
) -> Result<Vec<f64>, EvidenceError> {
    let mut tasks = Vec::new();
    for (task_idx, name) in frozen.tasks().enumerate() {
        let (truth, n_images) = (frozen.test_labels(task_idx)?, frozen.n_images(task_idx));
        let unit = evidence.unit(name, truth.len(), N_CLASSES)?;
        let fixes = unit.repeats().fixes()?;
        tasks.push(Drawn {
            name,
            fixes,
            course: Course::new(truth, unit.each_repeat()),
            models: models_of_steps(fixes, n_images).collect(),
            n_images,
            rounded: (0..=truth.len())
                .map(|n_right| rounded(n_right as f64 / truth.len().max(1) as f64))
                .collect(),
        });
    }
    draws.scores(|batch| {
        let mut of_tasks = Vec::new();
        for task in &tasks {
            let (n_right, _) = task.course.n_right(&draws.batch(task.name, batch)?);
            let mut fractions = [0.0; LANES];
            for (lane, fraction) in fractions[..draws_of(batch).len()].iter_mut().enumerate() {
                let share = task.fraction(&n_right, lane, frozen.target_share());
                *fraction = share.ok_or_else(|| cut_off(task.name, task.fixes))?;
            }
            of_tasks.push(fractions);
        }
        Ok(per_lane(|lane| {
            mean(
                &of_tasks
                    .iter()
                    .map(|fractions| fractions[lane])
                    .collect::<Vec<_>>(),
            )
        }))
    })
}

/// The results of the draws for the curves, if these are whole.
pub(super) fn on_curves(
    frozen: &Frozen,
    evidence: &Evidence,
    draws: &Draws,
) -> Result<Option<OnCurves>, EvidenceError> {
    if frozen.extent() != Extent::Whole {
        return Ok(None);
    }
    let share = frozen.target_share();
    // both sides of the comparison are rounded to two decimals
    let slack = 0.005 * (1.0 + share);
    let mut of_tasks = Vec::new();
    for (task_idx, name) in frozen.tasks().enumerate() {
        let (truth, n_images) = (frozen.test_labels(task_idx)?, frozen.n_images(task_idx));
        let unit = evidence.unit(name, truth.len(), N_CLASSES)?;
        let accuracies: Vec<f64> = unit
            .each_repeat()
            .map(|predicted| weighted_accuracy(truth, predicted, ItemWeights::Ones))
            .collect();
        let course = Course::new(truth, unit.each_repeat());
        let of_batch = |batch: &Batch| {
            let (n_right, total) = course.n_right(batch);
            let accuracy = |n_right: [u32; LANES]| {
                per_lane(|lane| f64::from(n_right[lane]) / f64::from(total[lane].max(1)))
            };
            n_right.into_iter().map(accuracy).collect()
        };
        let fixes = unit.repeats().fixes()?;
        let target = Target { share, slack };
        // steps count from 0
        let fraction = |n_fixes: u32| f64::from(n_fixes.saturating_sub(1)) / n_images as f64;
        let Some(on_curve) = draws.on_curve(name, fixes, target, &accuracies, of_batch, fraction)? else {
            return Ok(None);
        };
        of_tasks.push(on_curve);
    }
    Ok(OnCurves::mean(&of_tasks))
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
    fn the_first_step_at_the_target_counts() {
        let curve =
            Curve::new(0.5, 0.8, vec![0.5, 0.76, 0.6, 0.8], 0.6, 0.95).expect("the target is reached");
        assert_eq!(
            (curve.first, curve.target.to_bits()),
            (1, f64::to_bits(0.95 * 0.8))
        );
        let first = |after, accuracy| Curve::new(0.5, after, accuracy, 0.6, 0.95).map(|curve| curve.first);
        // 0.756 is below the target and its two decimals are not
        assert_eq!(first(0.8, vec![0.754, 0.756, 0.8]), Some(1));
        assert_eq!(first(0.0, vec![0.0, 0.0]), Some(0));
        // a curve that was cut before it gets there
        assert_eq!(first(0.8, vec![0.5, 0.6]), None);
    }
}
