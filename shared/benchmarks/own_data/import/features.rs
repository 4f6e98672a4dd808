//! Features: a matrix of numbers in a `.npy`, CSV, Parquet or Feather file, read block by block and frozen as `.npy`.

use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::own_data::curation::{counted_order, is_by_position};
use crate::own_data::table::{FEATURES, NO_FEATURES, features_file, truth};
use dataperf::dataset::frozen::Dtype;
use dataperf::formats::delimited::{Dialect, described};
use dataperf::{list_names, quote};
use dataperf_numerics::numbers::Encoding;

use super::problems::{MAX_OF_FILE, RowProblems};
use dataperf_datasets::ImportError;
use dataperf_datasets::npy::{self, Kind};
use dataperf_datasets::tables::lines::{LineAt, begin, csv_reader, dialect};
use dataperf_datasets::tables::table_file::{Holds, NumberKind, TableFile};
use dataperf_datasets::{DatasetWriter, Planned};
use tempfile::NamedTempFile;

/// The most numbers that a row may have.
pub(super) const MAX_FEATURES: usize = 4096;
/// The most rows that a file may have.
pub(super) const MAX_ROWS: usize = 10_000_000;
/// Up to this magnitude every whole number is exactly a 32-bit float.
const MAX_EXACT: f64 = 16_777_216.0;
/// The remedy for a column without a name.
const UNNAMED: &str = "leave it out if it numbers the rows (`to_csv(..., index=False)`), else name it";
/// The column of a Parquet file that has the numbers of each row.
pub(super) const COLUMN: &str = "features";

/// A file with features.
#[derive(Debug, Clone)]
pub(super) struct FeatureFile {
    /// The file's name in the document.
    pub(super) name: String,
    path: PathBuf,
    form: Form,
    /// The columns that are read, in this order; all in the order of the file unless they are sorted or matched with those of another file.
    chosen: Option<Vec<String>>,
    /// The array of an `.npz`, unpacked.
    _unpacked: Option<Arc<NamedTempFile>>,
}

/// The form of a file, which the ending of its name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Npy,
    Npz,
    Csv,
    /// Parquet or Feather.
    Table,
}

impl Form {
    pub(super) fn from_path(path: &Path) -> Option<Self> {
        let extension = path.extension().and_then(|extension| extension.to_str())?;
        Some(match extension.to_lowercase().as_str() {
            "npy" => Self::Npy,
            "npz" => Self::Npz,
            "csv" | "tsv" | "txt" => Self::Csv,
            "parquet" | "pq" | "feather" | "arrow" => Self::Table,
            _ => return None,
        })
    }
}

/// Where the numbers are in a Parquet or Feather file.
enum Layout {
    /// A list in each row.
    List(String, NumberKind),
    /// A column for each number.
    Wide(Vec<String>),
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
    /// A sentence if the name has no ending of a known form, or the file can't be unpacked.
    pub(super) fn new(name: &str, path: PathBuf) -> Result<Self, String> {
        let Some(form) = Form::from_path(&path) else {
            return Err(format!(
                "`{name}`: the name has to end in `.npy`, `.npz`, `.csv`, `.parquet` or `.feather`"
            ));
        };
        if !path.is_file() {
            return Err(format!("`{name}` is not a file"));
        }
        // either may have the other's name
        let form = match form {
            Form::Npy | Form::Npz => {
                match npy::is_archive(&path).map_err(|why| format!("`{name}`: {why}"))? {
                    Some(true) => Form::Npz,
                    Some(false) => Form::Npy,
                    None => form,
                }
            }
            other => other,
        };
        let unpacked = match form {
            Form::Npz => Some(npy::unpack(&path).map_err(|why| format!("`{name}`: {why}"))?),
            _ => None,
        };
        Ok(Self {
            name: name.to_owned(),
            path: unpacked
                .as_ref()
                .map_or(path, |unpacked| unpacked.path().to_owned()),
            form: if unpacked.is_some() { Form::Npy } else { form },
            chosen: None,
            _unpacked: unpacked.map(Arc::new),
        })
    }

    pub(super) fn is_table(&self) -> bool {
        self.form != Form::Npy
    }

    /// The names of the columns with numbers, in the order of the file; `None` for forms without names.
    ///
    /// # Errors
    /// Sentences if the file can't be read.
    pub(super) fn columns(&self) -> Result<Option<Vec<String>>, Vec<String>> {
        if let Some(chosen) = &self.chosen {
            return Ok(Some(chosen.clone()));
        }
        match self.form {
            Form::Npy | Form::Npz => Ok(None),
            Form::Table => Ok(match Self::layout(&TableFile::open(&self.path, &self.name)?)? {
                Layout::List(..) => None,
                Layout::Wide(names) => Some(names),
            }),
            Form::Csv => {
                let about = |why: String| vec![format!("`{}`: {why}", self.name)];
                let dialect = dialect(&self.path).map_err(about)?;
                let mut reader =
                    csv_reader(&self.path, &dialect).map_err(|error| about(error.to_string()))?;
                let header = reader.headers().map_err(|error| about(described(&error)))?;
                let names = header
                    .iter()
                    .map(str::trim)
                    .filter(|name| !NO_FEATURES.contains(name));
                Ok(Some(names.map(str::to_owned).collect()))
            }
        }
    }

    /// Reads columns that have numbers in place of names in the order of these numbers. Returns a sentence if the file has another order.
    ///
    /// # Errors
    /// Sentences if the file can't be read.
    pub(super) fn order_counted(&mut self) -> Result<Option<String>, Vec<String>> {
        let Some(names) = self.columns()? else {
            return Ok(None);
        };
        self.chosen = counted_order(&names);
        let is_moved = self.chosen.as_ref().is_some_and(|order| *order != names);
        Ok(is_moved.then(|| sorted_note(&self.name)))
    }

    /// Reads the columns in the order of `columns`, those of the file called `other`. Returns a sentence if they are matched by position.
    ///
    /// # Errors
    /// A sentence that names columns that only one of the two files has.
    pub(super) fn choose(
        &mut self,
        other: &str,
        columns: Option<&[String]>,
    ) -> Result<Option<String>, Vec<String>> {
        let name = &self.name;
        let own = self.columns()?;
        let (own, columns) = match (own, columns) {
            (None, None) => return Ok(None),
            (Some(own), Some(columns)) if own == columns => return Ok(None),
            (Some(own), Some(columns)) if !is_by_position(&own) && !is_by_position(columns) => (own, columns),
            _ => {
                return Ok(Some(format!(
                    "the columns of `{name}` and `{other}` are matched by position, because one has no column names"
                )));
            }
        };
        if own.iter().any(String::is_empty) {
            return Err(vec![format!("`{name}`: a column has no name: {UNNAMED}")]);
        }
        let missing: Vec<&String> = columns.iter().filter(|column| !own.contains(column)).collect();
        let extra: Vec<&String> = own.iter().filter(|column| !columns.contains(column)).collect();
        if !missing.is_empty() {
            let others = if extra.is_empty() {
                String::new()
            } else {
                format!(", and has {} instead", list_names(&extra))
            };
            return Err(vec![format!(
                "`{name}` has no column {}, which `{other}` has{others}: columns are matched by name, so name them alike, or name all \
                 `f0`, `f1` and so on to match them by position",
                list_names(&missing)
            )]);
        }
        if !extra.is_empty() {
            return Err(vec![format!(
                "the rows of `{other}` have {} numbers, and those of `{name}` {}: `{other}` has no {}. Leave it out",
                columns.len(),
                own.len(),
                list_names(&extra)
            )]);
        }
        self.chosen = Some(columns.to_vec());
        Ok(None)
    }

    fn layout(table: &TableFile) -> Result<Layout, Vec<String>> {
        let columns = table.columns(&NO_FEATURES);
        let columns = columns
            .into_iter()
            .filter(|(name, _)| !NO_FEATURES.contains(name));
        let columns: Vec<(&str, Holds)> = columns.collect();
        let lists = columns.iter().filter_map(|(name, holds)| match holds {
            Holds::Lists(kind) => Some((*name, *kind)),
            _ => None,
        });
        let lists: Vec<(&str, NumberKind)> = lists.collect();
        let n_numbers = columns
            .iter()
            .filter(|(_, holds)| matches!(holds, Holds::Numbers(_)))
            .count();
        let called = lists.iter().find(|(name, _)| *name == COLUMN);
        match (called, lists.as_slice()) {
            (Some((name, kind)), _) => Ok(Layout::List((*name).to_owned(), *kind)),
            (None, [(name, kind)]) if n_numbers == 0 => Ok(Layout::List((*name).to_owned(), *kind)),
            (None, []) if columns.is_empty() => Err(table.about(
                "it has no column of numbers: write a column for each number, or a list for each row in \
                    the column `features`",
            )),
            (None, []) => Ok(Layout::Wide(
                columns.iter().map(|(name, _)| (*name).to_owned()).collect(),
            )),
            (None, lists) => {
                let names: Vec<&str> = lists.iter().map(|(name, _)| *name).collect();
                Err(table.about(format!(
                    "it has lists in {} and {n_numbers} columns of numbers: name the column of lists to \
                        use `{COLUMN}`",
                    list_names(&names)
                )))
            }
        }
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
                        "`{name}` {place}, column {}: {} is not a finite number",
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
        let mut errors = read.err().unwrap_or_default();
        errors.extend(problems.report(name));
        if !errors.is_empty() {
            return Err(errors);
        }
        if n_rows == 0 || n_features == 0 {
            return Err(about("it has no numbers: write a row for each example".into()));
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
            Form::Npy | Form::Npz => {
                let header = npy::Header::read(&self.path).map_err(about)?;
                let (n_rows, n_features) = header.matrix().map_err(about)?;
                check_shape(n_rows, n_features).map_err(about)?; // before a row is read
                Ok(Some(header.kind))
            }
            Form::Csv => Ok(None),
            Form::Table => {
                let table = TableFile::open(&self.path, &self.name)?;
                let kind = |kind: NumberKind| match kind {
                    NumberKind::F16 => Kind::F16,
                    NumberKind::F32 => Kind::F32,
                    NumberKind::F64 => Kind::F64,
                    NumberKind::Bool => Kind::Bool,
                    NumberKind::Whole => Kind::Whole(8, true),
                };
                let names = match Self::layout(&table)? {
                    Layout::List(_, of_list) => return Ok(Some(kind(of_list))),
                    Layout::Wide(names) => self.chosen.clone().unwrap_or(names),
                };
                let mut kinds: Option<Option<Kind>> = None;
                for name in &names {
                    let Holds::Numbers(of_column) = table.holds(name)? else {
                        continue; // noted when it is read
                    };
                    let of_column = Some(kind(of_column));
                    kinds = Some(match kinds {
                        None => of_column,
                        Some(kind) if kind == of_column => kind,
                        Some(kind) if [kind, of_column].contains(&Some(Kind::F64)) => Some(Kind::F64),
                        // the narrowest type that holds each number exactly
                        Some(_) => None,
                    });
                }
                Ok(kinds.flatten())
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
            Form::Npy | Form::Npz => {
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
            Form::Table => {
                let table = TableFile::open(&self.path, &self.name)?;
                match Self::layout(&table)? {
                    Layout::List(column, _) => table.each_list(&column, &mut |row, list| {
                        let place = format_args!("row {}", row + 1);
                        let list = list.map_err(|problem| {
                            table.about(format_args!("{place}: its `{column}` {problem}"))
                        })?;
                        each(list, &place);
                        Ok(())
                    }),
                    Layout::Wide(names) => {
                        let names = self.chosen.as_ref().unwrap_or(&names);
                        check_shape(0, names.len()).map_err(about)?;
                        let names: Vec<&str> = names.iter().map(String::as_str).collect();
                        table.each_numbers(&names, &mut |row, numbers| {
                            each(numbers, &format_args!("row {}", row + 1));
                        })
                    }
                }
            }
        }
    }

    fn each_csv_row(&self, each: &mut dyn FnMut(&[f64], &dyn std::fmt::Display)) -> Result<(), Vec<String>> {
        let name = &self.name;
        let about = |why: String| vec![format!("`{name}`: {why}")];
        let dialect = dialect(&self.path).map_err(about)?;
        let mut reader = csv_reader(&self.path, &dialect).map_err(|error| about(error.to_string()))?;
        let header = reader.headers().map_err(|error| about(described(&error)))?;
        let header: Vec<String> = header.iter().map(|name| name.trim().to_owned()).collect();
        let places = self.places(&header, &dialect)?;
        let n_columns = header.len();
        let (mut record, mut row, mut n_rows) = (csv::StringRecord::new(), Vec::new(), 0);
        let mut problems = RowProblems::default();
        let mut n_wrong = vec![0; n_columns];
        while reader
            .read_record(&mut record)
            .map_err(|error| about(described(&error)))?
        {
            let line = LineAt {
                path: &self.path,
                dialect: &dialect,
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
            for &place in &places {
                let Some(field) = record.get(place) else { continue };
                let column = place + 1;
                match dialect.number(field).or_else(|| truth(field)) {
                    Some(number) if number.is_finite() => row.push(number),
                    Some(number) => problems
                        .add(|| format!("`{name}` {line}, column {column}: {number} is not a finite number")),
                    None => {
                        n_wrong[place] += 1;
                        problems.add(|| {
                            let field: String = field.chars().take(40).collect();
                            format!("`{name}` {line}, column {column}: `{field}` is not a number")
                        });
                    }
                }
            }
            n_rows += 1;
            check_shape(n_rows, row.len()).map_err(about)?;
            if problems.len() == n_before {
                each(&row, &line);
            }
        }
        dialect.check_numbers().map_err(|why| about(why.to_owned()))?;
        if problems.is_empty() {
            return Ok(());
        }
        let without = n_wrong.iter().zip(&header).filter(|(n, _)| **n == n_rows);
        let without: Vec<&String> = without.map(|(_, name)| name).collect();
        let cause = (!without.is_empty() && n_rows >= MAX_OF_FILE).then(|| {
            let names = list_names(&without);
            format!(
                "`{name}`: the column {names} has no number in any of its {n_rows} rows: leave the column out, or write it as numbers"
            )
        });
        Err(cause.into_iter().chain(problems.report(name)).collect())
    }

    /// The places of the columns that are read, in the order in which they are.
    fn places(&self, header: &[String], dialect: &Dialect) -> Result<Vec<usize>, Vec<String>> {
        let about = |why: String| vec![format!("`{}`: {why}", self.name)];
        if let Some(chosen) = &self.chosen {
            let place = |column: &String| header.iter().position(|name| name == column);
            return Ok(chosen.iter().filter_map(place).collect());
        }
        // a copy, because names don't count when decimal marks are compared
        let names = dialect.clone();
        if header.iter().all(|name| names.number(name).is_some()) {
            return Err(about(
                "its first line has numbers instead of column names: write the file with a header".into(),
            ));
        }
        if let Some(column) = header.iter().position(String::is_empty) {
            return Err(about(format!("column {} has no name: {UNNAMED}", column + 1)));
        }
        let mut seen = BTreeSet::new();
        if let Some(twice) = header.iter().find(|name| !seen.insert(*name)) {
            return Err(about(format!(
                "two columns have the name {}: rename one",
                quote(twice)
            )));
        }
        let places = header.iter().enumerate();
        let places = places.filter(|(_, name)| !NO_FEATURES.contains(&name.as_str()));
        Ok(places.map(|(place, _)| place).collect())
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

/// A sentence about a file whose columns have numbers in place of names, in another order.
pub(super) fn sorted_note(name: &str) -> String {
    format!("the columns of `{name}` are sorted by the numbers in their names")
}

/// Checks the number of rows and of numbers in each.
fn check_shape(n_rows: usize, n_features: usize) -> Result<(), String> {
    if n_features > MAX_FEATURES {
        return Err(format!(
            "its rows have {n_features} numbers, the limit is {MAX_FEATURES}: reduce them, for example by a principal component analysis"
        ));
    }
    if n_rows > MAX_ROWS {
        return Err(format!("it has more than {MAX_ROWS} rows: use some of them"));
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
                let changed = std::io::Error::other("it changed during the import: import it again");
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
