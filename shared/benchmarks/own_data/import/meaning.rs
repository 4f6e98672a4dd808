//! Asks whether a contest means anything: whether its columns and rows let submissions differ by what the contest is about.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;

use dataperf::dataset::frozen::{FrozenError, Manifest};
use dataperf::list_names;
use dataperf_datasets::labels::labelled::{RowsAt, columns};
use ndarray::{Array2, ArrayView1, Axis};
use rayon::prelude::*;
use serde::Serialize;

use super::features::hash;
use crate::own_data::acquisition::SELLERS;
use crate::own_data::curation::{ExampleKind, Parameters, START, read_images, read_rows};
use crate::own_data::debugging::{TRAIN, TRUTH};
use crate::own_data::selection::POOL;
use crate::own_data::table::{FEATURES, LABEL, examples_file, features_file};
use crate::own_data::{About, EVAL, ScoreMetric};

/// Rows of each set that are looked at, evenly over the file.
const MAX_ROWS: usize = 20_000;
/// Fewer rows may look numbered, or parted by a column, by chance.
const MIN_ROWS: usize = 10;
/// From this share of right guesses on, a column alone tells the classes apart: in small sets all of them.
const TELLS: f64 = 0.999;
/// A larger share of the test set that is in the training set as well is warned of.
const SHARED: f64 = 0.05;

/// Something that makes a contest mean less than its organizer thinks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// A stable name, by which a warning is allowed.
    pub code: &'static str,
    /// A sentence that says what it is and what to change.
    pub message: String,
    /// Whether nothing can be ranked because of it, so that it can't be allowed.
    pub refuses: bool,
}

impl Finding {
    /// A finding that can be allowed.
    pub fn warning(code: &'static str, message: String) -> Self {
        Self {
            code,
            message,
            refuses: false,
        }
    }

    /// A finding because of which nothing can be ranked.
    pub fn refusal(code: &'static str, message: String) -> Self {
        Self {
            code,
            message,
            refuses: true,
        }
    }
}

/// What the tables of a data set say of the contest.
#[derive(Debug, Clone, Default)]
pub struct Tables {
    /// What makes the contest mean less.
    pub findings: Vec<Finding>,
    /// The names of the features; none where the files have no names.
    pub names: Vec<String>,
    /// Whether examples are images.
    pub is_images: bool,
    /// The number of features, or of pixels.
    pub n_features: usize,
    /// The number of training rows with each label; of no labels, none.
    pub n_of_training: BTreeMap<String, usize>,
    /// The number of training rows.
    pub n_training: usize,
    /// The number of rows of the test set with each label.
    pub n_of_test: BTreeMap<String, usize>,
    /// The score of a model that always answers with the same class, the best of them.
    pub constant_score: f64,
}

/// The parts of the parameters that all tasks have.
#[derive(serde::Deserialize)]
struct Common {
    about: About,
    scoring: CommonScoring,
}

#[derive(serde::Deserialize)]
struct CommonScoring {
    classes: Vec<String>,
    metric: ScoreMetric,
}

/// A table with the labels of its rows.
struct Labelled {
    features: Array2<f64>,
    labels: Vec<String>,
}

impl Labelled {
    fn read(
        directory: &Path,
        manifest: &Manifest,
        table: &str,
        examples: &str,
    ) -> Result<Option<Self>, FrozenError> {
        let path = features_file(table);
        if !manifest.files.contains_key(&path) {
            return Ok(None);
        }
        let features = RowsAt::new(path, FEATURES).read(directory, manifest)?;
        let mut columns = columns(directory, &examples_file(examples))?;
        let labels = columns.remove(LABEL).unwrap_or_default();
        Ok(Some(Self { features, labels }))
    }

    /// The training rows, whatever the task is.
    fn training(directory: &Path, manifest: &Manifest) -> Result<Option<Self>, FrozenError> {
        for (table, examples) in [(POOL, POOL), (TRAIN, TRUTH), (SELLERS, SELLERS)] {
            if let Some(read) = Self::read(directory, manifest, table, examples)? {
                return Ok(Some(read));
            }
        }
        if manifest.files.contains_key(&start_images()) {
            return Self::images(directory, manifest).map(Some);
        }
        let start = format!("{START}.csv");
        if !manifest.files.contains_key(&start) {
            return Ok(None);
        }
        let damaged = |why: String| FrozenError::damaged(&start, why);
        let bytes = fs::read(directory.join(&start)).map_err(|error| damaged(error.to_string()))?;
        let read = read_rows(&bytes, &[]).map_err(|_| damaged("its form is wrong".into()))?;
        let n_features = read.names.len();
        let (labels, numbers): (Vec<String>, Vec<Vec<f64>>) = read.rows.into_iter().unzip();
        let features = Array2::from_shape_vec((labels.len(), n_features), numbers.concat());
        let features = features.map_err(|error| damaged(error.to_string()))?;
        Ok(Some(Self { features, labels }))
    }

    /// The images of a start set.
    fn images(directory: &Path, manifest: &Manifest) -> Result<Self, FrozenError> {
        let start = start_images();
        let damaged = |why: &str| FrozenError::damaged(&start, why);
        let parameters: Parameters = manifest.parameters()?;
        let ExampleKind::Images { height, width } = parameters.examples else {
            return Err(damaged("the contest is on tables"));
        };
        let classes = &parameters.scoring.classes;
        let bytes = fs::read(directory.join(&start)).map_err(|error| damaged(&error.to_string()))?;
        let read = read_images(&bytes, classes, height, width).map_err(|_| damaged("its form is wrong"))?;
        let levels = read.pixels.into_iter().map(f64::from).collect();
        let features = Array2::from_shape_vec((read.classes.len(), height * width), levels);
        Ok(Self {
            features: features.map_err(|error| damaged(&error.to_string()))?,
            labels: read.classes.iter().map(|&class| classes[class].clone()).collect(),
        })
    }

    fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for label in &self.labels {
            *counts.entry(label.clone()).or_insert(0) += 1;
        }
        counts
    }
}

/// The file of a start set of images.
fn start_images() -> String {
    format!("{START}.zip")
}

/// Looks at the frozen tables of a task's data set.
///
/// # Errors
/// [`FrozenError`] when a file is not what the manifest says.
pub fn look(directory: &Path, manifest: &Manifest) -> Result<Tables, FrozenError> {
    let Common { about, scoring } = manifest.parameters()?;
    let test = Labelled::read(directory, manifest, EVAL, EVAL)?;
    let training = Labelled::training(directory, manifest)?;
    let mut tables = Tables {
        names: about.columns,
        ..Tables::default()
    };
    if let Some(test) = &test {
        tables.n_features = test.features.ncols();
        tables.n_of_test = test.counts();
        let groups = columns(directory, &examples_file(EVAL))?.remove("group");
        tables.constant_score = constant_score(&scoring, &test.labels, groups.as_deref());
    }
    if let Some(training) = &training {
        tables.n_training = training.features.nrows();
        tables.n_of_training = training.counts();
    }
    tables.is_images = manifest.files.contains_key(&start_images());
    let (Some(training), Some(test)) = (training, test) else {
        return Ok(tables);
    };
    let mut findings = Vec::new();
    findings.extend(constant(&training.features, "training set"));
    findings.extend(constant(&test.features, "test set"));
    // a pixel is no column that somebody has left in a table
    if findings.is_empty() && !tables.is_images {
        let name = |column: usize| {
            let name = tables.names.get(column).cloned();
            name.unwrap_or_else(|| format!("number {}", column + 1))
        };
        findings.extend(numbered(&training.features, &test.features, name));
        findings.extend(telling(&training, &test, name));
    }
    findings.extend(shared(&training.features, &test.features));
    tables.findings = findings;
    Ok(tables)
}

/// Refuses a table in which every column is the same in all rows.
fn constant(features: &Array2<f64>, noun: &str) -> Option<Finding> {
    let first = features.rows().into_iter().next()?;
    features.rows().into_iter().all(|row| row == first).then(|| {
        let message = format!(
            "all {} features are the same in every row of the {noun}, so every submission gets the same \
                score. Check how the features were written",
            features.ncols()
        );
        Finding::refusal("constant_features", message)
    })
}

/// Warns of columns that number the rows: whole numbers without gaps, each of which occurs once, over one set or both.
fn numbered(training: &Array2<f64>, test: &Array2<f64>, name: impl Fn(usize) -> String) -> Option<Finding> {
    let is_numbering = |column: usize| {
        let values = |features: &Array2<f64>| features.column(column).to_vec();
        let (one, two) = (values(training), values(test));
        let both = [one.as_slice(), two.as_slice()].concat();
        is_contiguous(&one) && (is_contiguous(&two) || two.len() < MIN_ROWS) || is_contiguous(&both)
    };
    let columns: Vec<String> = (0..training.ncols())
        .filter(|&column| is_numbering(column))
        .map(name)
        .collect();
    (!columns.is_empty()).then(|| {
        let message = format!(
            "models would learn from the column {}, which numbers the rows: leave it out of the files \
                (`to_csv(..., index=False)`), or name it `id`",
            list_names(&columns)
        );
        Finding::warning("row_number", message)
    })
}

fn is_contiguous(numbers: &[f64]) -> bool {
    if numbers.len() < MIN_ROWS || numbers.iter().any(|number| number.fract() != 0.0) {
        return false;
    }
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.windows(2).all(|two| (two[1] - two[0] - 1.0).abs() < 0.5)
}

/// Warns of columns that alone tell the classes apart.
fn telling(training: &Labelled, test: &Labelled, name: impl Fn(usize) -> String) -> Option<Finding> {
    let mut rows: Vec<(ArrayView1<'_, f64>, &str)> = Vec::new();
    for set in [training, test] {
        if set.labels.len() == set.features.nrows() {
            let step = set.labels.len().div_ceil(MAX_ROWS).max(1);
            let labelled = set
                .features
                .axis_iter(Axis(0))
                .zip(set.labels.iter().map(String::as_str));
            rows.extend(labelled.step_by(step));
        }
    }
    let mut n_of: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, label) in &rows {
        *n_of.entry(label).or_insert(0) += 1;
    }
    let n_most = n_of.values().copied().max().unwrap_or(0);
    // what the most frequent class alone explains tells nothing of a column
    if rows.len() < 2 * MIN_ROWS || n_most as f64 >= 0.95 * rows.len() as f64 {
        return None;
    }
    let tells =
        |column: &usize| guessed(rows.iter().map(|(row, label)| (row[*column], *label)).collect()) >= TELLS;
    let columns = (0..training.features.ncols()).into_par_iter().filter(tells);
    let columns: Vec<usize> = columns.collect();
    let columns: Vec<String> = columns.into_iter().map(name).collect();
    (!columns.is_empty()).then(|| {
        let message = format!(
            "the column {} alone separates the classes, so it may be the label in another form. Leave it \
                out of the files, or allow it if it is known before the label is",
            list_names(&columns)
        );
        Finding::warning("telling_column", message)
    })
}

/// The share of rows whose label is that of most others with the same number, or else of a row with the next number.
fn guessed(mut rows: Vec<(f64, &str)>) -> f64 {
    rows.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let groups: Vec<&[(f64, &str)]> = rows
        .chunk_by(|(one, _), (other, _)| one.total_cmp(other).is_eq())
        .collect();
    let mut n_right = 0;
    for (place, group) in groups.iter().enumerate() {
        let (number, label) = group[0];
        if group.len() > 1 {
            let mut n_of: BTreeMap<&str, usize> = BTreeMap::new();
            for (_, label) in *group {
                *n_of.entry(label).or_insert(0) += 1;
            }
            n_right += n_of.values().copied().max().unwrap_or(0);
            continue;
        }
        let before = place.checked_sub(1).and_then(|before| groups[before].last());
        let after = groups.get(place + 1).and_then(|after| after.first());
        let nearest = [before, after].into_iter().flatten();
        let nearest =
            nearest.min_by(|one, other| (one.0 - number).abs().total_cmp(&(other.0 - number).abs()));
        n_right += usize::from(nearest.is_some_and(|(_, other)| *other == label));
    }
    n_right as f64 / rows.len().max(1) as f64
}

/// Warns if many rows of the test set are in the training set as well.
fn shared(training: &Array2<f64>, test: &Array2<f64>) -> Option<Finding> {
    let row_hash = |row: ArrayView1<'_, f64>| hash(&row.to_vec());
    let known: HashSet<u64> = training.rows().into_iter().map(row_hash).collect();
    let n = test
        .rows()
        .into_iter()
        .filter(|row| known.contains(&row_hash(*row)))
        .count();
    (n as f64 > SHARED * test.nrows() as f64).then(|| {
        let message = format!(
            "{n} of {} rows of the test set are also in the training set, and models may memorize them: \
                remove them from one of the two",
            test.nrows()
        );
        Finding::warning("shared_rows", message)
    })
}

/// The best score of a model that answers with one class whatever it is asked.
fn constant_score(scoring: &CommonScoring, labels: &[String], groups: Option<&[String]>) -> f64 {
    let n = labels.len().max(1) as f64;
    let n_of = |class: &String| labels.iter().filter(|label| *label == class).count() as f64;
    let f1 = |class: &String| 2.0 * n_of(class) / (n + n_of(class));
    let best = |score: &dyn Fn(&String) -> f64| scoring.classes.iter().map(score).fold(0.0, f64::max);
    match &scoring.metric {
        ScoreMetric::Accuracy => best(&|class| n_of(class) / n),
        ScoreMetric::BalancedAccuracy => {
            1.0 / scoring
                .classes
                .iter()
                .filter(|class| n_of(class) > 0.0)
                .count()
                .max(1) as f64
        }
        ScoreMetric::F1 { class } => f1(class),
        ScoreMetric::MacroF1 => best(&|class| f1(class) / scoring.classes.len() as f64),
        ScoreMetric::WorstGroupAccuracy => {
            let mut by_group: BTreeMap<&String, Vec<&String>> = BTreeMap::new();
            for (group, label) in groups.unwrap_or_default().iter().zip(labels) {
                by_group.entry(group).or_default().push(label);
            }
            best(&|class| {
                let share = |labels: &Vec<&String>| {
                    labels.iter().filter(|label| **label == class).count() as f64 / labels.len() as f64
                };
                by_group.values().map(share).fold(1.0, f64::min)
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labelled(rows: &[(&[f64], &str)]) -> Labelled {
        let numbers: Vec<f64> = rows.iter().flat_map(|(row, _)| row.iter().copied()).collect();
        Labelled {
            features: Array2::from_shape_vec((rows.len(), numbers.len() / rows.len()), numbers).unwrap(),
            labels: rows.iter().map(|(_, label)| (*label).to_owned()).collect(),
        }
    }

    /// Rows of a number that tells nothing, a number that numbers the rows in some order, and one that is the label.
    fn rows(first: usize, n: usize) -> Labelled {
        let rows: Vec<([f64; 3], &str)> = (first..first + n)
            .map(|row| {
                let label = row * 7 % 3;
                let noise = (row as f64 * 12.9898).sin() * 43_758.545;
                (
                    [
                        noise.fract(),
                        (row * 11 % 31 + 31 * (row / 31)) as f64,
                        label as f64,
                    ],
                    ["a", "b", "c"][label],
                )
            })
            .collect();
        let rows: Vec<(&[f64], &str)> = rows.iter().map(|(row, label)| (&row[..], *label)).collect();
        labelled(&rows)
    }

    #[test]
    fn columns_that_number_or_tell_are_named() {
        let (training, test) = (rows(0, 62), rows(62, 31));
        let name = |column: usize| format!("c{column}");
        let finding = numbered(&training.features, &test.features, name).unwrap();
        assert!(
            finding.message.contains("`c1`") && !finding.message.contains("`c0`"),
            "{finding:?}"
        );
        let finding = telling(&training, &test, name).unwrap();
        assert!(
            finding.message.contains("`c2`") && !finding.message.contains("`c0`"),
            "{finding:?}"
        );
        assert_eq!(shared(&training.features, &test.features), None);
        assert!(shared(&training.features, &training.features).is_some());
        assert_eq!(constant(&training.features, "x"), None);
        assert!(constant(&Array2::zeros((5, 2)), "x").unwrap().refuses);
    }

    #[test]
    fn one_answer_gets_the_score_of_its_metric() {
        let labels: Vec<String> = ["a", "a", "a", "b"].map(str::to_owned).to_vec();
        let score = |metric: ScoreMetric, groups: Option<&[String]>| {
            let scoring = CommonScoring {
                classes: vec!["a".into(), "b".into()],
                metric,
            };
            constant_score(&scoring, &labels, groups)
        };
        let groups = ["x", "x", "y", "y"].map(str::to_owned);
        for (metric, groups, expected) in [
            (ScoreMetric::Accuracy, None, 0.75),
            (ScoreMetric::BalancedAccuracy, None, 0.5),
            (ScoreMetric::F1 { class: "b".into() }, None, 0.4),
            (ScoreMetric::MacroF1, None, 3.0 / 7.0),
            (ScoreMetric::WorstGroupAccuracy, Some(&groups[..]), 0.5),
        ] {
            let actual = score(metric.clone(), groups);
            assert!((actual - expected).abs() < 1e-12, "{metric:?}: {actual}");
        }
    }
}
