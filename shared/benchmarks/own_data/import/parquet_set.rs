//! A labelled table in a Parquet file, as the CSV that an artifact of `curation` is.
//!
//! Functions read no Parquet: its pages unpack to whatever they like, and its reader is larger than a function otherwise is. Who has
//! such a file has it converted where it lies.

use std::path::Path;

use crate::own_data::table::LABEL;
use bytes::Bytes;

use super::examples::csv_of;
use dataperf_datasets::embeddings::Table;

/// What a Parquet file begins with.
const MAGIC: &[u8] = b"PAR1";
/// Begins the name of a column that pandas makes of a data frame's index.
const INDEX: &str = "__index_level_";

/// Whether these are the bytes of a Parquet file.
pub(super) fn is_parquet(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// The column `label`, and the columns of numbers in the order of the file, as a CSV. Numbers are written so that reading them gives
/// the same 64-bit floats.
///
/// # Errors
/// Sentences about the file called `name`: damaged, without labels or numbers, a column of something else, a value that is null.
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
