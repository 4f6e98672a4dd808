//! A round's data set on disk: the same rows as JSON Lines and as Parquet, the datasheet, and where they come from.

use std::path::Path;

use crate::common::pretty_json;
use dataperf_datasets::{ImportError, Values, write_new_files, write_parquet};
use serde::Serialize;
use serde_json::Value;

use crate::text::export::{About, Export, Row, Split, datasheet, json_lines};

/// The origin of the rows, for programs.
pub const PROVENANCE: &str = "provenance.json";

/// Writes `train`, `dev` and `test`, each as `.jsonl` and `.parquet`, the datasheet as `README.md`
/// and `provenance.json` into the directory `out`, which it creates if missing.
///
/// # Errors
/// [`ImportError::Occupied`] when one of them is there already, before anything is written; [`ImportError::Io`].
pub fn write_text_export(export: &Export, about: &About, out: &Path) -> Result<(), ImportError> {
    let failed = |error: serde_json::Error| ImportError::refused(out, error.to_string());
    let mut files = vec![
        ("README.md".to_owned(), datasheet(export, about).into_bytes()),
        (PROVENANCE.to_owned(), provenance(export, about).map_err(failed)?),
    ];
    for (split, _) in Split::ALL {
        let rows: Vec<&Row> = export.part(split).collect();
        files.push((
            format!("{}.jsonl", split.as_str()),
            json_lines(&rows).map_err(failed)?,
        ));
        let mut parquet = Vec::new();
        write_parquet(&columns(&rows).map_err(failed)?, &mut parquet)
            .map_err(|error| ImportError::refused(out, error.to_string()))?;
        files.push((format!("{}.parquet", split.as_str()), parquet));
    }
    write_new_files(out, &files)
}

fn provenance(export: &Export, about: &About) -> Result<Vec<u8>, serde_json::Error> {
    #[derive(Serialize)]
    struct Provenance<'a> {
        benchmark: &'a str,
        round: &'a str,
        #[serde(flatten)]
        about: &'a About,
        counts: Value,
        agreement: Value,
    }
    pretty_json(&Provenance {
        benchmark: crate::text::BENCHMARK,
        round: &export.round,
        about,
        counts: serde_json::to_value(&export.counts)?,
        agreement: serde_json::to_value(&export.agreement)?,
    })
}

/// The columns of the rows; a value that has members of its own is JSON in a column of text.
fn columns(rows: &[&Row]) -> Result<Vec<(String, Values)>, serde_json::Error> {
    let text = |get: fn(&Row) -> String| Values::Text(rows.iter().map(|row| get(row)).collect());
    let maybe =
        |get: fn(&Row) -> Option<String>| Values::MaybeText(rows.iter().map(|row| get(row)).collect());
    let flag = |get: fn(&Row) -> bool| Values::MaybeFlag(rows.iter().map(|row| Some(get(row))).collect());
    let json = |get: fn(&Row) -> serde_json::Result<Value>| -> serde_json::Result<Values> {
        let texts = rows.iter().map(|row| Ok(get(row)?.to_string()));
        Ok(Values::Text(texts.collect::<serde_json::Result<_>>()?))
    };
    let start = |row: &&Row| match &row.gold {
        crate::text::Gold::Span(span) => i64::try_from(span.start).ok(),
        crate::text::Gold::Label(_) => None,
    };
    let columns = vec![
        ("id", text(|row| row.id.clone())),
        ("round", text(|row| row.round.clone())),
        ("task", text(|row| row.task.to_string())),
        ("context_id", maybe(|row| row.context_id.clone())),
        ("context", maybe(|row| row.context.clone())),
        ("text", text(|row| row.text.clone())),
        (
            "label",
            maybe(|row| (!row.task.has_spans()).then(|| row.gold.as_str().to_owned())),
        ),
        (
            "answer",
            maybe(|row| row.task.has_spans().then(|| row.gold.as_str().to_owned())),
        ),
        (
            "answer_start",
            Values::MaybeWhole(rows.iter().map(start).collect()),
        ),
        ("why", text(|row| row.why.clone())),
        ("annotator", text(|row| row.annotator.clone())),
        ("is_fooling", flag(|row| row.is_fooling)),
        ("is_verified", flag(|row| row.is_verified)),
        ("fooled", json(|row| serde_json::to_value(&row.fooled))?),
        ("answers", json(|row| serde_json::to_value(&row.answers))?),
        ("verdicts", json(|row| serde_json::to_value(&row.verdicts))?),
        ("split", text(|row| row.split.as_str().to_owned())),
    ];
    let named = columns
        .into_iter()
        .map(|(name, values)| (name.to_owned(), values));
    Ok(named.collect())
}
