//! Fitting the built-in model.

use std::collections::BTreeMap;

use dataperf_numerics::models::FitError;
use dataperf_numerics::models::logistic_regression::{LogisticSettings, SparseLogistic};
use dataperf_numerics::sparse::SparseRows;

use super::features::Features;
use super::file::{Weights, write};
use super::linear::{Head, KIND, LinearSettings};
use super::{Labelled, TrainError, spans};
use crate::text::task::Task;
use crate::text::texts::answers::Gold;

/// Trains a linear model for all tasks that there are examples of, and gives its file. The same examples, in the same order, give the same
/// bytes on any number of threads.
///
/// # Errors
/// [`TrainError`]
pub fn train_linear(examples: &[Labelled], settings: &LinearSettings) -> Result<Vec<u8>, TrainError> {
    if examples.is_empty() {
        return Err(TrainError::NoExamples);
    }
    let fit = LogisticSettings {
        c: settings.c,
        max_iter: settings.max_iter,
        ..LogisticSettings::default()
    };
    if !(settings.c.is_finite() && settings.c > 0.0) {
        let error = FitError::Parameter {
            name: "C",
            value: settings.c.to_string(),
            allowed: "a number above 0",
        };
        let task = examples[0].task;
        return Err(TrainError::Fit { task, error });
    }
    let mut heads = BTreeMap::new();
    for (task, examples) in by_task(examples) {
        let failed = |error| TrainError::Fit { task, error };
        let head = if task.has_spans() {
            let (rows, classes) = spans::training_rows(&settings.spans, &examples)?;
            let model = SparseLogistic::fit(fit, &rows, &classes).map_err(failed)?;
            Head::Spans {
                spans: settings.spans.clone(),
                weights: Weights::from_model(&model),
            }
        } else {
            let features = Features::new(&settings.words, &settings.characters).map_err(failed)?;
            let (labels, classes) = classes(task, &examples)?;
            let mut rows = SparseRows::new(features.n_columns());
            for example in &examples {
                rows.push(features.row(&example.input));
            }
            let model = SparseLogistic::fit(fit, &rows, &classes).map_err(failed)?;
            Head::Labels {
                words: settings.words.clone(),
                characters: settings.characters.clone(),
                labels,
                weights: Weights::from_model(&model),
            }
        };
        heads.insert(task, head);
    }
    Ok(write(KIND, heads)?)
}

/// The examples of each task, in their order.
pub(super) fn by_task(examples: &[Labelled]) -> BTreeMap<Task, Vec<&Labelled>> {
    let mut by_task: BTreeMap<Task, Vec<&Labelled>> = BTreeMap::new();
    for example in examples {
        by_task.entry(example.task).or_default().push(example);
    }
    by_task
}

/// The labels that occur, in the task's order, and the place of each example's among them.
pub(super) fn classes(task: Task, examples: &[&Labelled]) -> Result<(Vec<String>, Vec<usize>), TrainError> {
    let mut places = Vec::with_capacity(examples.len());
    for (nth, example) in examples.iter().enumerate() {
        let place = match &example.gold {
            Gold::Label(label) => task.labels().iter().position(|known| known == label),
            Gold::Span(_) => None,
        };
        let why = || {
            let string: String = example.gold.as_str().chars().take(40).collect();
            format!(
                "its answer is {} and has to be one of {}",
                dataperf::quote(&string),
                task.labels().join(", ")
            )
        };
        places.push(place.ok_or_else(|| TrainError::BadExample {
            task,
            nth,
            why: why(),
        })?);
    }
    let is_there = |place: &usize| places.contains(place);
    let present: Vec<usize> = (0..task.labels().len()).filter(is_there).collect();
    let labels = present.iter().map(|&place| task.labels()[place].to_owned());
    let class = |place| present.partition_point(|&known| known < place);
    Ok((labels.collect(), places.iter().copied().map(class).collect()))
}
