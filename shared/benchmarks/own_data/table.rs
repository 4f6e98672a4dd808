//! Frozen tables: features in a `.npy` file, and a `.csv` file with a line for each row.
//!
//! Participants' own programs can read both forms. The manifest says where the numbers begin in the `.npy` file.

use std::collections::BTreeMap;

use ndarray::Array2;

use dataperf::dataset::encoding::encoding;
use dataperf::dataset::frozen::{FrozenError, Manifest};
use dataperf::dataset::{DatasetError, Files};
use dataperf::quote;
use dataperf_numerics::numbers::{Encoding, Stored};

/// The name of the matrices in the manifest.
pub const FEATURES: &str = "features";
/// The name of the column with ids.
pub const ID: &str = "id";
/// The name of the column with classes.
pub const LABEL: &str = "label";
/// The columns of a table that hold no features.
pub const NO_FEATURES: [&str; 6] = [ID, LABEL, "group", "cluster", "given", "truth"];

/// A truth value as pandas writes and reads it, as a number.
pub(super) fn truth(field: &str) -> Option<f64> {
    match field.trim() {
        "True" | "TRUE" | "true" => Some(1.0),
        "False" | "FALSE" | "false" => Some(0.0),
        _ => None,
    }
}

/// The path of the file with a table's features.
pub fn features_file(table: &str) -> String {
    format!("{table}.npy")
}

/// The path of the file with a table's examples: ids and labels.
pub fn examples_file(table: &str) -> String {
    format!("{table}.csv")
}

/// The number of rows and columns of a table's features, and the encoding of their numbers.
///
/// # Errors
/// [`FrozenError::Damaged`] if there is no such file, or it has no matrix of floats.
pub(super) fn shape(manifest: &Manifest, table: &str) -> Result<(usize, usize, Encoding), FrozenError> {
    let path = features_file(table);
    let tensor = manifest.any_tensor(&path, FEATURES)?;
    let encoding = encoding(tensor.dtype, None);
    let (&[n_rows, n_features], Some(encoding)) = (tensor.shape.as_slice(), encoding) else {
        let why = format!(
            "it holds {:?} {:?} and no matrix of floats",
            tensor.dtype, tensor.shape
        );
        return Err(FrozenError::damaged(&path, why));
    };
    Ok((n_rows, n_features, encoding))
}

/// A table's features, `(n_rows, n_features)`, as 64-bit floats.
///
/// # Errors
/// [`DatasetError`] when the file is not what the manifest says, or a number is not finite.
pub(super) async fn features(files: &Files<'_>, table: &str) -> Result<Array2<f64>, DatasetError> {
    let path = features_file(table);
    let (n_rows, n_features, encoding) = shape(files.manifest(), table)?;
    let mut stored = Stored::with_capacity(encoding, n_rows * n_features);
    stored.extend(&files.tensor(&path, FEATURES).await?);
    let numbers = stored.view().to_f64();
    if numbers.iter().any(|number| !number.is_finite()) {
        return Err(FrozenError::damaged(&path, "it has a number that is not finite").into());
    }
    let features = Array2::from_shape_vec((n_rows, n_features), numbers);
    Ok(features.map_err(|error| FrozenError::damaged(&path, error.to_string()))?)
}

/// A whole table: features and examples.
pub struct Table {
    /// `(n_rows, n_features)`
    pub features: Array2<f64>,
    /// The columns that describe the rows, such as ids and labels.
    pub examples: Examples,
}

/// Reads a table of a data set.
///
/// # Errors
/// [`DatasetError`] when its files are missing or are not what the manifest says.
pub async fn read(files: &Files<'_>, table: &str) -> Result<Table, DatasetError> {
    let features = features(files, table).await?;
    let examples = Examples::read(files, table, features.nrows()).await?;
    Ok(Table { features, examples })
}

/// The examples of a table: named columns with a text for each row.
pub struct Examples {
    path: String,
    columns: BTreeMap<String, Vec<String>>,
}

impl Examples {
    /// Reads a table's examples, a line for each of `n_rows` rows of features.
    ///
    /// # Errors
    /// [`DatasetError`] when the file is no CSV or has another number of lines.
    pub(super) async fn read(files: &Files<'_>, table: &str, n_rows: usize) -> Result<Self, DatasetError> {
        let path = examples_file(table);
        let damaged = |why: String| FrozenError::damaged(&path, why);
        let whole = files.whole(&path).await?;
        let mut reader = csv::Reader::from_reader(&whole[..]);
        let header = reader.headers().map_err(|error| damaged(error.to_string()))?;
        let names: Vec<String> = header.iter().map(str::to_owned).collect();
        let mut columns = vec![Vec::with_capacity(n_rows); names.len()];
        for record in reader.records() {
            let record = record.map_err(|error| damaged(error.to_string()))?;
            for (column, field) in columns.iter_mut().zip(&record) {
                column.push(field.to_owned());
            }
        }
        let n_lines = columns.first().map_or(0, Vec::len);
        if n_lines != n_rows {
            let why = format!("it has {n_lines} lines for {n_rows} rows of features");
            return Err(damaged(why).into());
        }
        let columns = names.into_iter().zip(columns).collect();
        Ok(Self { path, columns })
    }

    /// The column with this name, if there is one.
    pub fn column(&self, name: &str) -> Option<&[String]> {
        self.columns.get(name).map(Vec::as_slice)
    }

    /// The column with this name, which has to be there.
    ///
    /// # Errors
    /// [`FrozenError::Damaged`].
    pub fn required(&self, name: &str) -> Result<&[String], FrozenError> {
        let missing = || FrozenError::damaged(&self.path, format!("it has no column `{name}`"));
        self.column(name).ok_or_else(missing)
    }

    /// The class number of each row.
    ///
    /// # Errors
    /// [`FrozenError::Damaged`] when the column is missing or a name in it is no class.
    pub fn classes(&self, column: &str, classes: &[String]) -> Result<Vec<u8>, FrozenError> {
        let number_of: BTreeMap<&str, u8> = classes.iter().map(String::as_str).zip(0..).collect();
        let class = |name: &String| {
            let unknown = || FrozenError::damaged(&self.path, format!("{} is not a class", quote(name)));
            number_of.get(name.as_str()).copied().ok_or_else(unknown)
        };
        self.required(column)?.iter().map(class).collect()
    }
}
