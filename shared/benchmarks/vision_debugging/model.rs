//! The frozen model: boosted trees, fitted again after every fix that changes a label.

use std::ops::ControlFlow;

use rayon::prelude::*;

use super::frozen::{Frozen, Hidden, N_CLASSES, Task};
use super::metric::{METHOD_SECONDS, reaches};
use super::validation::Inspection;
use super::{Checked, Extent};
use dataperf::dataset::frozen::FrozenError;
use dataperf::evidence::{Evidence, Fixes, Repeats, UnitEvidence};
use dataperf_numerics::metrics::accuracy;
use dataperf_numerics::models::boosted_trees::fit_each;

/// The fewest fits that one thread does side by side: they fill the lanes of the search.
const MIN_FITS: usize = 16;

/// The models that are fitted for the order of one task: a fix that changes no label adds none.
struct Steps {
    /// The labels of each model; the first is before any fix, and the last has all labels right.
    label_sets: Vec<Vec<bool>>,
    /// After how many fixes each model begins.
    models: Vec<u32>,
    /// The number of fixes, which equals the number of images.
    n_fixes: u32,
}

impl Steps {
    fn new(task: &Task, truth: &[bool], inspection: &Inspection) -> Self {
        let mut label_sets = vec![task.labels.clone()];
        let mut models = vec![0];
        for (&image, n_fixes) in inspection.order.iter().zip(1..) {
            let last = &label_sets[label_sets.len() - 1];
            if last[image] != truth[image] {
                let mut fixed = last.clone();
                fixed[image] = truth[image];
                label_sets.push(fixed);
                models.push(n_fixes);
            }
        }
        Self {
            label_sets,
            models,
            n_fixes: inspection.order.len() as u32,
        }
    }

    /// The course of fixes in which models are known up to `n_known` fixes.
    fn fixes(&self, n_known: u32) -> Fixes {
        Fixes {
            models: self.models.clone(),
            n_known,
        }
    }
}

/// The predictions of each task's models for every test image, in the course of its fixes. The fits are independent: they are
/// spread over the cores, and each core does many side by side.
pub(super) fn evidence(checked: &Checked, frozen: &Frozen) -> Result<Evidence, FrozenError> {
    let tasks = frozen.tasks.par_iter().zip(checked.tasks());
    let share = frozen.target_share();
    let units = tasks.map(|(task, inspection)| {
        let hidden = task.hidden()?;
        let steps = Steps::new(task, &hidden.truth, inspection);
        let (fixes, predicted) = match frozen.extent() {
            Extent::Whole => (steps.fixes(steps.n_fixes), whole(task, hidden, &steps)?),
            Extent::UntilTarget => until_target(task, hidden, &steps, share)?,
        };
        let repeats = Repeats::Fixes(fixes);
        let mut unit = UnitEvidence::new(repeats, hidden.test_labels.len(), N_CLASSES, predicted.concat());
        if let Some(seconds) = inspection.seconds {
            unit = unit.with_amount(METHOD_SECONDS, seconds);
        }
        Ok((task.name.clone(), unit))
    });
    units
        .collect::<Result<Vec<_>, FrozenError>>()
        .map(Evidence::from_iter)
}

/// The predictions of every model.
fn whole(task: &Task, hidden: &Hidden, steps: &Steps) -> Result<Vec<Vec<u8>>, FrozenError> {
    let n_sets = steps.label_sets.len();
    let n_chunks = rayon::current_num_threads().min(n_sets.div_ceil(MIN_FITS));
    let chunks = steps.label_sets.par_chunks(n_sets.div_ceil(n_chunks));
    let chunks: Result<Vec<Vec<Vec<u8>>>, FrozenError> = chunks
        .map(|label_sets| {
            let mut predicted = vec![Vec::new(); label_sets.len()];
            let fitted = fit_each(&task.features, label_sets, |set, model| {
                predicted[set] = hidden.predicted(&model);
                ControlFlow::Continue(())
            });
            fitted.map_err(task.damaged()).map(|()| predicted)
        })
        .collect();
    chunks.map(|chunks| chunks.concat())
}

/// Fits models in the order of the steps, up to the first that reaches the target. Returns the predictions of the models up to that
/// step, and of the one with all labels right.
fn until_target(
    task: &Task,
    hidden: &Hidden,
    steps: &Steps,
    target_share: f64,
) -> Result<(Fixes, Vec<Vec<u8>>), FrozenError> {
    // the target depends on the model with all labels right, so that model is fitted first
    let mut label_sets = steps.label_sets.clone();
    label_sets.rotate_right(1);
    let n_sets = label_sets.len();
    let all = steps.fixes(steps.n_fixes);
    let mut predicted = vec![Vec::new(); n_sets];
    let mut accuracies: Vec<Option<f64>> = vec![None; n_sets];
    // the number of fixes after which the target is reached, as soon as enough models are known
    let n_needed = |accuracies: &[Option<f64>]| {
        let after = accuracies[n_sets - 1]?;
        accuracies[0]?;
        for n_fixes in 1..=steps.n_fixes {
            let accuracy = accuracies[all.model_after(n_fixes)?]?;
            if reaches(accuracy, after, target_share) {
                return Some(n_fixes);
            }
        }
        None
    };
    let fitted = fit_each(&task.features, &label_sets, |place, model| {
        let set = (place + n_sets - 1) % n_sets;
        predicted[set] = hidden.predicted(&model);
        accuracies[set] = Some(accuracy(&hidden.test_labels, &predicted[set]));
        match n_needed(&accuracies) {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    });
    fitted.map_err(task.damaged())?;
    let n_known = n_needed(&accuracies).unwrap_or(steps.n_fixes);
    // models beyond the target are dropped: how many were fitted depends on the number of lanes
    let is_kept = |set: &usize| all.models[*set] <= n_known || set + 1 == n_sets;
    let kept: Vec<usize> = (0..n_sets).filter(is_kept).collect();
    let fixes = Fixes {
        models: kept.iter().map(|&set| all.models[set]).collect(),
        n_known,
    };
    Ok((
        fixes,
        kept.into_iter()
            .map(|set| std::mem::take(&mut predicted[set]))
            .collect(),
    ))
}
