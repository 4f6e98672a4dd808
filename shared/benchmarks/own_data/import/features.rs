//! Features: a matrix of numbers in a `.npy` file, a CSV or a Parquet file, read block by block and frozen as `.npy`.

use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::PathBuf;

use crate::own_data::table::{FEATURES, features_file};
use dataperf::frozen::Dtype;
use dataperf::quote;
use dataperf_numerics::numbers::Encoding;

use super::lines::{LineAt, begin, csv_reader};
use super::problems::RowProblems;
use dataperf_datasets::ImportError;
use dataperf_datasets::embeddings;
use dataperf_datasets::npy::{self, Kind};
use dataperf_datasets::{DatasetWriter, Planned};

/// The most numbers that a row may have.
pub(super) const MAX_FEATURES: usize = 4096;
/// The most rows that a file may have.
pub(super) const MAX_ROWS: usize = 10_000_000;
/// Up to this magnitude every whole number is exactly a 32-bit float.
const MAX_EXACT: f64 = 16_777_216.0;
/// The column of a Parquet file that has the numbers of each row.
pub(super) const COLUMN: &str = "features";
/// The columns of a table that hold no features.
pub(super) const NO_FEATURES: [&str; 6] = ["id", "label", "group", "cluster", "given", "truth"];

/// A file with features.
#[derive(Debug, Clone)]
pub(super) struct FeatureFile {
    /// The file's name in the document.
    pub(super) name: String,
    path: PathBuf,
    form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Npy,
    Csv,
    Parquet,
}

/// What the first reading of the numbers found.
#[derive(Debug, Clone)]
pub(super) struct Scanned {
    pub(super) n_rows: usize,
    pub(super) n_features: usize,
    pub(super) dtype: Dtype,
    /// A sentence about how the numbers' type was changed, if it was.
    pub(super) note: Option<String>,
    /// Whether the file stores 32-bit floats, perhaps as 64-bit ones, so that its numbers may have been rounded.
    pub(super) is_rounded: bool,
    /// Where a number is infinite as a 32-bit float, if one is.
    pub(super) too_large: Option<String>,
    /// A hash of the numbers of each row.
    row_hashes: Vec<u64>,
    /// A hash of the numbers of each row as 32-bit floats, if that is another one.
    narrow_hashes: Option<Vec<u64>>,
}

impl Scanned {
    /// A hash of the numbers of each row of two sets, as 32-bit floats if one of the files stores such: the same rows have the same hash, also where
    /// one set was stored with fewer digits.
    pub(super) fn hashes<'a>(&'a self, other: &'a Self) -> [&'a [u64]; 2] {
        let is_narrow = self.is_rounded || other.is_rounded;
        [self, other].map(|scanned| scanned.hashes_as(is_narrow))
    }

    /// A hash of the numbers of each row, as 32-bit floats or as they are.
    pub(super) fn hashes_as(&self, is_narrow: bool) -> &[u64] {
        match &self.narrow_hashes {
            Some(narrow) if is_narrow => narrow,
            _ => &self.row_hashes,
        }
    }
}

impl FeatureFile {
    /// The file at `path`; the ending of its name says its form.
    ///
    /// # Errors
    /// A sentence if the name has no ending of a known form.
    pub(super) fn new(name: &str, path: PathBuf) -> Result<Self, String> {
        let extension = path.extension().and_then(|extension| extension.to_str());
        let form = match extension.map(str::to_lowercase).as_deref() {
            Some("npy") => Form::Npy,
            Some("csv") => Form::Csv,
            Some("parquet") => Form::Parquet,
            _ => {
                return Err(format!(
                    "`{name}`: features are in a `.npy`, `.csv` or `.parquet` file, and this is none by its name"
                ));
            }
        };
        if !path.is_file() {
            return Err(format!("`{name}` is no file"));
        }
        Ok(Self {
            name: name.to_owned(),
            path,
            form,
        })
    }

    pub(super) fn is_table(&self) -> bool {
        self.form != Form::Npy
    }

    /// The names of the columns with numbers, in the order of the CSV; `None` for other forms, or if the header can't be read.
    pub(super) fn columns(&self) -> Option<Vec<String>> {
        if self.form != Form::Csv {
            return None;
        }
        let mut reader = csv_reader(&self.path).ok()?;
        let names = reader.headers().ok()?.iter().map(column_name);
        let names = names.filter(|name| !NO_FEATURES.contains(name));
        Some(names.map(str::to_owned).collect())
    }

    /// Reads all numbers once.
    ///
    /// # Errors
    /// Sentences if the file can't be read, rows differ in length or are too wide, or numbers are not finite.
    pub(super) fn scan(&self) -> Result<Scanned, Vec<String>> {
        let name = &self.name;
        let about = |why: String| vec![format!("`{name}`: {why}")];
        let mut problems = RowProblems::default();
        let (mut n_rows, mut n_features) = (0, 0);
        let (mut is_whole, mut is_exact, mut is_narrow) = (true, true, true);
        let (mut row_hashes, mut narrow_hashes) = (Vec::new(), Vec::new());
        let (mut too_large, mut narrow) = (None, Vec::new());
        let source = self.kind()?;
        let read = self.each_row(&mut |row, place| {
            if n_rows == 0 {
                n_features = row.len();
            }
            n_rows += 1;
            if row.len() != n_features {
                problems.add(|| {
                    format!(
                        "`{name}` {place}: it has {} numbers, and the first row has {n_features}",
                        row.len()
                    )
                });
            }
            if let Some(column) = row.iter().position(|number| !number.is_finite()) {
                problems.add(|| {
                    format!(
                        "`{name}` {place}, column {}: it is {}, and a finite number is needed",
                        column + 1,
                        row[column]
                    )
                });
            }
            is_whole &= row.iter().all(|number| number.fract() == 0.0);
            is_exact &= row.iter().all(|number| number.abs() < MAX_EXACT);
            is_narrow &= row
                .iter()
                .all(|&number| f64::from(number as f32).total_cmp(&number).is_eq());
            if too_large.is_none()
                && let Some(column) = row.iter().position(|&number| !(number as f32).is_finite())
            {
                too_large = Some(format!("{place}, column {}", column + 1));
            }
            row_hashes.push(hash(row));
            narrow.clear();
            narrow.extend(row.iter().map(|&number| f64::from(number as f32)));
            narrow_hashes.push(hash(&narrow));
        });
        let mut found = read.err().unwrap_or_default();
        found.extend(problems.report(name));
        if !found.is_empty() {
            return Err(found);
        }
        if n_rows == 0 || n_features == 0 {
            return Err(about(
                "it has no numbers: a row for each example is needed".into(),
            ));
        }
        check_shape(n_rows, n_features).map_err(about)?;
        let (dtype, note) = frozen_as(source, is_whole && is_exact, is_narrow);
        let note = note.map(|note| format!("`{name}`: {note}"));
        Ok(Scanned {
            n_rows,
            n_features,
            dtype,
            note,
            // 64-bit floats may have been made of 32-bit ones
            is_rounded: source == Some(Kind::F32) || source == Some(Kind::F64) && is_narrow && !is_whole,
            too_large,
            row_hashes,
            narrow_hashes: (dtype == Dtype::F64).then_some(narrow_hashes),
        })
    }

    /// The type that the file declares for its numbers; `None` if its form declares none.
    fn kind(&self) -> Result<Option<Kind>, Vec<String>> {
        let about = |why: String| vec![format!("`{}`: {why}", self.name)];
        match self.form {
            Form::Npy => {
                let header = npy::Header::read(&self.path).map_err(about)?;
                let (n_rows, n_features) = header.matrix().map_err(about)?;
                check_shape(n_rows, n_features).map_err(about)?; // before a row is read
                Ok(Some(header.kind))
            }
            Form::Csv => Ok(None),
            Form::Parquet => {
                let is_narrow = embeddings::is_narrow(&self.path, COLUMN)?;
                Ok(Some(if is_narrow { Kind::F32 } else { Kind::F64 }))
            }
        }
    }

    /// Calls `each` with every row and a description of its place.
    ///
    /// # Errors
    /// Sentences if the file can't be read, or fields are no finite numbers.
    pub(super) fn each_row(
        &self,
        each: &mut dyn FnMut(&[f64], &dyn std::fmt::Display),
    ) -> Result<(), Vec<String>> {
        let about = |why: String| vec![format!("`{}`: {why}", self.name)];
        match self.form {
            Form::Npy => {
                let header = npy::Header::read(&self.path).map_err(about)?;
                let (_, n_columns) = header.matrix().map_err(about)?;
                let mut row_idx = 0_usize;
                header
                    .each_block(&self.path, &mut |block| {
                        for row in block.chunks_exact(n_columns) {
                            row_idx += 1;
                            each(row, &format_args!("row {row_idx}"));
                        }
                        Ok(())
                    })
                    .map_err(about)
            }
            Form::Csv => self.each_csv_row(each),
            Form::Parquet => {
                let mut row_idx = 0_usize;
                embeddings::read_wide(&self.path, COLUMN, |row| {
                    row_idx += 1;
                    each(row, &format_args!("row {row_idx}"));
                })
            }
        }
    }

    fn each_csv_row(&self, each: &mut dyn FnMut(&[f64], &dyn std::fmt::Display)) -> Result<(), Vec<String>> {
        let name = &self.name;
        let about = |why: String| vec![format!("`{name}`: {why}")];
        let mut reader = csv_reader(&self.path).map_err(|error| about(error.to_string()))?;
        let header = reader.headers().map_err(|error| about(error.to_string()))?;
        let is_feature: Vec<bool> = header
            .iter()
            .map(|name| !NO_FEATURES.contains(&column_name(name)))
            .collect();
        // pandas numbers the columns of a table without names, so such a header is one
        let is_counted = header
            .iter()
            .enumerate()
            .all(|(idx, name)| column_name(name) == idx.to_string());
        if !is_counted && header.iter().all(|name| name.trim().parse::<f64>().is_ok()) {
            return Err(about("its first line has numbers, and names of columns are needed there: write the file with a header".into()));
        }
        let n_columns = header.len();
        if let Some(column) = header.iter().position(|name| column_name(name).is_empty()) {
            return Err(about(format!(
                "column {} has no name: if it numbers the rows, leave it out (`to_csv(..., index=False)`), else name it",
                column + 1
            )));
        }
        let mut seen = BTreeSet::new();
        if let Some(twice) = header.iter().map(column_name).find(|name| !seen.insert(*name)) {
            return Err(about(format!(
                "two columns are called {}: give each a name of its own",
                quote(twice)
            )));
        }
        let (mut record, mut row, mut n_rows) = (csv::StringRecord::new(), Vec::new(), 0);
        let mut problems = RowProblems::default();
        while reader
            .read_record(&mut record)
            .map_err(|error| about(error.to_string()))?
        {
            let line = LineAt {
                path: &self.path,
                byte: begin(&record),
            };
            let n_before = problems.len();
            if record.len() != n_columns {
                let n_fields = record.len();
                problems.add(|| {
                    format!("`{name}` {line}: it has {n_fields} fields, and the first line {n_columns}")
                });
            }
            row.clear();
            for (column, field) in record.iter().enumerate() {
                if !is_feature.get(column).copied().unwrap_or(true) {
                    continue;
                }
                let column = column + 1;
                match field.trim().parse::<f64>() {
                    Ok(number) if number.is_finite() => row.push(number),
                    Ok(number) => problems.add(|| {
                        format!(
                            "`{name}` {line}, column {column}: it is {number}, and a finite number is needed"
                        )
                    }),
                    Err(_) => problems.add(|| {
                        let field: String = field.chars().take(40).collect();
                        format!("`{name}` {line}, column {column}: `{field}` is no number")
                    }),
                }
            }
            n_rows += 1;
            check_shape(n_rows, row.len()).map_err(about)?;
            if problems.len() == n_before {
                each(&row, &line);
            }
        }
        if problems.is_empty() {
            Ok(())
        } else {
            Err(problems.report(name))
        }
    }

    /// Writes the numbers into the data set, as the features of a table.
    ///
    /// # Errors
    /// [`ImportError`], also if the file has changed since it was scanned.
    pub(super) fn freeze(
        &self,
        table: &str,
        scanned: &Scanned,
        writer: &mut DatasetWriter,
    ) -> Result<(), ImportError> {
        freeze_all(&[(self, scanned)], table, writer)
    }
}

/// A column's name without white space around it and a byte order mark before it.
fn column_name(field: &str) -> &str {
    field.trim().trim_start_matches('\u{feff}')
}

/// Checks the number of rows and of numbers in each.
fn check_shape(n_rows: usize, n_features: usize) -> Result<(), String> {
    if n_features > MAX_FEATURES {
        return Err(format!(
            "its rows have {n_features} numbers, the limit is {MAX_FEATURES}: reduce them, for example by a principal component analysis"
        ));
    }
    if n_rows > MAX_ROWS {
        return Err(format!("it has more than {MAX_ROWS} rows: take a part of them"));
    }
    Ok(())
}

/// Writes the numbers of several files, one after another, as the features of one table. They are stored as 32-bit floats if that
/// is the type for every file.
///
/// # Errors
/// [`ImportError`].
pub(super) fn freeze_all(
    files: &[(&FeatureFile, &Scanned)],
    table: &str,
    writer: &mut DatasetWriter,
) -> Result<(), ImportError> {
    let is_narrow = files.iter().all(|(_, scanned)| scanned.dtype == Dtype::F32);
    let dtype = if is_narrow { Dtype::F32 } else { Dtype::F64 };
    let encoding = if is_narrow { Encoding::F32 } else { Encoding::F64 };
    let n_rows = files.iter().map(|(_, scanned)| scanned.n_rows).sum();
    let n_features = files.first().map_or(0, |(_, scanned)| scanned.n_features);
    let planned = Planned {
        name: FEATURES,
        dtype,
        shape: vec![n_rows, n_features],
    };
    writer.npy(&features_file(table), planned, |out| {
        let mut bytes = Vec::new();
        for (file, scanned) in files {
            let mut failed = None;
            let mut n_written = 0;
            let read = file.each_row(&mut |row, _| {
                if failed.is_none() && row.len() == scanned.n_features {
                    n_written += 1;
                    bytes.clear();
                    encoding.encode(row, &mut bytes);
                    failed = out.write(&bytes).err();
                }
            });
            if let Some(error) = failed {
                return Err(error);
            }
            if read.is_err() || n_written != scanned.n_rows {
                let changed = std::io::Error::other("it has changed while it was read: import it again");
                return Err(ImportError::io("can't read", &file.path)(changed));
            }
        }
        Ok(())
    })
}

/// The type in which numbers are frozen, and a sentence about the change, if it is one.
fn frozen_as(source: Option<Kind>, is_small_whole: bool, is_narrow: bool) -> (Dtype, Option<String>) {
    let cast = |from: &str, to: &str| Some(format!("{from} become {to}"));
    match source {
        Some(Kind::F32) => (Dtype::F32, None),
        Some(Kind::F16) => (Dtype::F32, cast("16-bit floats", "32-bit floats")),
        Some(Kind::Bool) => (Dtype::F32, cast("truth values", "32-bit floats, 0 and 1")),
        Some(Kind::Whole(..)) if is_small_whole => {
            (Dtype::F32, cast("whole numbers below 2^24", "32-bit floats"))
        }
        Some(Kind::Whole(..)) => (
            Dtype::F64,
            cast("whole numbers, some from 2^24 on,", "64-bit floats"),
        ),
        // a text file declares no type: the numbers get the narrowest that holds each of them exactly
        None if is_small_whole || is_narrow => (Dtype::F32, None),
        Some(Kind::F64) | None => (Dtype::F64, None),
    }
}

/// A hash of the numbers of a row; positive and negative zero count as the same number.
pub(super) fn hash(row: &[f64]) -> u64 {
    let mut hasher = DefaultHasher::new();
    row.len().hash(&mut hasher);
    for number in row {
        (number + 0.0).to_bits().hash(&mut hasher);
    }
    hasher.finish()
}
