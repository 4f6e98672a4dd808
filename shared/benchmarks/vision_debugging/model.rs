//! The frozen part, and the frozen model: boosted trees, fitted anew after every fix that changes a label.

use std::ops::ControlFlow;

use bytes::Bytes;
use rayon::prelude::*;

use super::metric::{METHOD_SECONDS, reaches};
use super::validation::Inspection;
use super::{Checked, EMBEDDINGS, Extent, LABELS, Parameters, test_file, train_file, truth_file};
use dataperf::dataset::{DatasetError, Files};
use dataperf::evidence::{Evidence, Fixes, Repeats, UnitEvidence};
use dataperf::frozen::{FrozenError, Matrix};
use dataperf_numerics::metrics::accuracy;
use dataperf_numerics::models::FitError;
use dataperf_numerics::models::boosted_trees::{BoostedTrees, Columns, TrainingFeatures, fit_each};

/// Labels are 0 and 1.
pub(super) const N_CLASSES: usize = 2;
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
    /// `None` in a participants' kit.
    hidden: Option<Hidden>,
}

/// What a task is scored with.
#[derive(Debug)]
struct Hidden {
    /// The right labels of the training images.
    truth: Vec<bool>,
    tests: Columns,
    /// `(n_test,)`, 0 or 1
    test_labels: Vec<u8>,
}

impl Frozen {
    pub(super) async fn open(files: &Files<'_>) -> Result<Self, DatasetError> {
        let parameters: Parameters = files.manifest().parameters()?;
        let refuse = |why: &str| FrozenError::Manifest {
            why: format!("parameters: {why}"),
        };
        if !parameters.tasks.is_sorted_by(|a, b| a < b) || parameters.tasks.is_empty() {
            return Err(refuse("the tasks are none, or not distinct and ascending").into());
        }
        if !(0.0..=1.0).contains(&parameters.target_share) {
            return Err(refuse("the share to be reached is not between 0 and 1").into());
        }
        let mut sources = Vec::with_capacity(parameters.tasks.len());
        for task in &parameters.tasks {
            sources.push(Source::read(files, task).await?);
        }
        // sorting the features takes longer than reading them
        let tasks = sources.into_par_iter();
        let tasks = tasks.map(|source| Task::decode(source, parameters.n_features));
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
    pub(super) fn n_wrong(&self, task: usize) -> Result<usize, FrozenError> {
        let task = &self.tasks[task];
        let pairs = task.labels.iter().zip(&task.hidden()?.truth);
        Ok(pairs.filter(|(label, truth)| label != truth).count())
    }

    /// The labels of a task's test images, `(n_test,)`.
    pub(super) fn test_labels(&self, task: usize) -> Result<&[u8], FrozenError> {
        Ok(&self.tasks[task].hidden()?.test_labels)
    }

    /// How much of the curves is computed and shown.
    pub(super) fn extent(&self) -> Extent {
        self.parameters.curves
    }

    /// The share of the cleaned set's accuracy that has to be reached.
    pub fn target_share(&self) -> f64 {
        self.parameters.target_share
    }
}

/// A task's files.
struct Source {
    name: String,
    train: Matrix,
    given: Bytes,
    hidden: Option<HiddenSource>,
}

struct HiddenSource {
    truth: Bytes,
    test: Matrix,
    test_labels: Bytes,
}

impl Source {
    async fn read(files: &Files<'_>, name: &str) -> Result<Self, DatasetError> {
        let (train, truth, test) = (train_file(name), truth_file(name), test_file(name));
        let hidden = if files.has(&truth) || files.has(&test) {
            Some(HiddenSource {
                truth: files.classes(&truth, LABELS).await?,
                test: files.matrix(&test, EMBEDDINGS).await?,
                test_labels: files.classes(&test, LABELS).await?,
            })
        } else {
            None
        };
        Ok(Self {
            name: name.to_owned(),
            train: files.matrix(&train, EMBEDDINGS).await?,
            given: files.classes(&train, LABELS).await?,
            hidden,
        })
    }
}

/// The columns of a file's rows, of which there are some, of `n_features` numbers each.
fn columns(path: &str, matrix: &Matrix, n_features: usize) -> Result<Columns, FrozenError> {
    let (n_rows, n_cols) = matrix.view().dim();
    if n_cols != n_features || n_rows == 0 {
        let why = format!("it has no rows of {n_features} floats");
        return Err(FrozenError::damaged(path, why));
    }
    Ok(Columns::new(matrix.view()))
}

/// The labels of a file, 0 or 1 for each of `n_rows` rows.
fn labels(path: &str, labels: &[u8], n_rows: usize) -> Result<Vec<bool>, FrozenError> {
    if labels.len() != n_rows || labels.iter().any(|&label| label > 1) {
        let why = format!("it has not {n_rows} labels of 0 or 1");
        return Err(FrozenError::damaged(path, why));
    }
    Ok(labels.iter().map(|&label| label == 1).collect())
}

impl Task {
    fn decode(source: Source, n_features: usize) -> Result<Self, FrozenError> {
        let name = source.name;
        let (train, truth, test) = (train_file(&name), truth_file(&name), test_file(&name));
        let images = columns(&train, &source.train, n_features)?;
        let n_rows = images.n_rows();
        let hidden = |source: HiddenSource| {
            let tests = columns(&test, &source.test, n_features)?;
            let test_labels = labels(&test, &source.test_labels, tests.n_rows())?;
            Ok::<_, FrozenError>(Hidden {
                truth: labels(&truth, &source.truth, n_rows)?,
                test_labels: test_labels.into_iter().map(u8::from).collect(),
                tests,
            })
        };
        Ok(Self {
            labels: labels(&train, &source.given, n_rows)?,
            hidden: source.hidden.map(hidden).transpose()?,
            features: TrainingFeatures::new(images)
                .map_err(|error| FrozenError::damaged(&train, error.to_string()))?,
            name,
        })
    }

    /// What the task is scored with.
    fn hidden(&self) -> Result<&Hidden, FrozenError> {
        let missing = FrozenError::ForParticipants {
            missing: "right labels and test images",
        };
        self.hidden.as_ref().ok_or(missing)
    }

    fn damaged(&self) -> impl Fn(FitError) -> FrozenError {
        |error| FrozenError::damaged(&train_file(&self.name), error.to_string())
    }
}

impl Hidden {
    /// What a model says of the test images, `(n_test,)`.
    fn predicted(&self, model: &BoostedTrees) -> Vec<u8> {
        model.predict(&self.tests).into_iter().map(u8::from).collect()
    }
}

/// The models that one task's order asks for: labels that a fix leaves as they were give the same model again.
struct Steps {
    /// The labels of each model; the first before any fix, the last when all are right.
    label_sets: Vec<Vec<bool>>,
    /// After how many fixes each model stands.
    models: Vec<u32>,
    /// As many as there are images.
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

    /// Every model is known up to so many fixes.
    fn fixes(&self, n_known: u32) -> Fixes {
        Fixes {
            models: self.models.clone(),
            n_known,
        }
    }
}

/// What each task's models say of every test image: the course of its fixes. The fits are independent: they are spread
/// over the cores, and each core does many side by side.
pub(super) fn evidence(checked: &Checked, frozen: &Frozen) -> Result<Evidence, FrozenError> {
    let tasks = frozen.tasks.par_iter().zip(checked.tasks());
    let share = frozen.parameters.target_share;
    let units = tasks.map(|(task, inspection)| {
        let hidden = task.hidden()?;
        let steps = Steps::new(task, &hidden.truth, inspection);
        let (fixes, predicted) = match frozen.parameters.curves {
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

/// Fits in the order of the steps, and no further than the first that reaches the target. The predictions are those of the
/// models up to there, and of the last one.
fn until_target(
    task: &Task,
    hidden: &Hidden,
    steps: &Steps,
    target_share: f64,
) -> Result<(Fixes, Vec<Vec<u8>>), FrozenError> {
    // the target is known only when everything is right, so that comes first
    let mut label_sets = steps.label_sets.clone();
    label_sets.rotate_right(1);
    let n_sets = label_sets.len();
    let all = steps.fixes(steps.n_fixes);
    let mut predicted = vec![Vec::new(); n_sets];
    let mut accuracies: Vec<Option<f64>> = vec![None; n_sets];
    // after how many fixes the target is reached, once that can be told
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
    // what was fitted beyond by the way depends on the number of lanes
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
