//! Imports the public layout of Selection for Vision: parquet embeddings of the pool and of each concept's test set.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::vision_selection::{
    EMBEDDINGS, LABELS, MAX_EXAMPLES, POOL_FILE, POOL_INDEX_FILE, Parameters, VisionSelection, eval_file,
    examples_file,
};
use dataperf::dataset::frozen::{Dtype, FrozenError, Manifest};
use dataperf::dataset::pool::{FINGERPRINTS, RECORDS, fingerprint, padded_id_bytes};

use dataperf_datasets::labels::labelled::{LabelledAt, LabelsAt, RowsAt};
use dataperf_datasets::tables::embeddings::{self, Columns};
use dataperf_datasets::tables::lines::open_csv;
use dataperf_datasets::{DatasetWriter, Planned};
use dataperf_datasets::{Import, ImportError, KitTable, Progress, Values, named};

mod training_sets;

const COLUMNS: Columns = Columns {
    id: "ImageID",
    vector: "embedding",
};
const LABEL: &str = "Confidence";
/// The most bytes of an id: a longer one is taken for a mistake, and every record of the pool would need room for it.
const MAX_ID_BYTES: usize = 128;

/// Where the pool's records are.
fn pool_rows(parameters: &Parameters) -> RowsAt {
    RowsAt {
        id_bytes: Some(parameters.id_bytes),
        ..RowsAt::new(POOL_FILE, RECORDS)
    }
}

impl Import for VisionSelection {
    const LAYOUT: &'static str = "a directory with `embeddings/train_emb_256_dataperf.parquet`, \
        `test_sets/alpha_test_set_CONCEPT_256.parquet` for each concept and, if there are any, \
        `examples/alpha_example_set_CONCEPT.csv` and training sets, `train_sets/CONCEPT_NAME.csv` for each concept or \
        `train_sets/NAME.csv` for all of them";

    fn guide(_manifest: &Manifest) -> Result<String, FrozenError> {
        Ok(include_str!("kit/guide.md").to_owned())
    }

    const STARTER: &'static str = include_str!("kit/starter.py");

    fn tables(directory: &Path, manifest: &Manifest) -> Result<Vec<KitTable>, FrozenError> {
        let rows = pool_rows(&manifest.parameters()?);
        let ids = rows.record_ids(directory, manifest)?;
        Ok(vec![KitTable {
            name: "pool".to_owned(),
            columns: vec![("id".to_owned(), Values::Text(ids))],
            rows: Some(rows.into()),
        }])
    }

    fn labelled(manifest: &Manifest) -> Result<Vec<LabelledAt>, FrozenError> {
        let parameters: Parameters = manifest.parameters()?;
        let pool = pool_rows(&parameters);
        let of_concept = |concept: String| LabelledAt {
            classes: vec![format!("not {concept}"), concept.clone()],
            rows: RowsAt::new(eval_file(&concept), EMBEDDINGS),
            labels: LabelsAt::Bytes {
                file: eval_file(&concept),
                tensor: LABELS,
            },
            training: vec![pool.clone()],
            name: concept,
        };
        Ok(parameters.concepts.into_iter().map(of_concept).collect())
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
        let pools = named(&from.join("embeddings"), "train_emb_", "_dataperf.parquet")?;
        let mut problems = Vec::new();
        let tests = test_sets(from, &mut problems)?;
        if pools.len() != 1 {
            let n = pools.len();
            problems.push(format!(
                "`embeddings` has {n} files `train_emb_N_dataperf.parquet`: there must be one"
            ));
        }
        if tests.is_empty() {
            problems.push(
                "`test_sets` has no file `alpha_test_set_CONCEPT_N.parquet`: add one for each concept".into(),
            );
        }
        let Some(pool_path) = pools.into_values().next().filter(|_| problems.is_empty()) else {
            return Err(refused(problems));
        };
        let mut width = None;
        let mut read = Vec::new();
        for (concept, path) in &tests {
            match TestSet::read(path, &mut width) {
                Ok(test) => read.push((concept, test)),
                Err(errors) => problems.extend(errors),
            }
        }
        let n_features = width.unwrap_or(0);
        match Pool::read(pool_path) {
            Ok(pool) if problems.is_empty() => {
                problems.extend(pool.freeze(n_features, writer, progress)?);
                let parameters = Parameters {
                    concepts: tests.keys().cloned().collect(),
                    max_examples: MAX_EXAMPLES,
                    n_features,
                    id_bytes: pool.id_bytes,
                };
                for (concept, test) in read {
                    test.freeze(concept, n_features, writer)?;
                }
                problems.extend(freeze_examples(from, &parameters.concepts, writer)?);
                problems.extend(training_sets::freeze(from, &parameters.concepts, writer)?);
                if problems.is_empty() {
                    let json = serde_json::to_value(&parameters);
                    return json.map_err(|error| ImportError::refused(from, error.to_string()));
                }
            }
            Ok(_) => {}
            Err(errors) => problems.extend(errors),
        }
        Err(refused(problems))
    }
}

/// The test set of each concept; the number at the end of a file's name is the width of its embeddings. Two test sets of one
/// concept are a problem.
fn test_sets(from: &Path, problems: &mut Vec<String>) -> Result<BTreeMap<String, PathBuf>, ImportError> {
    let mut tests = BTreeMap::new();
    for (name, path) in named(&from.join("test_sets"), "alpha_test_set_", ".parquet")? {
        let of_form = name
            .rsplit_once('_')
            .filter(|(_, width)| width.chars().all(|c| c.is_ascii_digit()));
        let Some((concept, _)) = of_form else {
            problems.push(format!(
                "`{}` is not called `alpha_test_set_CONCEPT_N.parquet`",
                path.display()
            ));
            continue;
        };
        if tests.insert(concept.to_owned(), path).is_some() {
            problems.push(format!(
                "`test_sets` has more than one file of `{concept}`: keep one"
            ));
        }
    }
    Ok(tests)
}

struct TestSet {
    numbers: Vec<f32>,
    labels: Vec<u8>,
}

impl TestSet {
    fn read(path: &Path, width: &mut Option<usize>) -> Result<Self, Vec<String>> {
        let mut numbers = Vec::new();
        let mut seen = BTreeSet::new();
        let read = embeddings::read(path, COLUMNS, |id, vector| {
            let expected = *width.get_or_insert(vector.len());
            numbers.extend_from_slice(vector);
            if vector.len() != expected || expected == 0 {
                return Err(format!(
                    "`{}`: `{id}` has {} numbers instead of {expected}",
                    path.display(),
                    vector.len()
                ));
            }
            if !seen.insert(id.to_owned()) {
                return Err(format!("`{}`: `{id}` appears twice", path.display()));
            }
            Ok(())
        });
        let labels = match (read, embeddings::read_labels(path, LABEL)) {
            (Ok(()), Ok(labels)) => labels,
            (read, labels) => {
                return Err([read.err(), labels.err()]
                    .into_iter()
                    .flatten()
                    .flatten()
                    .collect());
            }
        };
        if !labels.contains(&1) {
            return Err(vec![format!(
                "`{}`: no row has the `{LABEL}` 1: F1 needs some",
                path.display()
            )]);
        }
        Ok(Self { numbers, labels })
    }

    fn freeze(
        &self,
        concept: &str,
        n_features: usize,
        writer: &mut DatasetWriter,
    ) -> Result<(), ImportError> {
        let n_rows = self.labels.len();
        let planned = [
            Planned {
                name: EMBEDDINGS,
                dtype: Dtype::F32,
                shape: vec![n_rows, n_features],
            },
            Planned {
                name: LABELS,
                dtype: Dtype::U8,
                shape: vec![n_rows],
            },
        ];
        writer.tensors(&eval_file(concept), &planned, |file| {
            file.write_f32(&self.numbers)?;
            file.write(&self.labels)
        })
    }
}

/// The pool's ids in the order of the source, and the row that each gets in the frozen pool. The vectors stay in their file.
struct Pool {
    path: PathBuf,
    id_bytes: usize,
    /// The fingerprints of the ids, ascending.
    fingerprints: Vec<u32>,
    /// The row in the frozen pool of each row of the source.
    row_of: Vec<u32>,
}

impl Pool {
    fn read(path: PathBuf) -> Result<Self, Vec<String>> {
        let (mut text, mut ends) = (String::new(), vec![0]);
        let mut problems = Vec::new();
        let about = |why: String| format!("`{}`: {why}", path.display());
        embeddings::read_ids(&path, COLUMNS.id, |id| {
            if id.is_empty() || id.len() > MAX_ID_BYTES || id.contains('\0') {
                problems.push(about(format!(
                    "an id has {} bytes, or a zero byte: 1 to {MAX_ID_BYTES} are possible",
                    id.len()
                )));
            }
            text.push_str(id);
            ends.push(text.len());
        })?;
        let n_rows = ends.len() - 1;
        let id = |row: u32| &text[ends[row as usize]..ends[row as usize + 1]];
        if n_rows == 0 || u32::try_from(n_rows).is_err() {
            problems.push(about(format!(
                "it has {n_rows} rows: 1 to {} are possible",
                u32::MAX
            )));
            return Err(problems);
        }
        let mut order: Vec<(u32, u32)> = (0..n_rows as u32)
            .map(|row| (fingerprint(id(row)), row))
            .collect();
        order.sort_unstable_by(|a, b| (a.0, id(a.1)).cmp(&(b.0, id(b.1))));
        let twice = order
            .windows(2)
            .filter(|pair| pair[0].0 == pair[1].0 && id(pair[0].1) == id(pair[1].1));
        problems.extend(twice.map(|pair| about(format!("`{}` appears twice", id(pair[0].1)))));
        if !problems.is_empty() {
            return Err(problems);
        }
        let longest = (0..n_rows as u32).map(|row| id(row).len()).max().unwrap_or(0);
        let mut row_of = vec![0; n_rows];
        for (&(_, source), row) in order.iter().zip(0..) {
            row_of[source as usize] = row;
        }
        let fingerprints = order.into_iter().map(|(fingerprint, _)| fingerprint).collect();
        Ok(Self {
            path,
            id_bytes: padded_id_bytes(longest),
            fingerprints,
            row_of,
        })
    }

    /// Writes the index and the records, and returns the problems of the vectors.
    fn freeze(
        &self,
        n_features: usize,
        writer: &mut DatasetWriter,
        progress: &dyn Progress,
    ) -> Result<Vec<String>, ImportError> {
        let n_rows = self.row_of.len();
        let planned = Planned {
            name: FINGERPRINTS,
            dtype: Dtype::U32,
            shape: vec![n_rows],
        };
        writer.tensors(POOL_INDEX_FILE, &[planned], |file| {
            self.fingerprints
                .iter()
                .try_for_each(|fingerprint| file.write(&fingerprint.to_le_bytes()))
        })?;
        progress.begin("importing the pool", n_rows as u64);
        let mut problems = Vec::new();
        let planned = Planned {
            name: RECORDS,
            dtype: Dtype::U8,
            shape: vec![n_rows, self.id_bytes + 4 * n_features],
        };
        let mut failed = None;
        let written = writer.scattered(POOL_FILE, planned, |records| {
            let mut rows = self.row_of.iter();
            let mut record = Vec::new();
            let read = embeddings::read(&self.path, COLUMNS, |id, vector| {
                if vector.len() != n_features {
                    let n = vector.len();
                    return Err(format!(
                        "`{}`: `{id}` has {n} numbers instead of {n_features}",
                        self.path.display()
                    ));
                }
                record.clear();
                record.extend_from_slice(id.as_bytes());
                record.resize(self.id_bytes, 0);
                record.extend(vector.iter().flat_map(|number| number.to_le_bytes()));
                let row = rows.next().map_or(0, |&row| row as usize);
                progress.advance(1);
                records.write(row, &record).map_err(|error| {
                    let why = error.to_string();
                    failed = Some(error);
                    why
                })
            });
            problems.extend(read.err().into_iter().flatten());
            Ok(())
        });
        match (failed, written) {
            (Some(error), _) => Err(error),
            (None, Err(error)) if problems.is_empty() => Err(error),
            (None, _) if !problems.is_empty() => Ok(problems),
            (None, _) => writer.row_digests(POOL_FILE, RECORDS).map(|()| problems),
        }
    }
}

/// Copies the ids of each concept's example images, and returns the problems found.
fn freeze_examples(
    from: &Path,
    concepts: &[String],
    writer: &mut DatasetWriter,
) -> Result<Vec<String>, ImportError> {
    let mut problems = Vec::new();
    for (concept, path) in named(&from.join("examples"), "alpha_example_set_", ".csv")? {
        let about = |why: String| format!("`{}`: {why}", path.display());
        if !concepts.contains(&concept) {
            problems.push(about(format!(
                "there is no test set for `{concept}`: add it, or remove the examples"
            )));
            continue;
        }
        match example_ids(&path) {
            Ok(ids) => writer.lines(&examples_file(&concept), &ids)?,
            Err(why) => problems.push(about(why)),
        }
    }
    Ok(problems)
}

fn example_ids(path: &Path) -> Result<Vec<String>, String> {
    let mut reader = open_csv(path)?;
    let header = reader.headers().map_err(|error| error.to_string())?;
    let column = header.iter().position(|name| name == COLUMNS.id);
    let column = column.ok_or_else(|| format!("it has no column `{}`", COLUMNS.id))?;
    let id = |record: Result<csv::StringRecord, csv::Error>| {
        let record = record.map_err(|error| error.to_string())?;
        Ok(record.get(column).unwrap_or_default().to_owned())
    };
    reader.records().map(id).collect()
}
