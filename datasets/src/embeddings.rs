//! Reads parquet tables with a column of ids and a column of float vectors, as pandas and pyarrow write them.

use std::borrow::Cow;
use std::fs::File;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use parquet::basic::Type as Physical;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type};
use parquet::errors::Result as ParquetResult;
use parquet::file::reader::{ChunkReader, FileReader, RowGroupReader, SerializedFileReader};
use parquet::schema::types::Type;

use crate::parquet_columns::{self as columns, ListLevels, Lists, Row, Singles};

/// Rows decoded at a time: 4 MB of 1024 floats.
const BATCH_ROWS: usize = 1024;

/// The columns that matter.
#[derive(Debug, Clone, Copy)]
pub struct Columns {
    /// The column of ids.
    pub id: &'static str,
    /// The column of vectors.
    pub vector: &'static str,
}

/// Problems of one file's rows that are listed before the rest is given up.
const MAX_PROBLEMS: usize = 20;

/// Calls `each` for every row, in file order, with its id and its vector.
///
/// # Errors
/// Sentences about the file: unreadable, a column missing or of another type, a null, a number that is not finite
/// or does not fit into 32 bits; and those of `each`.
pub fn read(
    path: &Path,
    columns: Columns,
    mut each: impl FnMut(&str, &[f32]) -> Result<(), String>,
) -> Result<(), Vec<String>> {
    let table = Table::open(path)?;
    let (id_leaf, vector_leaf) = (table.texts(columns.id)?, table.vectors(columns.vector)?);
    let mut problems = Vec::new();
    for group_idx in 0..table.0.num_row_groups() {
        let group = table.parse(|| table.0.get_row_group(group_idx))?;
        let mut ids = table.parse(|| Singles::<ByteArrayType>::new(&*group, id_leaf))?;
        let mut vectors = table.parse(|| Vectors::new(&*group, vector_leaf))?;
        let mut n_left = table.n_rows(group_idx);
        while n_left > 0 {
            let n = n_left.min(BATCH_ROWS);
            let ids = table.next(&mut ids, n, columns.id)?;
            let rows = table.parse(|| vectors.next(n))?;
            n_left = table.without(n_left, ids.len())?;
            let (n_ids, n_vectors) = (ids.len(), rows.len());
            if n_ids != n_vectors {
                let why = format!("it has {n_ids} ids beside {n_vectors} vectors: fetch it again");
                return Err(table.about(why));
            }
            for (id, row) in ids.iter().zip(rows) {
                let id = table.text(id, columns.id)?;
                let vector = row
                    .map_err(|what| format!("its `{}` {what}", columns.vector))
                    .and_then(|range| vectors.vector(range))
                    .and_then(|vector| finite(vector, columns.vector));
                let done = vector
                    .map_err(|why| format!("`{}`: `{id}`: {why}", path.display()))
                    .and_then(|vector| each(id, &vector));
                problems.extend(done.err());
                if problems.len() == MAX_PROBLEMS {
                    return Err(problems);
                }
            }
        }
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems)
    }
}

/// Calls `each` for every id, in file order. Nothing else of the file is read.
///
/// # Errors
/// As [`read`].
pub fn read_ids(path: &Path, id: &str, mut each: impl FnMut(&str)) -> Result<(), Vec<String>> {
    let table = Table::open(path)?;
    let leaf = table.texts(id)?;
    table.each::<ByteArrayType>(leaf, id, |text| {
        each(table.text(text, id)?);
        Ok(())
    })
}

/// A column of labels 0 and 1, as strings or as whole numbers.
///
/// # Errors
/// As [`read`], and when a label is something else.
pub fn read_labels(path: &Path, name: &str) -> Result<Vec<u8>, Vec<String>> {
    let table = Table::open(path)?;
    let label = |text: String| match text.as_str() {
        "0" => Ok(0),
        "1" => Ok(1),
        other => Err(table.about(format!("a `{name}` is `{other}`, not 0 or 1"))),
    };
    table.words(name)?.into_iter().map(label).collect()
}

/// Whether a column of lists has 32-bit floats.
///
/// # Errors
/// As [`read`].
pub fn is_narrow(path: &Path, column: &str) -> Result<bool, Vec<String>> {
    let table = Table::open(path)?;
    let (leaf, _) = table.vectors(column)?;
    let schema = table.0.metadata().file_metadata().schema_descr();
    Ok(schema.column(leaf).physical_type() == Physical::FLOAT)
}

/// Calls `each` for every row of a column of float vectors, in file order, as 64-bit floats.
///
/// # Errors
/// As [`read`], but for numbers that are not finite or wide, which `each` gets.
pub fn read_wide(path: &Path, column: &str, mut each: impl FnMut(&[f64])) -> Result<(), Vec<String>> {
    let table = Table::open(path)?;
    let leaf = table.vectors(column)?;
    let mut n_read = 0_usize;
    for group_idx in 0..table.0.num_row_groups() {
        let group = table.parse(|| table.0.get_row_group(group_idx))?;
        let mut vectors = table.parse(|| Vectors::new(&*group, leaf))?;
        let mut n_left = table.n_rows(group_idx);
        while n_left > 0 {
            let rows = table.parse(|| vectors.next(n_left.min(BATCH_ROWS)))?;
            n_left = table.without(n_left, rows.len())?;
            for row in rows {
                n_read += 1;
                let range =
                    row.map_err(|what| table.about(format!("row {n_read}: its `{column}` {what}")))?;
                each(&vectors.wide(range));
            }
        }
    }
    Ok(())
}

/// A column of strings or whole numbers, as texts; `None` when the file has no such column.
///
/// # Errors
/// As [`read`].
pub fn read_texts(path: &Path, name: &str) -> Result<Option<Vec<String>>, Vec<String>> {
    let table = Table::open(path)?;
    if table.find(name).is_err() {
        return Ok(None);
    }
    table.words(name).map(Some)
}

/// A file, opened, and what it is called. The library panics on some damaged files.
pub struct Table<'a, R: ChunkReader + 'static = File>(SerializedFileReader<R>, &'a Path);

impl<'a> Table<'a> {
    fn open(path: &'a Path) -> Result<Self, Vec<String>> {
        let file = File::open(path).map_err(|error| vec![format!("`{}`: {error}", path.display())])?;
        Self::of(file, path)
    }
}

impl<'a, R: ChunkReader + 'static> Table<'a, R> {
    /// A table in a file or in memory that is called `path` in messages.
    ///
    /// # Errors
    /// A sentence: it is no Parquet file.
    pub fn of(file: R, path: &'a Path) -> Result<Self, Vec<String>> {
        let reader = unless_damaged(|| SerializedFileReader::new(file));
        let reader = reader.map_err(|why| vec![format!("`{}`: {why}", path.display())])?;
        Ok(Self(reader, path))
    }

    /// The names and types of the columns.
    pub fn columns(&self) -> &[std::sync::Arc<Type>] {
        self.0.metadata().file_metadata().schema().get_fields()
    }

    /// A sentence about the file.
    pub fn about(&self, why: impl std::fmt::Display) -> Vec<String> {
        vec![format!("`{}`: {why}", self.1.display())]
    }

    fn parse<T>(&self, read: impl FnOnce() -> ParquetResult<T>) -> Result<T, Vec<String>> {
        unless_damaged(read).map_err(|why| self.about(why))
    }

    fn find(&self, name: &str) -> Result<(usize, &Type), Vec<String>> {
        let schema = self.0.metadata().file_metadata().schema_descr();
        columns::find(schema, name).map_err(|why| self.about(why))
    }

    /// A column of strings or whole numbers, as texts.
    ///
    /// # Errors
    /// As [`read`].
    pub fn words(&self, name: &str) -> Result<Vec<String>, Vec<String>> {
        let (leaf, kind) = self.find(name)?;
        let (mut words, is_unsigned) = (Vec::new(), columns::is_unsigned(kind));
        if !columns::is_whole(kind) {
            let leaf = self.texts(name)?;
            self.each::<ByteArrayType>(leaf, name, |text| {
                words.push(self.text(text, name)?.to_owned());
                Ok(())
            })?;
        } else if kind.get_physical_type() == Physical::INT32 {
            self.each::<Int32Type>(leaf, name, |&number| {
                words.push(if is_unsigned {
                    number.cast_unsigned().to_string()
                } else {
                    number.to_string()
                });
                Ok(())
            })?;
        } else {
            self.each::<Int64Type>(leaf, name, |&number| {
                words.push(if is_unsigned {
                    number.cast_unsigned().to_string()
                } else {
                    number.to_string()
                });
                Ok(())
            })?;
        }
        Ok(words)
    }

    /// A column of numbers, one a row.
    ///
    /// # Errors
    /// As [`read`].
    pub fn numbers(&self, name: &str) -> Result<Vec<f64>, Vec<String>> {
        let (leaf, kind) = self.find(name)?;
        let mut numbers = Vec::new();
        if columns::is_whole(kind) {
            let words = self.words(name)?;
            return Ok(words.iter().filter_map(|word| word.parse().ok()).collect());
        }
        match kind.is_primitive().then(|| kind.get_physical_type()) {
            Some(Physical::FLOAT) => self.each::<FloatType>(leaf, name, |&number| {
                numbers.push(number.into());
                Ok(())
            })?,
            Some(Physical::DOUBLE) => self.each::<DoubleType>(leaf, name, |&number| {
                numbers.push(number);
                Ok(())
            })?,
            _ => {
                let kind = columns::described(kind);
                return Err(self.about(format!("the column `{name}` is {kind}, not numbers")));
            }
        }
        Ok(numbers)
    }

    /// The leaf of a column of strings.
    fn texts(&self, name: &str) -> Result<usize, Vec<String>> {
        let (leaf, kind) = self.find(name)?;
        if columns::is_text(kind) {
            return Ok(leaf);
        }
        let kind = columns::described(kind);
        Err(self.about(format!("the column `{name}` is {kind}, not strings")))
    }

    /// The leaf of a column of lists of floats, and its levels.
    fn vectors(&self, name: &str) -> Result<(usize, ListLevels), Vec<String>> {
        let (leaf, kind) = self.find(name)?;
        let Some((levels, element)) = columns::list(kind) else {
            let kind = columns::described(kind);
            return Err(self.about(format!("the column `{name}` is {kind}, not lists of floats")));
        };
        let is_float = element.is_primitive()
            && matches!(element.get_physical_type(), Physical::FLOAT | Physical::DOUBLE);
        if is_float {
            return Ok((leaf, levels));
        }
        let kind = columns::described(element);
        Err(self.about(format!("the column `{name}` has lists of {kind}, not of floats")))
    }

    /// The rows of a row group.
    fn n_rows(&self, group_idx: usize) -> usize {
        usize::try_from(self.0.metadata().row_group(group_idx).num_rows()).unwrap_or(usize::MAX)
    }

    /// The rows that are left of a row group after `n_read` were read; an error if rows are missing, so that none is lost silently.
    fn without(&self, n_left: usize, n_read: usize) -> Result<usize, Vec<String>> {
        let left = n_left.checked_sub(n_read).filter(|_| n_read > 0);
        left.ok_or_else(|| self.about("it has fewer rows than its metadata say: fetch it again"))
    }

    /// The next values of a column without nulls.
    fn next<T: DataType>(
        &self,
        column: &mut Singles<T>,
        n: usize,
        name: &str,
    ) -> Result<Vec<T::T>, Vec<String>> {
        let (values, n_null) = self.parse(|| column.next(n))?;
        if n_null > 0 {
            return Err(self.about(format!("a `{name}` is null")));
        }
        Ok(values)
    }

    /// Calls `each` for every value of a column without nulls.
    pub(crate) fn each<T: DataType>(
        &self,
        leaf: usize,
        name: &str,
        mut each: impl FnMut(&T::T) -> Result<(), Vec<String>>,
    ) -> Result<(), Vec<String>> {
        for group_idx in 0..self.0.num_row_groups() {
            let group = self.parse(|| self.0.get_row_group(group_idx))?;
            let mut column = self.parse(|| Singles::<T>::new(&*group, leaf))?;
            let mut n_left = self.n_rows(group_idx);
            while n_left > 0 {
                let values = self.next(&mut column, n_left.min(BATCH_ROWS), name)?;
                n_left = self.without(n_left, values.len())?;
                values.iter().try_for_each(&mut each)?;
            }
        }
        Ok(())
    }

    fn text<'t>(&self, text: &'t ByteArray, name: &str) -> Result<&'t str, Vec<String>> {
        std::str::from_utf8(text.data())
            .map_err(|error| self.about(format!("a `{name}` is no UTF-8: {error}")))
    }
}

fn unless_damaged<T>(read: impl FnOnce() -> ParquetResult<T>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(read) => read.map_err(|error| error.to_string()),
        Err(_) => Err("it is damaged: fetch it again".into()),
    }
}

/// A column of lists of floats.
enum Vectors {
    Narrow(Lists<FloatType>),
    Wide(Lists<DoubleType>),
}

impl Vectors {
    fn new(group: &dyn RowGroupReader, (leaf, levels): (usize, ListLevels)) -> ParquetResult<Self> {
        let descriptor = group.metadata().column(leaf).column_descr();
        if descriptor.physical_type() == Physical::FLOAT {
            Lists::new(group, leaf, levels).map(Self::Narrow)
        } else {
            Lists::new(group, leaf, levels).map(Self::Wide)
        }
    }

    fn next(&mut self, n: usize) -> ParquetResult<Vec<Row>> {
        match self {
            Self::Narrow(lists) => lists.next(n),
            Self::Wide(lists) => lists.next(n),
        }
    }

    /// The numbers of a row that `next` gave last, as 64-bit floats.
    fn wide(&self, row: Range<usize>) -> Vec<f64> {
        match self {
            Self::Narrow(lists) => lists.values()[row].iter().map(|&number| number.into()).collect(),
            Self::Wide(lists) => lists.values()[row].to_vec(),
        }
    }

    /// The numbers of a row that `next` gave last.
    fn vector(&self, row: Range<usize>) -> Result<Cow<'_, [f32]>, String> {
        match self {
            Self::Narrow(lists) => Ok(Cow::Borrowed(&lists.values()[row])),
            Self::Wide(lists) => lists.values()[row]
                .iter()
                .map(|&number| narrow(number))
                .collect::<Result<_, _>>()
                .map(Cow::Owned),
        }
    }
}

fn finite<'a>(vector: Cow<'a, [f32]>, name: &str) -> Result<Cow<'a, [f32]>, String> {
    match vector.iter().position(|number| !number.is_finite()) {
        Some(at) => Err(format!("number {at} of `{name}` is {}, not finite", vector[at])),
        None => Ok(vector),
    }
}

/// A wide number as the 32-bit float it came from: one that needs more bits would be scored differently.
fn narrow(number: f64) -> Result<f32, String> {
    let narrow = number as f32;
    if f64::from(narrow).total_cmp(&number).is_eq() || number.is_nan() {
        Ok(narrow)
    } else {
        Err(format!(
            "{number} is not a 32-bit float: store the embeddings as float32"
        ))
    }
}

#[cfg(test)]
mod tests;
