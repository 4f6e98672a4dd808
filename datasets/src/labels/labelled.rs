//! The places of the labels in a data set, and of the rows that they describe.
//!
//! A benchmark says it of its manifest by [`crate::Import::labelled`]; audits and corrections go by it, and know no benchmark.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use bytes::Bytes;
use dataperf::dataset::encoding::encoding;
use dataperf::dataset::frozen::{Dtype, FrozenError, Manifest, TensorEntry};
use dataperf_numerics::numbers::Stored;
use ndarray::Array2;

use crate::labels::near::BLOCK_ROWS;

/// A test set with labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelledAt {
    /// Its name, as the unit of evidence has it.
    pub name: String,
    /// The classes, numbered in this order.
    pub classes: Vec<String>,
    /// Its rows.
    pub rows: RowsAt,
    /// Its labels.
    pub labels: LabelsAt,
    /// The rows that models are trained on: none of them may be in the test set.
    pub training: Vec<RowsAt>,
}

/// The place of rows of numbers: floats, whole numbers for decimals, or grey levels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowsAt {
    /// The file.
    pub file: String,
    /// The tensor in it, of two axes.
    pub tensor: &'static str,
    /// The decimals of whole numbers.
    pub n_decimals: Option<u32>,
    /// Bytes of an id before each row's 32-bit floats, as a [`dataperf::dataset::pool`] has them.
    pub id_bytes: Option<usize>,
    /// The place of the rows' ids, if they have some.
    pub ids: Option<IdsAt>,
}

/// The place of the rows' ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdsAt {
    /// In a text file, one a line.
    Lines(String),
    /// In a CSV's column, if it has the column.
    Column(String, &'static str),
}

/// The place of labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LabelsAt {
    /// Class numbers, a byte each, in a tensor.
    Bytes {
        /// The file.
        file: String,
        /// The tensor.
        tensor: &'static str,
    },
    /// Class names in a column of a CSV.
    Column {
        /// The file.
        file: String,
        /// The column.
        column: &'static str,
    },
}

impl LabelsAt {
    /// The file that has them.
    pub fn file(&self) -> &str {
        match self {
            Self::Bytes { file, .. } | Self::Column { file, .. } => file,
        }
    }
}

/// A test set that has been read.
#[derive(Debug, Clone, PartialEq)]
pub struct Labelled {
    /// Its place.
    pub at: LabelledAt,
    /// `(n_items, n_features)`
    pub features: Array2<f64>,
    /// `(n_items,)` class numbers.
    pub labels: Vec<usize>,
    /// `(n_items,)`, where items have ids.
    pub ids: Option<Vec<String>>,
}

impl RowsAt {
    /// Rows in a tensor of floats, without ids.
    pub fn new(file: impl Into<String>, tensor: &'static str) -> Self {
        Self {
            file: file.into(),
            tensor,
            n_decimals: None,
            id_bytes: None,
            ids: None,
        }
    }

    /// The same with ids.
    #[must_use]
    pub fn with_ids(mut self, ids: IdsAt) -> Self {
        self.ids = Some(ids);
        self
    }

    fn entry<'m>(&self, manifest: &'m Manifest) -> Result<&'m TensorEntry, FrozenError> {
        let entry = manifest.any_tensor(&self.file, self.tensor)?;
        if entry.shape.len() == 2 {
            Ok(entry)
        } else {
            let why = format!(
                "its tensor `{}` has {} axes instead of 2",
                self.tensor,
                entry.shape.len()
            );
            Err(FrozenError::damaged(&self.file, why))
        }
    }

    /// How many rows there are, and numbers in each.
    ///
    /// # Errors
    /// [`FrozenError`] when the manifest has no such tensor.
    pub fn shape(&self, manifest: &Manifest) -> Result<(usize, usize), FrozenError> {
        let entry = self.entry(manifest)?;
        let width = entry.shape[1];
        let n_features = self.id_bytes.map_or(width, |n| width.saturating_sub(n) / 4);
        Ok((entry.n_rows(), n_features))
    }

    /// Hands all rows to `each`, some at a time: the number of the first one, and `(n_rows, n_features)`.
    ///
    /// # Errors
    /// [`FrozenError`] when the file is not what the manifest says.
    pub fn each_block(
        &self,
        directory: &Path,
        manifest: &Manifest,
        each: &mut dyn FnMut(usize, Array2<f64>),
    ) -> Result<(), FrozenError> {
        let damaged = |why: String| FrozenError::damaged(&self.file, why);
        let entry = self.entry(manifest)?;
        let (n_rows, n_features) = self.shape(manifest)?;
        let row_bytes = entry.row_bytes().unwrap_or(0) as usize;
        let mut file = File::open(directory.join(&self.file)).map_err(|error| damaged(error.to_string()))?;
        file.seek(SeekFrom::Start(entry.begin))
            .map_err(|error| damaged(error.to_string()))?;
        for first in (0..n_rows).step_by(BLOCK_ROWS) {
            let n = BLOCK_ROWS.min(n_rows - first);
            let mut bytes = vec![0; n * row_bytes];
            file.read_exact(&mut bytes)
                .map_err(|error| damaged(error.to_string()))?;
            let numbers = self.numbers(entry.dtype, &bytes, row_bytes)?;
            let rows = Array2::from_shape_vec((n, n_features), numbers);
            each(first, rows.map_err(|error| damaged(error.to_string()))?);
        }
        Ok(())
    }

    fn numbers(&self, dtype: Dtype, bytes: &[u8], row_bytes: usize) -> Result<Vec<f64>, FrozenError> {
        let (dtype, without_ids) = match (dtype, self.id_bytes) {
            (Dtype::U8, Some(n)) => {
                let rows = bytes.chunks_exact(row_bytes.max(1));
                (
                    Dtype::F32,
                    rows.flat_map(|row| row[n.min(row.len())..].to_vec()).collect(),
                )
            }
            (Dtype::U8, None) => return Ok(bytes.iter().map(|&level| f64::from(level)).collect()),
            _ => (dtype, bytes.to_vec()),
        };
        let encoding = encoding(dtype, self.n_decimals).ok_or_else(|| {
            FrozenError::damaged(
                &self.file,
                format!("its numbers are {dtype:?} with {:?} decimals", self.n_decimals),
            )
        })?;
        let mut stored = Stored::with_capacity(encoding, without_ids.len() / dtype.size() as usize);
        stored.extend(&without_ids);
        Ok(stored.view().to_f64())
    }

    /// All rows, `(n_rows, n_features)`.
    ///
    /// # Errors
    /// As [`each_block`](Self::each_block).
    pub fn read(&self, directory: &Path, manifest: &Manifest) -> Result<Array2<f64>, FrozenError> {
        let (n_rows, n_features) = self.shape(manifest)?;
        let mut numbers = Vec::with_capacity(n_rows * n_features);
        self.each_block(directory, manifest, &mut |_, rows| numbers.extend(rows))?;
        Array2::from_shape_vec((n_rows, n_features), numbers)
            .map_err(|error| FrozenError::damaged(&self.file, error.to_string()))
    }

    /// The ids in a pool's records.
    ///
    /// # Errors
    /// [`FrozenError`] when the file is not what the manifest says.
    pub fn record_ids(&self, directory: &Path, manifest: &Manifest) -> Result<Vec<String>, FrozenError> {
        let damaged = |why: String| FrozenError::damaged(&self.file, why);
        let entry = self.entry(manifest)?;
        let mut record = vec![0; entry.row_bytes().unwrap_or(0) as usize];
        let file = File::open(directory.join(&self.file)).map_err(|error| damaged(error.to_string()))?;
        let mut file = BufReader::with_capacity(1 << 20, file);
        file.seek(SeekFrom::Start(entry.begin))
            .map_err(|error| damaged(error.to_string()))?;
        let id_bytes = self.id_bytes.unwrap_or(0).min(record.len());
        let mut ids = Vec::with_capacity(entry.n_rows());
        for _ in 0..entry.n_rows() {
            file.read_exact(&mut record)
                .map_err(|error| damaged(error.to_string()))?;
            let id = std::str::from_utf8(&record[..id_bytes]);
            let id = id.map_err(|_| damaged("an id is not UTF-8".into()))?;
            ids.push(id.trim_end_matches('\0').to_owned());
        }
        Ok(ids)
    }

    /// The rows' ids, where they have some.
    ///
    /// # Errors
    /// [`FrozenError`] when the file can't be read or has another number of ids.
    pub fn ids(&self, directory: &Path, manifest: &Manifest) -> Result<Option<Vec<String>>, FrozenError> {
        let (ids, path) = match &self.ids {
            None => return Ok(None),
            Some(IdsAt::Lines(path)) => {
                let bytes = whole(directory, path)?;
                let text =
                    std::str::from_utf8(&bytes).map_err(|_| FrozenError::damaged(path, "it is not UTF-8"))?;
                (text.lines().map(str::to_owned).collect(), path)
            }
            Some(IdsAt::Column(path, column)) => {
                let mut columns = columns(directory, path)?;
                match columns.remove(*column) {
                    None => return Ok(None),
                    Some(ids) => (ids, path),
                }
            }
        };
        let n_rows = self.shape(manifest)?.0;
        if ids.len() == n_rows {
            Ok(Some(ids))
        } else {
            Err(FrozenError::damaged(
                path,
                format!("it has {} ids for {n_rows} rows", ids.len()),
            ))
        }
    }
}

impl LabelledAt {
    /// Reads the test set.
    ///
    /// # Errors
    /// [`FrozenError`] when a file is not what the manifest says.
    pub fn read(&self, directory: &Path, manifest: &Manifest) -> Result<Labelled, FrozenError> {
        let features = self.rows.read(directory, manifest)?;
        let labels = self.labels(directory, manifest)?;
        if labels.len() != features.nrows() {
            let why = format!("it has {} labels for {} rows", labels.len(), features.nrows());
            return Err(FrozenError::damaged(self.labels.file(), why));
        }
        Ok(Labelled {
            at: self.clone(),
            features,
            labels,
            ids: self.rows.ids(directory, manifest)?,
        })
    }

    /// The labels alone, `(n_items,)` class numbers.
    ///
    /// # Errors
    /// [`FrozenError`] when the file is not what the manifest says.
    pub fn labels(&self, directory: &Path, manifest: &Manifest) -> Result<Vec<usize>, FrozenError> {
        let file = self.labels.file();
        let labels: Vec<Option<usize>> = match &self.labels {
            LabelsAt::Bytes { tensor, .. } => {
                let labels = bytes(directory, manifest, file, tensor)?;
                labels.iter().map(|&label| Some(usize::from(label))).collect()
            }
            LabelsAt::Column { column, .. } => {
                let mut columns = columns(directory, file)?;
                let missing = || FrozenError::damaged(file, format!("it has no column `{column}`"));
                let names = columns.remove(*column).ok_or_else(missing)?;
                let class = |name: &String| self.classes.iter().position(|class| class == name);
                names.iter().map(class).collect()
            }
        };
        let known = |label: Option<usize>| label.filter(|&label| label < self.classes.len());
        let labels: Option<Vec<usize>> = labels.into_iter().map(known).collect();
        labels.ok_or_else(|| FrozenError::damaged(file, "it has a label that is not a class"))
    }
}

/// A file's bytes.
pub(crate) fn whole(directory: &Path, path: &str) -> Result<Vec<u8>, FrozenError> {
    std::fs::read(directory.join(path)).map_err(|error| FrozenError::damaged(path, error.to_string()))
}

/// The numbers of a tensor of bytes, such as labels.
///
/// # Errors
/// [`FrozenError`] when the file is not what the manifest says.
pub fn bytes(
    directory: &Path,
    manifest: &Manifest,
    file: &str,
    tensor: &'static str,
) -> Result<Vec<u8>, FrozenError> {
    let entry = manifest.tensor(file, tensor, Dtype::U8, 1)?;
    let whole = whole(directory, file)?;
    Ok(dataperf::dataset::frozen::slice(entry, file, &Bytes::from(whole))?.to_vec())
}

/// The columns of a frozen CSV by name.
///
/// # Errors
/// [`FrozenError`] when the file is no CSV.
pub fn columns(directory: &Path, path: &str) -> Result<BTreeMap<String, Vec<String>>, FrozenError> {
    let damaged = |error: csv::Error| FrozenError::damaged(path, error.to_string());
    let bytes = whole(directory, path)?;
    let mut reader = csv::Reader::from_reader(&bytes[..]);
    let names: Vec<String> = reader
        .headers()
        .map_err(damaged)?
        .iter()
        .map(str::to_owned)
        .collect();
    let mut columns = vec![Vec::new(); names.len()];
    for record in reader.records() {
        let record = record.map_err(damaged)?;
        for (column, field) in columns.iter_mut().zip(&record) {
            column.push(field.to_owned());
        }
    }
    Ok(names.into_iter().zip(columns).collect())
}
