//! The frozen part, and the frozen model: boosted trees, fitted anew after every fix that changes a label.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use bytes::Bytes;
use rayon::prelude::*;

use super::metric::{Curve, reaches};
use super::validation::Inspection;
use super::{Checked, EMBEDDINGS, Extent, LABELS, Parameters, test_file, train_file, truth_file};
use crate::frozen::{Dtype, FrozenError, Manifest, Matrix, slice};
use crate::models::FitError;
use crate::models::boosted_trees::{BoostedTrees, Columns, TrainingFeatures, fit_each};

/// Fits that one thread does side by side, at least: they fill the search's lanes.
const MIN_FITS: usize = 16;

/// What scoring keeps in memory: every task's images, those for training sorted.
#[derive(Debug)]
pub struct Frozen {
    parameters: Parameters,
    tasks: Vec<Task>,
}

#[derive(Debug)]
struct Task {
    name: String,
    features: TrainingFeatures,
    /// As participants see them.
    labels: Vec<bool>,
    truth: Vec<bool>,
    tests: Columns,
    test_labels: Vec<bool>,
}

impl Frozen {
    pub(super) fn decode(manifest: &Manifest, files: &BTreeMap<String, Bytes>) -> Result<Self, FrozenError> {
        let parameters: Parameters = manifest.parameters()?;
        let refuse = |why: &str| FrozenError::Manifest {
            why: format!("parameters: {why}"),
        };
        if !parameters.tasks.is_sorted_by(|a, b| a < b) || parameters.tasks.is_empty() {
            return Err(refuse("the tasks are none, or not distinct and ascending"));
        }
        if !(0.0..=1.0).contains(&parameters.target_share) {
            return Err(refuse("the share to be reached is not between 0 and 1"));
        }
        let source = Source { manifest, files };
        let tasks = parameters.tasks.par_iter();
        let tasks = tasks.map(|task| Task::decode(&source, task, parameters.n_features));
        Ok(Self {
            tasks: tasks.collect::<Result<_, _>>()?,
            parameters,
        })
    }

    /// The tasks' names, ascending.
    pub fn tasks(&self) -> impl ExactSizeIterator<Item = &str> {
        self.parameters.tasks.iter().map(String::as_str)
    }

    /// How many training images a task has.
    pub fn n_images(&self, task: usize) -> usize {
        self.tasks[task].labels.len()
    }

    /// How many of a task's training labels are wrong before any fix.
    pub fn n_wrong(&self, task: usize) -> usize {
        let Task { labels, truth, .. } = &self.tasks[task];
        labels
            .iter()
            .zip(truth)
            .filter(|(label, truth)| label != truth)
            .count()
    }

    /// How many test images a task has.
    pub fn n_tests(&self, task: usize) -> usize {
        self.tasks[task].test_labels.len()
    }

    /// The share of the cleaned set's accuracy that has to be reached.
    pub fn target_share(&self) -> f64 {
        self.parameters.target_share
    }
}

struct Source<'a> {
    manifest: &'a Manifest,
    files: &'a BTreeMap<String, Bytes>,
}

impl Source<'_> {
    fn whole(&self, path: &str) -> Result<&Bytes, FrozenError> {
        let whole = self.files.get(path);
        whole.ok_or_else(|| FrozenError::damaged(path, "it was not read"))
    }

    fn columns(&self, path: &str) -> Result<Columns, FrozenError> {
        let matrix = Matrix::new(self.manifest, path, EMBEDDINGS, self.whole(path)?)?;
        Ok(Columns::new(matrix.view()))
    }

    fn labels(&self, path: &str, n_rows: usize) -> Result<Vec<bool>, FrozenError> {
        let tensor = self.manifest.tensor(path, LABELS, Dtype::U8, 1)?;
        let labels = slice(tensor, path, self.whole(path)?)?;
        if labels.len() != n_rows || labels.iter().any(|&label| label > 1) {
            let why = format!("it has not {n_rows} labels of 0 or 1");
            return Err(FrozenError::damaged(path, why));
        }
        Ok(labels.iter().map(|&label| label == 1).collect())
    }
}

impl Task {
    fn decode(source: &Source, name: &str, n_features: usize) -> Result<Self, FrozenError> {
        let (train, truth, test) = (train_file(name), truth_file(name), test_file(name));
        let (images, tests) = (source.columns(&train)?, source.columns(&test)?);
        let n_rows = images.n_rows();
        for (path, columns) in [(&train, &images), (&test, &tests)] {
            if columns.n_features() != n_features || columns.n_rows() == 0 {
                let why = format!("it has no rows of {n_features} floats");
                return Err(FrozenError::damaged(path, why));
            }
        }
        Ok(Self {
            name: name.to_owned(),
            labels: source.labels(&train, n_rows)?,
            truth: source.labels(&truth, n_rows)?,
            test_labels: source.labels(&test, tests.n_rows())?,
            features: TrainingFeatures::new(images)
                .map_err(|error| FrozenError::damaged(&train, error.to_string()))?,
            tests,
        })
    }

    fn accuracy(&self, model: &BoostedTrees) -> f64 {
        let predicted = model.predict(&self.tests);
        let pairs = predicted.iter().zip(&self.test_labels);
        pairs.filter(|(guess, truth)| guess == truth).count() as f64 / predicted.len() as f64
    }

    fn damaged(&self) -> impl Fn(FitError) -> FrozenError {
        |error| FrozenError::damaged(&train_file(&self.name), error.to_string())
    }
}

/// The models that one task's order asks for: labels that a fix leaves as they were give the same model again.
struct Steps {
    /// The labels of each model; the first before any fix, the last when all are right.
    label_sets: Vec<Vec<bool>>,
    /// For each step the place of its labels.
    set_of_step: Vec<usize>,
}

impl Steps {
    fn new(task: &Task, inspection: &Inspection) -> Self {
        let mut label_sets = vec![task.labels.clone()];
        let set_of_step = inspection.order.iter().map(|&image| {
            let last = &label_sets[label_sets.len() - 1];
            if last[image] != task.truth[image] {
                let mut fixed = last.clone();
                fixed[image] = task.truth[image];
                label_sets.push(fixed);
            }
            label_sets.len() - 1
        });
        let set_of_step = set_of_step.collect();
        Self {
            label_sets,
            set_of_step,
        }
    }

    fn curve(&self, accuracy_of_set: &[f64], target_share: f64) -> Curve {
        let of_step = self.set_of_step.iter().map(|&set| accuracy_of_set[set]);
        let after = accuracy_of_set[accuracy_of_set.len() - 1];
        Curve::new(accuracy_of_set[0], after, of_step.collect(), target_share)
    }
}

/// Each task's curve. The fits are independent: they are spread over the cores, and each core does many side by side.
pub(super) fn curves(checked: &Checked, frozen: &Frozen) -> Result<Vec<Curve>, FrozenError> {
    let tasks = frozen.tasks.par_iter().zip(checked.tasks());
    let share = frozen.parameters.target_share;
    tasks
        .map(|(task, inspection)| {
            let steps = Steps::new(task, inspection);
            match frozen.parameters.curves {
                Extent::Whole => whole(task, &steps).map(|accuracies| steps.curve(&accuracies, share)),
                Extent::UntilTarget => until_target(task, &steps, share),
            }
        })
        .collect()
}

fn whole(task: &Task, steps: &Steps) -> Result<Vec<f64>, FrozenError> {
    let n_sets = steps.label_sets.len();
    let n_chunks = rayon::current_num_threads().min(n_sets.div_ceil(MIN_FITS));
    let chunks = steps.label_sets.par_chunks(n_sets.div_ceil(n_chunks));
    let chunks: Result<Vec<Vec<f64>>, FrozenError> = chunks
        .map(|label_sets| {
            let mut accuracies = vec![0.0; label_sets.len()];
            let fitted = fit_each(&task.features, label_sets, |set, model| {
                accuracies[set] = task.accuracy(&model);
                ControlFlow::Continue(())
            });
            fitted.map_err(task.damaged()).map(|()| accuracies)
        })
        .collect();
    chunks.map(|chunks| chunks.concat())
}

/// Fits in the order of the steps, and no further than the first that reaches the target.
fn until_target(task: &Task, steps: &Steps, target_share: f64) -> Result<Curve, FrozenError> {
    // the target is known only when everything is right, so that comes first
    let mut label_sets = steps.label_sets.clone();
    label_sets.rotate_right(1);
    let mut accuracies: Vec<Option<f64>> = vec![None; label_sets.len()];
    let n_needed = |accuracies: &[Option<f64>]| {
        let after = accuracies[accuracies.len() - 1]?;
        accuracies[0]?;
        for (step, &set) in steps.set_of_step.iter().enumerate() {
            if reaches(accuracies[set]?, after, target_share) {
                return Some(step + 1);
            }
        }
        None
    };
    let n_sets = label_sets.len();
    let fitted = fit_each(&task.features, &label_sets, |place, model| {
        accuracies[(place + n_sets - 1) % n_sets] = Some(task.accuracy(&model));
        match n_needed(&accuracies) {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    });
    fitted.map_err(task.damaged())?;
    let n_steps = n_needed(&accuracies).unwrap_or(steps.set_of_step.len());
    let known = Steps {
        label_sets: Vec::new(),
        set_of_step: steps.set_of_step[..n_steps].to_vec(),
    };
    // those that were not needed are in no step
    let accuracies: Vec<f64> = accuracies.into_iter().map(Option::unwrap_or_default).collect();
    Ok(known.curve(&accuracies, target_share))
}
