//! Reads parquet tables with a column of ids and a column of float vectors, as pandas and pyarrow write them.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

/// Rows decoded at a time: 4 MB of 1024 floats.
const BATCH_ROWS: usize = 1024;

/// The columns that matter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Columns {
    pub(crate) id: &'static str,
    pub(crate) vector: &'static str,
}

/// Problems of one file's rows that are listed before the rest is given up.
const MAX_PROBLEMS: usize = 20;

/// Calls `each` for every row, in file order, with its id and its vector.
///
/// # Errors
/// Sentences about the file: unreadable, a column missing or of another type, a null, a number that is not finite
/// or does not fit into 32 bits; and those of `each`.
pub(crate) fn read(
    path: &Path,
    columns: Columns,
    mut each: impl FnMut(&str, &[f32]) -> Result<(), String>,
) -> Result<(), Vec<String>> {
    let about = |why: String| format!("`{}`: {why}", path.display());
    let mut problems = Vec::new();
    for batch in open(path, &[columns.id, columns.vector])? {
        let batch = batch.map_err(|error| vec![about(error.to_string())])?;
        let of = |name| column(&batch, name).map_err(|why| vec![about(why)]);
        let ids = strings(&of(columns.id)?, columns.id).map_err(|why| vec![about(why)])?;
        let vectors = of(columns.vector)?;
        for (row, id) in ids.iter().enumerate() {
            let vector =
                vector(&vectors, row, columns.vector).and_then(|vector| finite(vector, columns.vector));
            let done = vector
                .map_err(|why| about(format!("`{id}`: {why}")))
                .and_then(|vector| each(id, &vector));
            problems.extend(done.err());
            if problems.len() == MAX_PROBLEMS {
                return Err(problems);
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
pub(crate) fn read_ids(path: &Path, id: &str, mut each: impl FnMut(&str)) -> Result<(), Vec<String>> {
    let about = |why: String| vec![format!("`{}`: {why}", path.display())];
    for batch in open(path, &[id])? {
        let batch = batch.map_err(|error| about(error.to_string()))?;
        let ids = column(&batch, id)
            .and_then(|column| strings(&column, id))
            .map_err(about)?;
        for id in &ids {
            each(id);
        }
    }
    Ok(())
}

/// A column of labels 0 and 1, as strings or as whole numbers.
///
/// # Errors
/// As [`read`], and when a label is something else.
pub(crate) fn read_labels(path: &Path, name: &str) -> Result<Vec<u8>, Vec<String>> {
    let about = |why: String| vec![format!("`{}`: {why}", path.display())];
    let mut labels = Vec::new();
    for batch in open(path, &[name])? {
        let batch = batch.map_err(|error| about(error.to_string()))?;
        let values = column(&batch, name).map_err(about)?;
        let texts = if values.data_type().is_integer() {
            cast(&values, &DataType::Utf8).map_err(|error| about(error.to_string()))?
        } else {
            values
        };
        for text in strings(&texts, name).map_err(about)? {
            match text.as_str() {
                "0" => labels.push(0),
                "1" => labels.push(1),
                other => return Err(about(format!("a `{name}` is `{other}`, not 0 or 1"))),
            }
        }
    }
    Ok(labels)
}

/// The batches of a file. The library panics on some damaged files.
struct Batches(ParquetRecordBatchReader);

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        unless_damaged(|| self.0.next()).unwrap_or_else(|why| Some(Err(ArrowError::ParquetError(why))))
    }
}

fn unless_damaged<T>(read: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(read)).map_err(|_| "it is damaged: fetch it again".into())
}

fn open(path: &Path, columns: &[&str]) -> Result<Batches, Vec<String>> {
    let about = |why: String| vec![format!("`{}`: {why}", path.display())];
    let file = File::open(path).map_err(|error| about(error.to_string()))?;
    let builder = unless_damaged(|| ParquetRecordBatchReaderBuilder::try_new(file)).map_err(about)?;
    let builder = builder.map_err(|error| about(error.to_string()))?;
    for column in columns {
        if builder.schema().field_with_name(column).is_err() {
            let names: Vec<_> = builder
                .schema()
                .fields()
                .iter()
                .map(|field| format!("`{}`", field.name()))
                .collect();
            return Err(about(format!(
                "it has no column `{column}`, only {}",
                names.join(", ")
            )));
        }
    }
    let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
    let reader = unless_damaged(|| builder.with_projection(mask).with_batch_size(BATCH_ROWS).build());
    let reader = reader.map_err(about)?;
    reader.map(Batches).map_err(|error| about(error.to_string()))
}

fn column(batch: &RecordBatch, name: &str) -> Result<ArrayRef, String> {
    batch
        .column_by_name(name)
        .cloned()
        .ok_or_else(|| format!("it has no column `{name}`"))
}

fn finite(vector: Vec<f32>, name: &str) -> Result<Vec<f32>, String> {
    match vector.iter().position(|number| !number.is_finite()) {
        Some(at) => Err(format!("number {at} of `{name}` is {}, not finite", vector[at])),
        None => Ok(vector),
    }
}

fn strings(column: &ArrayRef, name: &str) -> Result<Vec<String>, String> {
    let texts: Vec<Option<&str>> = match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().iter().collect(),
        DataType::LargeUtf8 => column.as_string::<i64>().iter().collect(),
        DataType::Utf8View => column.as_string_view().iter().collect(),
        other => return Err(format!("the column `{name}` is {other}, not strings")),
    };
    let text = |text: Option<&str>| {
        text.map(str::to_owned)
            .ok_or_else(|| format!("a `{name}` is null"))
    };
    texts.into_iter().map(text).collect()
}

fn vector(column: &ArrayRef, row: usize, name: &str) -> Result<Vec<f32>, String> {
    if column.is_null(row) {
        return Err(format!("its `{name}` is null"));
    }
    let numbers = match column.data_type() {
        DataType::List(_) => column.as_list::<i32>().value(row),
        DataType::LargeList(_) => column.as_list::<i64>().value(row),
        DataType::FixedSizeList(_, _) => column.as_fixed_size_list().value(row),
        other => return Err(format!("the column `{name}` is {other}, not lists of floats")),
    };
    if numbers.null_count() > 0 {
        return Err(format!("its `{name}` has a null in it"));
    }
    match numbers.data_type() {
        DataType::Float32 => Ok(numbers.as_primitive::<Float32Type>().values().to_vec()),
        DataType::Float64 => numbers
            .as_primitive::<Float64Type>()
            .values()
            .iter()
            .map(|&number| narrow(number))
            .collect(),
        other => Err(format!("the column `{name}` has lists of {other}, not of floats")),
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
