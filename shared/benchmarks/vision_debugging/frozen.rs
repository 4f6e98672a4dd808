//! The frozen part: every task's images.

use bytes::Bytes;
use rayon::prelude::*;

use super::{EMBEDDINGS, Extent, LABELS, LEADERBOARD, Parameters, eval_file, train_file, truth_file};
use crate::counted;
use dataperf::benchmark::{FrozenPart, Leaderboard};
use dataperf::dataset::frozen::{FrozenError, Manifest, Matrix};
use dataperf::dataset::{DatasetError, Files};
use dataperf::evidence::{EvalItems, EvidenceError};
use dataperf_numerics::bootstrap::ItemMetric;
use dataperf_numerics::models::FitError;
use dataperf_numerics::models::boosted_trees::{BoostedTrees, Columns, TrainingFeatures};

/// The number of classes: labels are 0 and 1.
pub(super) const N_CLASSES: usize = 2;

/// The data that scoring keeps in memory: every task's images, with the training features sorted.
#[derive(Debug)]
pub struct Frozen {
    pub(super) parameters: Parameters,
    pub(super) tasks: Vec<Task>,
}

#[derive(Debug)]
pub(super) struct Task {
    pub(super) name: String,
    pub(super) features: TrainingFeatures,
    /// The labels as participants see them, some of them wrong.
    pub(super) labels: Vec<bool>,
    /// The right labels and the test images; `None` in a participants' kit.
    pub(super) hidden: Option<Hidden>,
}

/// The hidden part of a task, which it is scored with.
#[derive(Debug)]
pub(super) struct Hidden {
    /// The right labels of the training images.
    pub(super) truth: Vec<bool>,
    pub(super) tests: Columns,
    /// `(n_test,)`, 0 or 1
    pub(super) test_labels: Vec<u8>,
}

impl FrozenPart for Frozen {
    fn leaderboards(manifest: &Manifest) -> Result<Vec<Leaderboard>, FrozenError> {
        let parameters: Parameters = manifest.parameters()?;
        let about = format!(
            "the share of images to inspect, mean of {} tasks, until {} % of the cleaned set's accuracy is reached; less is better",
            parameters.tasks.len(),
            parameters.target_share * 100.0
        );
        let board = Leaderboard::new(LEADERBOARD, about)
            .with_title(counted(parameters.tasks.len(), "task"))
            .with_keys(parameters.tasks)
            .with_metric("share inspected")
            .with_model("gradient-boosted trees (XGBoost's defaults)");
        Ok(vec![board])
    }

    async fn open(files: &Files<'_>, _leaderboard: &str) -> Result<Self, DatasetError> {
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

    fn eval_items(&self) -> Result<Vec<(String, EvalItems<'_>)>, EvidenceError> {
        let items = |(task, name): (usize, &str)| {
            let items = EvalItems::from_metric(self.test_labels(task)?, ItemMetric::Accuracy);
            Ok((name.to_owned(), items))
        };
        self.tasks().enumerate().map(items).collect()
    }
}

impl Frozen {
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

/// The files of a task.
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
        let (train, truth, test) = (train_file(name), truth_file(name), eval_file(name));
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

/// The columns of a file's matrix, checked to have rows of `n_features` numbers.
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
        let (train, truth, test) = (train_file(&name), truth_file(&name), eval_file(&name));
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

    /// The hidden part of the task; an error in a participants' kit.
    pub(super) fn hidden(&self) -> Result<&Hidden, FrozenError> {
        let missing = FrozenError::ForParticipants {
            missing: "right labels and test images",
        };
        self.hidden.as_ref().ok_or(missing)
    }

    pub(super) fn damaged(&self) -> impl Fn(FitError) -> FrozenError {
        |error| FrozenError::damaged(&train_file(&self.name), error.to_string())
    }
}

impl Hidden {
    /// The predicted label of each test image, `(n_test,)`.
    pub(super) fn predicted(&self, model: &BoostedTrees) -> Vec<u8> {
        model.predict(&self.tests).into_iter().map(u8::from).collect()
    }
}
