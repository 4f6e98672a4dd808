//! Imports the public layout of Debugging for Vision: parquet embeddings with labels for each task, and the right labels
//! of the training images.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use crate::vision_debugging::{
    EMBEDDINGS, Extent, LABELS, Parameters, TARGET_SHARE, VisionDebugging, eval_file, train_file,
    train_images_file, truth_file, validation_file,
};
use dataperf::dataset::frozen::{Dtype, FrozenError, Manifest};
use dataperf_numerics::models::boosted_trees::MAX_TRAINING_ROWS;
use rayon::prelude::*;

use dataperf_datasets::labels::labelled::{self, IdsAt, LabelledAt, LabelsAt, RowsAt};
use dataperf_datasets::tables::embeddings::{self, Columns};
use dataperf_datasets::tables::lines::open_csv;
use dataperf_datasets::{DatasetWriter, Planned};
use dataperf_datasets::{Import, ImportError, KitTable, Progress, Values, named, text_if_there};

const COLUMNS: Columns = Columns {
    id: "filename",
    vector: "encoding",
};
const LABEL: &str = "label";
const TRUE_ID: &str = "ImageID";
const TRUE_LABEL: &str = "hv_label";

/// Images with the labels that their file gives them.
fn images(
    directory: &Path,
    manifest: &Manifest,
    name: String,
    rows: RowsAt,
) -> Result<KitTable, FrozenError> {
    let mut columns = Vec::new();
    if let Some(ids) = rows.ids(directory, manifest)? {
        columns.push(("id".to_owned(), Values::Text(ids)));
    }
    let labels = labelled::bytes(directory, manifest, &rows.file, LABELS)?;
    let labels = labels.into_iter().map(i64::from).collect();
    columns.push(("label".to_owned(), Values::Whole(labels)));
    Ok(KitTable {
        name,
        columns,
        rows: Some(rows.into()),
    })
}

impl Import for VisionDebugging {
    const LAYOUT: &'static str = "a directory with, for each task, `embeddings/TASK_train_*.parquet`, \
        `embeddings/TASK_test_*.parquet`, `data/dataset_TASK_train.csv` with the right labels and, if there are any, \
        `embeddings/TASK_val_*.parquet`; `curves.txt` may say `until_target`, to compute no more than the score needs";

    fn guide(_manifest: &Manifest) -> Result<String, FrozenError> {
        Ok(include_str!("kit/guide.md").to_owned())
    }

    const STARTER: &'static str = include_str!("kit/starter.py");

    fn tables(directory: &Path, manifest: &Manifest) -> Result<Vec<KitTable>, FrozenError> {
        let mut tables = Vec::new();
        for task in manifest.parameters::<Parameters>()?.tasks {
            let train =
                RowsAt::new(train_file(&task), EMBEDDINGS).with_ids(IdsAt::Lines(train_images_file(&task)));
            tables.push(images(directory, manifest, format!("{task}-train"), train)?);
            let validation = RowsAt::new(validation_file(&task), EMBEDDINGS);
            if manifest.files.contains_key(&validation.file) {
                tables.push(images(
                    directory,
                    manifest,
                    format!("{task}-validation"),
                    validation,
                )?);
            }
        }
        Ok(tables)
    }

    fn labelled(manifest: &Manifest) -> Result<Vec<LabelledAt>, FrozenError> {
        let parameters: Parameters = manifest.parameters()?;
        let of_task = |task: String| LabelledAt {
            classes: vec!["0".to_owned(), "1".to_owned()],
            rows: RowsAt::new(eval_file(&task), EMBEDDINGS),
            labels: LabelsAt::Bytes {
                file: eval_file(&task),
                tensor: LABELS,
            },
            training: [
                RowsAt::new(train_file(&task), EMBEDDINGS).with_ids(IdsAt::Lines(train_images_file(&task))),
                RowsAt::new(validation_file(&task), EMBEDDINGS),
            ]
            .into_iter()
            .filter(|rows| manifest.files.contains_key(&rows.file))
            .collect(),
            name: task,
        };
        Ok(parameters.tasks.into_iter().map(of_task).collect())
    }

    fn import(
        from: &Path,
        writer: &mut DatasetWriter,
        progress: &dyn Progress,
    ) -> Result<serde_json::Value, ImportError> {
        let refused = |problems| ImportError::Refused {
            from: from.to_owned(),
            problems,
        };
        let (sources, mut problems) = sources(from)?;
        let curves = curves(&from.join("curves.txt")).unwrap_or_else(|problem| {
            problems.push(problem);
            Extent::Whole
        });
        progress.begin("importing tasks", sources.len() as u64);
        let read: Vec<Result<Task, Vec<String>>> = sources
            .par_iter()
            .map(|(name, source)| {
                let task = Task::read(name, source);
                progress.advance(1);
                task
            })
            .collect();
        let mut tasks = Vec::new();
        for task in read {
            match task {
                Ok(task) => tasks.push(task),
                Err(errors) => problems.extend(errors),
            }
        }
        let n_features = tasks.first().map_or(0, |task| task.train.n_features);
        problems.extend(tasks.iter().flat_map(|task| task.check_width(n_features)));
        if !problems.is_empty() {
            return Err(refused(problems));
        }
        for task in &tasks {
            task.freeze(writer)?;
        }
        let parameters = Parameters {
            tasks: tasks.into_iter().map(|task| task.name).collect(),
            n_features,
            target_share: TARGET_SHARE,
            curves,
        };
        serde_json::to_value(&parameters).map_err(|error| ImportError::refused(from, error.to_string()))
    }
}

fn curves(path: &Path) -> Result<Extent, String> {
    match text_if_there(path)? {
        None => Ok(Extent::Whole),
        Some(text) => match text.trim() {
            "whole" => Ok(Extent::Whole),
            "until_target" => Ok(Extent::UntilTarget),
            other => Err(format!(
                "`{}` has `{other}`: write `whole` or `until_target`",
                path.display()
            )),
        },
    }
}

/// The files of one task.
#[derive(Debug, Default)]
struct Source {
    train: PathBuf,
    test: PathBuf,
    validation: Option<PathBuf>,
    truth: PathBuf,
}

/// The files of each task by its name, and sentences about missing ones.
fn sources(from: &Path) -> Result<(BTreeMap<String, Source>, Vec<String>), ImportError> {
    let mut files: BTreeMap<(String, &str), Vec<PathBuf>> = BTreeMap::new();
    for (stem, path) in named(&from.join("embeddings"), "", ".parquet")? {
        let split = ["train", "test", "val"]
            .into_iter()
            .find_map(|split| Some((stem.split_once(&format!("_{split}_"))?.0, split)));
        if let Some((task, split)) = split {
            files.entry((task.to_owned(), split)).or_default().push(path);
        }
    }
    let tasks: BTreeSet<String> = files.keys().map(|(task, _)| task.clone()).collect();
    let mut problems = Vec::new();
    if tasks.is_empty() {
        problems.push("`embeddings` has no file `TASK_train_*.parquet`: add one for each task".to_owned());
    }
    let mut sources = BTreeMap::new();
    for task in tasks {
        let mut only = |split, is_needed: bool| {
            let mut paths = files.remove(&(task.clone(), split)).unwrap_or_default();
            if paths.len() > 1 || (is_needed && paths.is_empty()) {
                let n = paths.len();
                problems.push(format!(
                    "`embeddings` has {n} files `{task}_{split}_*.parquet`: there must be one"
                ));
            }
            paths.pop()
        };
        let (train, test, validation) = (only("train", true), only("test", true), only("val", false));
        let truth = from.join("data").join(format!("dataset_{task}_train.csv"));
        if let (Some(train), Some(test)) = (train, test) {
            let source = Source {
                train,
                test,
                validation,
                truth,
            };
            sources.insert(task, source);
        }
    }
    Ok((sources, problems))
}

/// Images with their labels, in the order of their file.
#[derive(Debug, Default)]
struct Images {
    path: PathBuf,
    names: Vec<String>,
    n_features: usize,
    numbers: Vec<f32>,
    labels: Vec<u8>,
}

impl Images {
    fn read(path: &Path) -> Result<Self, Vec<String>> {
        let mut images = Self {
            path: path.to_owned(),
            ..Self::default()
        };
        let mut seen = BTreeSet::new();
        let about = |why: String| format!("`{}`: {why}", path.display());
        let read = embeddings::read(path, COLUMNS, |name, vector| {
            if images.names.is_empty() {
                images.n_features = vector.len();
            }
            let expected = images.n_features;
            images.names.push(name.to_owned());
            images.numbers.extend_from_slice(vector);
            if vector.len() != expected || expected == 0 {
                let n = vector.len();
                return Err(about(format!("`{name}` has {n} numbers instead of {expected}")));
            }
            if !seen.insert(name.to_owned()) {
                return Err(about(format!("`{name}` appears twice")));
            }
            Ok(())
        });
        let labels = embeddings::read_labels(path, LABEL);
        let mut problems: Vec<String> = read.err().into_iter().flatten().collect();
        match labels {
            Ok(labels) => images.labels = labels,
            Err(errors) => problems.extend(errors),
        }
        if problems.is_empty() && images.names.is_empty() {
            problems.push(about("it has no rows".to_owned()));
        }
        if problems.is_empty() {
            Ok(images)
        } else {
            Err(problems)
        }
    }

    fn freeze(&self, path: &str, writer: &mut DatasetWriter) -> Result<(), ImportError> {
        let n_rows = self.labels.len();
        let planned = [
            Planned {
                name: EMBEDDINGS,
                dtype: Dtype::F32,
                shape: vec![n_rows, self.n_features],
            },
            Planned {
                name: LABELS,
                dtype: Dtype::U8,
                shape: vec![n_rows],
            },
        ];
        writer.tensors(path, &planned, |file| {
            file.write_f32(&self.numbers)?;
            file.write(&self.labels)
        })
    }
}

struct Task {
    name: String,
    train: Images,
    test: Images,
    validation: Option<Images>,
    truth: Vec<u8>,
}

impl Task {
    fn read(name: &str, source: &Source) -> Result<Self, Vec<String>> {
        let train = Images::read(&source.train);
        let test = Images::read(&source.test);
        let validation = source.validation.as_deref().map(Images::read).transpose();
        let (train, test, validation) = match (train, test, validation) {
            (Ok(train), Ok(test), Ok(validation)) => (train, test, validation),
            (train, test, validation) => {
                let problems = [train.err(), test.err(), validation.err()];
                return Err(problems.into_iter().flatten().flatten().collect());
            }
        };
        let n_rows = train.names.len();
        if n_rows > MAX_TRAINING_ROWS {
            return Err(vec![format!(
                "`{}`: it has {n_rows} rows, the limit is {MAX_TRAINING_ROWS}",
                source.train.display()
            )]);
        }
        let truth = truth(&source.truth, &train.names)?;
        Ok(Self {
            name: name.to_owned(),
            train,
            test,
            validation,
            truth,
        })
    }

    fn check_width(&self, n_features: usize) -> Vec<String> {
        let images = [&self.train, &self.test].into_iter().chain(&self.validation);
        let wrong = images.filter(|images| images.n_features != n_features);
        wrong
            .map(|images| {
                format!(
                    "`{}`: its vectors have {} numbers, those of the first task {n_features}",
                    images.path.display(),
                    images.n_features
                )
            })
            .collect()
    }

    fn freeze(&self, writer: &mut DatasetWriter) -> Result<(), ImportError> {
        self.train.freeze(&train_file(&self.name), writer)?;
        writer.lines(&train_images_file(&self.name), &self.train.names)?;
        self.test.freeze(&eval_file(&self.name), writer)?;
        if let Some(validation) = &self.validation {
            validation.freeze(&validation_file(&self.name), writer)?;
        }
        let planned = Planned {
            name: LABELS,
            dtype: Dtype::U8,
            shape: vec![self.truth.len()],
        };
        writer.tensors(&truth_file(&self.name), &[planned], |file| {
            file.write(&self.truth)
        })
    }
}

/// The right labels of the named images; their file has another order.
fn truth(path: &Path, names: &[String]) -> Result<Vec<u8>, Vec<String>> {
    let about = |why: String| format!("`{}`: {why}", path.display());
    let failed = |error: csv::Error| vec![about(error.to_string())];
    let mut reader = open_csv(path).map_err(|why| vec![about(why)])?;
    let header = reader.headers().map_err(failed)?;
    let column = |name| header.iter().position(|other| other == name);
    let (Some(id), Some(label)) = (column(TRUE_ID), column(TRUE_LABEL)) else {
        return Err(vec![about(format!(
            "it needs the columns `{TRUE_ID}` and `{TRUE_LABEL}`"
        ))]);
    };
    let (mut labels, mut problems) = (HashMap::new(), Vec::new());
    for record in reader.records() {
        let record = record.map_err(failed)?;
        let (id, label) = (&record[id], &record[label]);
        let label = match label.trim() {
            "0" => 0,
            "1" => 1,
            other => {
                problems.push(about(format!("the label of `{id}` is `{other}`, not 0 or 1")));
                continue;
            }
        };
        if labels.insert(id.to_owned(), label).is_some() {
            problems.push(about(format!("`{id}` appears twice")));
        }
    }
    let of_names = names.iter().map(|name| {
        let label = labels.get(name).copied();
        if label.is_none() {
            problems.push(about(format!("it has no right label for `{name}`")));
        }
        label.unwrap_or_default()
    });
    let of_names = of_names.collect();
    if problems.is_empty() {
        Ok(of_names)
    } else {
        Err(problems)
    }
}
