//! The course of fixes and the score.

use rayon::prelude::*;

use super::{Checked, Extent, Frozen, TRAIN};
use crate::own_data::scoring::not_fitted;
use crate::own_data::table::features_file;
use crate::own_data::{EVAL, EvalSet};
use dataperf::benchmark::NotScored;
use dataperf::benchmark::scorecard::{MetricValue, Metrics, Scorecard};
use dataperf::evidence::{
    Draws, Evidence, EvidenceError, Fixes, OnCurves, Repeats, Target, UnitEvidence, Weights, per_lane,
    shown_area,
};
use dataperf_numerics::bootstrap::{Answers, Batch, Course, ItemMetric, LANES, draws_of};
use dataperf_numerics::metrics::ItemWeights;

/// The number of models that are fitted between checks of whether the target is reached. It is fixed, so that evidence is the same
/// with any number of threads.
const MODELS_AT_ONCE: usize = 32;
/// The most points of the curve that a receipt shows, so that it stays below 400 KB, the most that the table takes.
const MAX_SHOWN: usize = 10_000;

/// The most answers of a curve's models that are scored under the draws once more for its area, where the metric is not accuracy: a second of one core.
const MAX_ANSWERS: usize = 1_000_000;

/// The number of models that one thread fits together.
const MODELS_TOGETHER: usize = 8;

/// After how many fixes each new model begins, in the given order of inspection: a fix that changes no label leaves the model as it
/// was.
fn changes(rows: &[usize], given: &[u8], truth: &[u8]) -> Vec<u32> {
    let steps = rows.iter().zip(1..);
    let changing = steps.filter(|(row, _)| given[**row] != truth[**row]);
    [0].into_iter()
        .chain(changing.map(|(_, n_fixes)| n_fixes))
        .collect()
}

/// The predictions of the models in a course of fixes: of all models, or of those up to the target and the one with all labels
/// right.
pub(super) fn evidence(checked: &Checked, frozen: &Frozen) -> Result<Evidence, NotScored> {
    let (truth, eval) = frozen.hidden()?;
    let (prepared, scoring) = (frozen.prepared(eval)?, &frozen.scoring);
    let seed = scoring.seeds.first().copied().unwrap_or(0);
    let begins = changes(checked.rows(), &frozen.given, truth);
    let labels_after = |n_fixes: u32| {
        let mut labels: Vec<usize> = frozen.given.iter().map(|&class| class.into()).collect();
        for &row in &checked.rows()[..n_fixes as usize] {
            labels[row] = truth[row].into();
        }
        labels
    };
    let answers = |n_fixes: &[u32]| {
        let labels: Vec<Vec<usize>> = n_fixes.iter().copied().map(labels_after).collect();
        prepared
            .predict_all(&labels, seed)
            .map_err(|error| not_fitted(&error, &features_file(TRAIN)))
    };
    let all_answers = |n_fixes: &[u32]| {
        let some = n_fixes.par_chunks(MODELS_TOGETHER).map(answers);
        Ok::<_, NotScored>(some.collect::<Result<Vec<_>, _>>()?.concat())
    };
    let n_steps = checked.rows().len() as u32;
    let (mut models, mut predicted) = (Vec::new(), Vec::new());
    let mut n_known = n_steps;
    match frozen.extent {
        Extent::Whole => {
            predicted = all_answers(&begins)?;
            models = begins;
        }
        Extent::UntilTarget => {
            let last = begins[begins.len() - 1];
            let of_last = answers(&[last])?.concat();
            let value = |predicted: &[u8]| scoring.value(eval, predicted, ItemWeights::Ones);
            let target = frozen.target_share * value(&of_last);
            'course: for some in begins[..begins.len() - 1].chunks(MODELS_AT_ONCE) {
                let of_some = all_answers(some)?;
                for (&begin, answers) in some.iter().zip(of_some) {
                    let is_reached = value(&answers) >= target;
                    models.push(begin);
                    predicted.push(answers);
                    if is_reached {
                        n_known = begin;
                        break 'course;
                    }
                }
            }
            models.push(last);
            predicted.push(of_last);
        }
    }
    let repeats = Repeats::Fixes(Fixes { models, n_known });
    let n_classes = scoring.classes.len();
    let unit = UnitEvidence::new(repeats, eval.n_items(), n_classes, predicted.concat());
    Ok(Evidence::of_unit(EVAL, unit))
}

pub(super) fn scorecard(
    frozen: &Frozen,
    evidence: &Evidence,
    weights: &Weights,
) -> Result<Scorecard, EvidenceError> {
    let (truth, eval) = hidden(frozen)?;
    let unit = eval.unit(evidence, &frozen.scoring)?;
    let item_weights = weights.unit(EVAL, eval.n_items())?;
    let fixes = unit.repeats().fixes()?;
    let models = unit.each_repeat();
    let of_models: Vec<f64> = models
        .map(|predicted| frozen.scoring.value(eval, predicted, item_weights))
        .collect();
    let n_examples = frozen.n_examples();
    let models = models_of_steps(fixes, n_examples);
    let steps: Vec<f64> = models.map(|model| of_models[model]).collect();
    let after = of_models[of_models.len() - 1];
    let target = frozen.target_share * after;
    let n_fixes = steps.iter().position(|&step| step >= target);
    let n_fixes = n_fixes.ok_or_else(|| cut_off(fixes))?;
    let score = n_fixes as f64 / n_examples as f64;
    let n_shown = match frozen.extent {
        Extent::Whole => steps.len(),
        Extent::UntilTarget => n_fixes + 1,
    };
    let n_wrong = frozen
        .given
        .iter()
        .zip(truth)
        .filter(|(given, truth)| given != truth)
        .count();
    let shown = steps[1..n_shown.min(1 + MAX_SHOWN)].to_vec();
    let mut metrics = Metrics::new()
        .with("metric", frozen.scoring.metric.name())
        .with("target_share", frozen.target_share)
        .with("n_fixes", n_fixes)
        .with("before", steps[0])
        .with("after", after)
        .with("target", target)
        .with("curve", MetricValue::Curve(shown))
        .with("n_examples", n_examples)
        .with("n_wrong", n_wrong)
        .with("n_eval", item_weights.total(eval.n_items()));
    if frozen.extent == Extent::Whole {
        let area = fixes.area(of_models.iter().copied());
        metrics.insert(
            "area_under_curve",
            shown_area(area, item_weights.total(eval.n_items())),
        );
    }
    if let Some(first_step) = n_fixes.checked_sub(1) {
        metrics.insert("first_step", first_step);
    }
    if eval.is_public {
        metrics.insert("eval_set", "public");
    }
    Ok(Scorecard { score, metrics })
}

fn hidden(frozen: &Frozen) -> Result<(&[u8], &EvalSet), EvidenceError> {
    Ok(frozen.hidden()?)
}

/// The model after each number of fixes, from 0, as far as models are known.
fn models_of_steps(fixes: &Fixes, n_examples: usize) -> impl Iterator<Item = usize> {
    (0..=n_examples).map_while(|n_fixes| fixes.model_after(n_fixes as u32))
}

/// The error for evidence whose known models end before the target is reached.
fn cut_off(fixes: &Fixes) -> EvidenceError {
    EvidenceError::CutOff {
        unit: EVAL.to_owned(),
        n_known: fixes.n_known as usize,
    }
}

/// A unit whose models are scored under draws.
struct Drawn<'a> {
    metric: ItemMetric<'a>,
    course: Course,
    answers: Answers<'a>,
}

impl<'a> Drawn<'a> {
    fn new(frozen: &'a Frozen, eval: &'a EvalSet, unit: &UnitEvidence) -> Self {
        let metric = frozen.scoring.item_metric(eval);
        let is_accuracy = metric == ItemMetric::Accuracy;
        let course = Course::new(&eval.truth, unit.each_repeat().filter(|_| is_accuracy));
        let others = unit.each_repeat().filter(|_| !is_accuracy);
        Self {
            metric,
            course,
            answers: Answers::new(metric, &eval.truth, others),
        }
    }

    /// The value of each model under the draws of a batch.
    fn values(&self, weights: &Batch) -> Vec<[f64; LANES]> {
        if self.metric != ItemMetric::Accuracy {
            return self.answers.values(weights);
        }
        let (n_right, total) = self.course.n_right(weights);
        let accuracy =
            |n_right: [u32; LANES]| per_lane(|lane| f64::from(n_right[lane]) / f64::from(total[lane].max(1)));
        n_right.into_iter().map(accuracy).collect()
    }
}

pub(super) fn replicates(
    frozen: &Frozen,
    evidence: &Evidence,
    draws: &Draws,
) -> Result<Vec<f64>, EvidenceError> {
    let (_, eval) = hidden(frozen)?;
    let unit = eval.unit(evidence, &frozen.scoring)?;
    let fixes = unit.repeats().fixes()?;
    let n_examples = frozen.n_examples();
    let models: Vec<usize> = models_of_steps(fixes, n_examples).collect();
    let drawn = Drawn::new(frozen, eval, unit);
    draws.scores(|batch| {
        let of_models = drawn.values(&draws.batch(EVAL, batch)?);
        let mut fractions = [0.0; LANES];
        for (lane, fraction) in fractions[..draws_of(batch).len()].iter_mut().enumerate() {
            let target = frozen.target_share * of_models[of_models.len() - 1][lane];
            let n_fixes = models.iter().position(|&model| of_models[model][lane] >= target);
            *fraction = n_fixes.ok_or_else(|| cut_off(fixes))? as f64 / n_examples as f64;
        }
        Ok(fractions)
    })
}

/// The results of the draws for the curve, if it is whole.
pub(super) fn on_curves(
    frozen: &Frozen,
    evidence: &Evidence,
    draws: &Draws,
) -> Result<Option<OnCurves>, EvidenceError> {
    if frozen.extent != Extent::Whole {
        return Ok(None);
    }
    let (_, eval) = hidden(frozen)?;
    let unit = eval.unit(evidence, &frozen.scoring)?;
    let drawn = Drawn::new(frozen, eval, unit);
    // of accuracies only what a fix has changed is counted again
    let is_long = unit.repeats().len() * eval.n_items() > MAX_ANSWERS;
    if drawn.metric != ItemMetric::Accuracy && is_long {
        return Ok(None);
    }
    let values: Vec<f64> = unit
        .each_repeat()
        .map(|predicted| frozen.scoring.value(eval, predicted, ItemWeights::Ones))
        .collect();
    let target = Target {
        share: frozen.target_share,
        slack: 0.0,
    };
    let of_batch = |batch: &Batch| drawn.values(batch);
    let fraction = |n_fixes: u32| f64::from(n_fixes) / frozen.n_examples() as f64;
    let on_curve = draws.on_curve(EVAL, unit.repeats().fixes()?, target, &values, of_batch, fraction)?;
    Ok(on_curve.and_then(|on_curve| OnCurves::mean(&[on_curve])))
}
