//! Code shared by the benchmarks' closed tasks: the document about the task, tables, and ids.
//!
//! A table is a `.npy` file with a matrix, and a `.csv` file with one line for each row, which begins with the row's number: its
//! id.

use bytes::Bytes;
use serde_json::{Map, Value};

use dataperf::benchmark::closed::DataFile;
use dataperf::dataset::frozen::{Dtype, FrozenError};
use dataperf::formats::json::Json;
use dataperf::{Benchmark, Reason, Reasons, pointer, quote};

/// `task.json`: the board, and the parameters for the program's answer.
pub(crate) fn document<B: Benchmark>(leaderboard: &str, value: Value) -> DataFile {
    let mut document = Map::new();
    document.insert("schema".into(), 1.into());
    document.insert("benchmark".into(), B::ID.into());
    document.insert("leaderboard".into(), leaderboard.into());
    if let Value::Object(value) = value {
        document.extend(value);
    }
    json_file("task.json", &Value::Object(document))
}

/// A file with a JSON document and a final line break.
pub(crate) fn json_file(name: &str, document: &Value) -> DataFile {
    DataFile {
        name: name.to_owned(),
        bytes: format!("{document:#}\n").into_bytes(),
    }
}

/// The numbers of a matrix of little-endian floats in stored form, row after row.
pub(crate) struct Stored {
    pub(crate) bytes: Bytes,
    pub(crate) dtype: Dtype,
    pub(crate) n_rows: usize,
    pub(crate) n_cols: usize,
}

impl Stored {
    /// `NAME.npy`: the rows of the matrix in the given order.
    ///
    /// # Errors
    /// [`FrozenError::Damaged`] for the file `path` if the numbers are no floats, or the shape does not fit the number of bytes.
    pub(crate) fn npy(&self, name: &str, order: &[usize], path: &str) -> Result<DataFile, FrozenError> {
        let kind = match self.dtype {
            Dtype::F32 => "<f4",
            Dtype::F64 => "<f8",
            other => return Err(FrozenError::damaged(path, format!("{other:?} are no floats"))),
        };
        let row_bytes = self.n_cols * self.dtype.size() as usize;
        if self.bytes.len() != self.n_rows * row_bytes {
            let why = format!("it has not {} rows of {} floats", self.n_rows, self.n_cols);
            return Err(FrozenError::damaged(path, why));
        }
        let (n_rows, n_cols) = (order.len(), self.n_cols);
        let header =
            format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({n_rows}, {n_cols}), }}");
        let n_padded = (10 + header.len() + 1).next_multiple_of(64) - 10; // as NumPy's format 1.0 asks
        let mut bytes = Vec::with_capacity(10 + n_padded + n_rows * row_bytes);
        bytes.extend(b"\x93NUMPY\x01\x00");
        bytes.extend((n_padded as u16).to_le_bytes());
        bytes.extend(format!("{header:<width$}\n", width = n_padded - 1).as_bytes());
        for &row in order {
            bytes.extend_from_slice(&self.bytes[row * row_bytes..][..row_bytes]);
        }
        Ok(DataFile {
            name: format!("{name}.npy"),
            bytes,
        })
    }
}

/// `NAME.csv`: a header and its lines.
///
/// # Errors
/// If a line and the header differ in their numbers of fields.
pub(crate) fn csv_file(
    name: &str,
    header: &[&str],
    lines: impl Iterator<Item = Vec<String>>,
) -> Result<DataFile, FrozenError> {
    let damaged = |error: csv::Error| FrozenError::damaged(name, error.to_string());
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(header).map_err(damaged)?;
    for line in lines {
        writer.write_record(&line).map_err(damaged)?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| FrozenError::damaged(name, error.to_string()))?;
    Ok(DataFile {
        name: format!("{name}.csv"),
        bytes,
    })
}

/// The data set's ids in the order of the numbers from 0 that a program sees in their place.
pub(crate) struct Ids {
    file: &'static str,
    of_numbers: Vec<String>,
}

impl Ids {
    /// `of_numbers`: the id of each number. `file` is the name of the file that shows the numbers
    /// to the program.
    pub(crate) fn new(file: &'static str, of_numbers: Vec<String>) -> Self {
        Self { file, of_numbers }
    }

    /// The data set's id for a program's id; an unknown one is noted and returned unchanged.
    fn named(&self, written: String, at: &str, reasons: &mut Reasons) -> String {
        let number = written.parse::<usize>().ok();
        let number = number.filter(|number| number.to_string() == written); // neither `007` nor `+7`
        let named = number.and_then(|number| self.of_numbers.get(number));
        if named.is_none() {
            let message = format!(
                "{} is not an id of `/data/{}`: the ids are \"0\" to \"{}\"",
                quote(&written),
                self.file,
                self.of_numbers.len().saturating_sub(1)
            );
            reasons.add(Reason::new("unknown_id", at, message));
        }
        named.cloned().unwrap_or(written)
    }

    /// Translates a list of ids. A value that is no list, or an item that is no string, is returned unchanged, for the ordinary
    /// rules to refuse.
    pub(crate) fn list(&self, value: Json, at: &str, reasons: &mut Reasons) -> Json {
        let Json::Array(items) = value else {
            return value;
        };
        let item = |(idx, item)| match item {
            Json::String(written) => Json::String(self.named(written, &format!("{at}/{idx}"), reasons)),
            other => other,
        };
        Json::Array(items.into_iter().enumerate().map(item).collect())
    }

    /// Translates the keys of an object, which are ids.
    pub(crate) fn keys(&self, value: Json, at: &str, reasons: &mut Reasons) -> Json {
        let Json::Object(members) = value else {
            return value;
        };
        let members = members.into_iter().map(|(key, value)| {
            let at = pointer(at, &key);
            (self.named(key, &at, reasons), value)
        });
        Json::Object(members.collect())
    }
}
