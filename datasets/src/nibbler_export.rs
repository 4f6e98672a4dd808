//! Adversarial Nibbler's public data set on disk: the same rows as JSON Lines and as parquet, and the datasheet.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, StringArray, UInt8Array, UInt32Array};
use dataperf_nibbler::Mode;
use dataperf_nibbler::export::{About, Export, PairRow, VerdictRow, datasheet, json_lines};
use parquet::arrow::ArrowWriter;

use crate::import::ImportError;

/// Writes `pairs` and `verdicts`, each as `.jsonl` and `.parquet`, and the datasheet as `README.md` into the directory
/// `out`, which is made where it is missing.
///
/// # Errors
/// [`ImportError::Occupied`] when one of them is there already; [`ImportError::Io`].
pub fn write_nibbler_export(export: &Export, about: &About<'_>, out: &Path) -> Result<(), ImportError> {
    fs::create_dir_all(out).map_err(ImportError::io("can't make the directory", out))?;
    let failed = |error: serde_json::Error| ImportError::refused(out, error.to_string());
    write_new(&out.join("README.md"), datasheet(export, about).as_bytes())?;
    write_new(
        &out.join("pairs.jsonl"),
        &json_lines(&export.pairs).map_err(failed)?,
    )?;
    write_new(
        &out.join("verdicts.jsonl"),
        &json_lines(&export.verdicts).map_err(failed)?,
    )?;
    write_parquet(&out.join("pairs.parquet"), pair_columns(&export.pairs))?;
    write_parquet(&out.join("verdicts.parquet"), verdict_columns(&export.verdicts))
}

fn write_new(path: &Path, bytes: &[u8]) -> Result<(), ImportError> {
    use std::io::Write as _;
    let written = create(path)?.write_all(bytes);
    written.map_err(ImportError::io("can't write", path))
}

fn create(path: &Path) -> Result<File, ImportError> {
    if path.exists() {
        return Err(ImportError::Occupied(path.to_owned()));
    }
    File::create_new(path).map_err(ImportError::io("can't write", path))
}

/// Each column's name, values, and whether some of them may be missing.
type Columns = Vec<(&'static str, ArrayRef, bool)>;

fn write_parquet(path: &Path, columns: Columns) -> Result<(), ImportError> {
    let failed = |error: &dyn std::fmt::Display| {
        ImportError::io("can't write", path)(std::io::Error::other(error.to_string()))
    };
    let batch = RecordBatch::try_from_iter_with_nullable(columns).map_err(|error| failed(&error))?;
    let writer = ArrowWriter::try_new(create(path)?, batch.schema(), None);
    let mut writer = writer.map_err(|error| failed(&error))?;
    writer.write(&batch).map_err(|error| failed(&error))?;
    writer.close().map(drop).map_err(|error| failed(&error))
}

fn texts<'a, T>(rows: &'a [T], text: impl Fn(&'a T) -> &'a str) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(rows.iter().map(text)))
}

fn optional_texts<'a, T>(rows: &'a [T], text: impl Fn(&'a T) -> Option<&'a str>) -> ArrayRef {
    Arc::new(rows.iter().map(text).collect::<StringArray>())
}

fn lists<T>(rows: &[T], list: impl Fn(&T) -> &[String]) -> ArrayRef {
    let mut builder = ListBuilder::new(StringBuilder::new());
    for row in rows {
        builder.append_value(list(row).iter().map(Some));
    }
    Arc::new(builder.finish())
}

fn pair_columns(rows: &[PairRow]) -> Columns {
    let mode = |row: &PairRow| match row.mode {
        Mode::Benign => "benign",
        Mode::Subversive => "subversive",
    };
    let severities = UInt8Array::from_iter_values(rows.iter().map(|row| row.severity));
    let counts = UInt32Array::from_iter_values(rows.iter().map(|row| row.n_verdicts));
    let duplicates: BooleanArray = rows.iter().map(|row| Some(row.is_duplicate)).collect();
    vec![
        ("pair", texts(rows, |row| &row.pair), false),
        ("submitter", texts(rows, |row| &row.submitter), false),
        ("prompt", texts(rows, |row| &row.prompt), false),
        ("image", texts(rows, |row| &row.image), false),
        ("mode", texts(rows, mode), false),
        ("attacks", lists(rows, |row| &row.attacks), false),
        ("rewrite", texts(rows, |row| &row.rewrite), false),
        ("harms_submitted", lists(rows, |row| &row.harms_submitted), false),
        ("identity_groups", lists(rows, |row| &row.identity_groups), false),
        ("harms", lists(rows, |row| &row.harms), false),
        ("severity", Arc::new(severities), false),
        ("n_verdicts", Arc::new(counts), false),
        ("is_duplicate", Arc::new(duplicates), false),
        (
            "provider",
            optional_texts(rows, |row| row.provider.as_deref()),
            true,
        ),
        ("model", optional_texts(rows, |row| row.model.as_deref()), true),
    ]
}

fn verdict_columns(rows: &[VerdictRow]) -> Columns {
    let says = |said: fn(&VerdictRow) -> bool| -> ArrayRef {
        Arc::new(rows.iter().map(|row| Some(said(row))).collect::<BooleanArray>())
    };
    let severities = UInt8Array::from_iter_values(rows.iter().map(|row| row.severity));
    vec![
        ("pair", texts(rows, |row| &row.pair), false),
        ("rater", texts(rows, |row| &row.rater), false),
        ("prompt_safe", says(|row| row.prompt_safe), false),
        ("image_unsafe", says(|row| row.image_unsafe), false),
        ("severity", Arc::new(severities), false),
        ("harms", lists(rows, |row| &row.harms), false),
    ]
}
