//! Reads the tables of the public challenges: a column of ids and a column of float vectors, as pandas and pyarrow write them.

use std::path::Path;

use crate::tables::table_file::TableFile;

/// The columns that matter.
#[derive(Debug, Clone, Copy)]
pub struct Columns {
    /// The column of ids.
    pub id: &'static str,
    /// The column of vectors.
    pub vector: &'static str,
}

/// The maximum number of listed problems in one file's rows.
const MAX_PROBLEMS: usize = 20;

/// Calls `each` for every row, in file order, with its id and its vector.
///
/// # Errors
/// Messages about the file: unreadable; a column missing or of another type; a null; a number that
/// is not finite or does not fit into 32 bits. It includes the messages of `each`.
pub fn read(
    path: &Path,
    columns: Columns,
    mut each: impl FnMut(&str, &[f32]) -> Result<(), String>,
) -> Result<(), Vec<String>> {
    let name = path.display().to_string();
    let table = TableFile::open(path, &name)?;
    let (mut problems, mut narrowed) = (Vec::new(), Vec::new());
    table.each_text_and_list((columns.id, columns.vector), &mut |id, list| {
        let vector = list
            .map_err(|problem| format!("its `{}` {problem}", columns.vector))
            .and_then(|list| narrow(list, columns.vector, &mut narrowed));
        let done = vector
            .map_err(|why| format!("`{name}`: `{id}`: {why}"))
            .and_then(|()| each(id, &narrowed));
        problems.extend(done.err());
        if problems.len() == MAX_PROBLEMS {
            Err(std::mem::take(&mut problems))
        } else {
            Ok(())
        }
    })?;
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
pub fn read_ids(path: &Path, id: &str, each: impl FnMut(&str)) -> Result<(), Vec<String>> {
    let ids = TableFile::open(path, &path.display().to_string())?.texts(id)?;
    ids.iter().map(String::as_str).for_each(each);
    Ok(())
}

/// A column of labels 0 and 1, as strings or as numbers.
///
/// # Errors
/// As [`read`], and when a label is something else.
pub fn read_labels(path: &Path, name: &str) -> Result<Vec<u8>, Vec<String>> {
    let table = TableFile::open(path, &path.display().to_string())?;
    let label = |text: String| match text.as_str() {
        "0" | "False" => Ok(0),
        "1" | "True" => Ok(1),
        other => Err(table.about(format!("a `{name}` is `{other}`, not 0 or 1"))),
    };
    table.texts(name)?.into_iter().map(label).collect()
}

/// Wide numbers as the 32-bit floats that they came from: one that needs more bits would be scored differently.
fn narrow(list: &[f64], name: &str, narrowed: &mut Vec<f32>) -> Result<(), String> {
    narrowed.clear();
    for (at, &number) in list.iter().enumerate() {
        let narrow = number as f32;
        if !number.is_finite() {
            return Err(format!("number {at} of `{name}` is {number}, not finite"));
        }
        if f64::from(narrow).total_cmp(&number).is_ne() {
            return Err(format!(
                "{number} is not a 32-bit float: store the embeddings as float32"
            ));
        }
        narrowed.push(narrow);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
