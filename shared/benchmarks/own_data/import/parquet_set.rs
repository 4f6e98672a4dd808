//! Converts a labelled table in a Parquet or Feather file to a CSV, the form of artifacts of `curation`.
//!
//! Functions do not read such files: their pages may unpack to any size, and their reader is larger than a whole function otherwise. Such
//! a file is converted on the machine of its owner.

use crate::own_data::table::{LABEL, NO_FEATURES};

use super::examples::csv_of;
use dataperf_datasets::tables::table_file::{Holds, TableFile};

/// The column `label` and the columns of numbers, in the order of the file, as a CSV. Of lists, the numbers of a row are the columns `f0`, `f1`
/// and so on. Numbers are written so that reading them gives the same 64-bit floats.
///
/// # Errors
/// Sentences about the file called `name` if it is damaged, has no labels or no numbers, a column of another type, or a null value.
pub(super) fn to_csv(name: &str, bytes: Vec<u8>) -> Result<Vec<u8>, Vec<String>> {
    let table = TableFile::read(bytes, name)?;
    let labels = table.texts(LABEL)?;
    let columns = table.columns(&[LABEL]);
    let columns: Vec<(&str, Holds)> = columns
        .into_iter()
        .filter(|(column, _)| !NO_FEATURES.contains(column))
        .collect();
    if columns.is_empty() {
        return Err(table.about("it has no column of numbers beside `label`"));
    }
    let mut rows: Vec<Vec<f64>> = Vec::with_capacity(labels.len());
    let mut header: Vec<String> = vec![LABEL.to_owned()];
    if let [(column, Holds::Lists(_))] = columns.as_slice() {
        table.each_list(column, &mut |row, list| {
            let about = |problem| table.about(format!("row {}: its `{column}` {problem}", row + 1));
            rows.push(list.map_err(about)?.to_vec());
            Ok(())
        })?;
        let width = rows.first().map_or(0, Vec::len);
        if let Some(row) = rows.iter().position(|numbers| numbers.len() != width) {
            let why = format!(
                "row {}: it has {} numbers, and the first row {width}",
                row + 1,
                rows[row].len()
            );
            return Err(table.about(why));
        }
        header.extend((0..width).map(|place| format!("f{place}")));
    } else {
        let names: Vec<&str> = columns.iter().map(|(column, _)| *column).collect();
        table.each_numbers(&names, &mut |_, numbers| rows.push(numbers.to_vec()))?;
        header.extend(names.iter().map(|name| (*name).to_owned()));
    }
    if rows.len() != labels.len() {
        return Err(table.about("its columns have different numbers of rows"));
    }
    let lines: Vec<Vec<String>> = labels
        .into_iter()
        .zip(rows)
        .map(|(label, numbers)| {
            std::iter::once(label)
                .chain(numbers.iter().map(f64::to_string))
                .collect()
        })
        .collect();
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    Ok(csv_of(
        &header,
        lines.iter().map(|line| line.iter().map(String::as_str)),
    ))
}
