//! Converts a labelled table in a Parquet file to a CSV, the form of artifacts of `curation`.
//!
//! Functions do not read Parquet: its pages may unpack to any size, and its reader is larger than a whole function otherwise. Such
//! a file is converted on the machine of its owner.

use std::path::Path;

use crate::own_data::table::LABEL;
use bytes::Bytes;

use super::examples::csv_of;
use dataperf_datasets::embeddings::Table;

/// The first bytes of every Parquet file.
const MAGIC: &[u8] = b"PAR1";
/// The beginning of the names of columns that pandas writes for a data frame's index.
const INDEX: &str = "__index_level_";

/// Whether these are the bytes of a Parquet file.
pub(super) fn is_parquet(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// The column `label` and the columns of numbers, in the order of the file, as a CSV. Numbers are written so that reading them
/// gives the same 64-bit floats.
///
/// # Errors
/// Sentences about the file called `name` if it is damaged, has no labels or no numbers, a column of another type, or a null value.
pub(super) fn to_csv(name: &str, bytes: Vec<u8>) -> Result<Vec<u8>, Vec<String>> {
    let table = Table::of(Bytes::from(bytes), Path::new(name))?;
    let labels = table.words(LABEL)?;
    let others = table.columns().iter().map(|column| column.name());
    let others: Vec<&str> = others
        .filter(|column| *column != LABEL && !column.starts_with(INDEX))
        .collect();
    if others.is_empty() {
        return Err(table.about("it has no column of numbers beside `label`"));
    }
    let (mut columns, mut problems) = (Vec::new(), Vec::new());
    for column in &others {
        match table.numbers(column) {
            Ok(numbers) => columns.push(numbers),
            Err(found) => problems.extend(found),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    if columns.iter().any(|column| column.len() != labels.len()) {
        return Err(table.about("its columns have different numbers of rows"));
    }
    let lines: Vec<Vec<String>> = labels
        .into_iter()
        .enumerate()
        .map(|(row, label)| {
            let numbers = columns.iter().map(|column| column[row].to_string());
            std::iter::once(label).chain(numbers).collect()
        })
        .collect();
    let header: Vec<&str> = std::iter::once(LABEL).chain(others.iter().copied()).collect();
    Ok(csv_of(
        &header,
        lines.iter().map(|line| line.iter().map(String::as_str)),
    ))
}
