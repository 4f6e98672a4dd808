//! Adversarial Nibbler's public data set on disk: the same rows as JSON Lines and as Parquet, and the datasheet.

use std::path::Path;

use dataperf_datasets::{ImportError, Values, write_new_files, write_parquet};

use crate::nibbler::Mode;
use crate::nibbler::export::{About, Export, PairRow, VerdictRow, datasheet, json_lines};

type Columns = Vec<(String, Values)>;

/// Writes `pairs` and `verdicts`, each as `.jsonl` and `.parquet`, and the datasheet as `README.md`
/// into the directory `out`, which it creates if missing.
///
/// # Errors
/// [`ImportError::Occupied`] when one of them is there already, before anything is written; [`ImportError::Io`].
pub fn write_nibbler_export(export: &Export, about: &About<'_>, out: &Path) -> Result<(), ImportError> {
    let failed = |error: serde_json::Error| ImportError::refused(out, error.to_string());
    let parquet = |columns: &Columns| {
        let mut bytes = Vec::new();
        let written = write_parquet(columns, &mut bytes);
        written.map_err(|error| ImportError::refused(out, error.to_string()))?;
        Ok::<_, ImportError>(bytes)
    };
    let files = [
        ("README.md", datasheet(export, about).into_bytes()),
        ("pairs.jsonl", json_lines(&export.pairs).map_err(failed)?),
        ("verdicts.jsonl", json_lines(&export.verdicts).map_err(failed)?),
        ("pairs.parquet", parquet(&pair_columns(&export.pairs))?),
        ("verdicts.parquet", parquet(&verdict_columns(&export.verdicts))?),
    ];
    write_new_files(out, &files.map(|(name, bytes)| (name.to_owned(), bytes)))
}

fn texts<'a, T>(rows: &'a [T], text: impl Fn(&'a T) -> &'a str) -> Values {
    Values::Text(rows.iter().map(|row| text(row).to_owned()).collect())
}

fn maybe_texts<T>(rows: &[T], text: impl Fn(&T) -> Option<&str>) -> Values {
    Values::MaybeText(rows.iter().map(|row| text(row).map(str::to_owned)).collect())
}

fn lists<T>(rows: &[T], list: impl Fn(&T) -> &[String]) -> Values {
    Values::Words(rows.iter().map(|row| list(row).to_vec()).collect())
}

fn numbers<T>(rows: &[T], number: impl Fn(&T) -> u32) -> Values {
    Values::Whole(rows.iter().map(|row| number(row).into()).collect())
}

fn flags<T>(rows: &[T], flag: impl Fn(&T) -> bool) -> Values {
    Values::MaybeFlag(rows.iter().map(|row| Some(flag(row))).collect())
}

fn named<const N: usize>(columns: [(&str, Values); N]) -> Columns {
    columns.map(|(name, values)| (name.to_owned(), values)).into()
}

fn pair_columns(rows: &[PairRow]) -> Columns {
    let mode = |row: &PairRow| match row.mode {
        Mode::Benign => "benign",
        Mode::Subversive => "subversive",
    };
    named([
        ("pair", texts(rows, |row| &row.pair)),
        ("submitter", texts(rows, |row| &row.submitter)),
        ("prompt", texts(rows, |row| &row.prompt)),
        ("image", texts(rows, |row| &row.image)),
        ("mode", texts(rows, mode)),
        ("attacks", lists(rows, |row| &row.attacks)),
        ("rewrite", texts(rows, |row| &row.rewrite)),
        ("harms_submitted", lists(rows, |row| &row.harms_submitted)),
        ("identity_groups", lists(rows, |row| &row.identity_groups)),
        ("harms", lists(rows, |row| &row.harms)),
        ("attacks_found", lists(rows, |row| &row.attacks_found)),
        (
            "identity_groups_found",
            lists(rows, |row| &row.identity_groups_found),
        ),
        ("severity", numbers(rows, |row| row.severity.into())),
        ("n_verdicts", numbers(rows, |row| row.n_verdicts)),
        ("is_duplicate", flags(rows, |row| row.is_duplicate)),
        ("provider", maybe_texts(rows, |row| row.provider.as_deref())),
        ("model", maybe_texts(rows, |row| row.model.as_deref())),
    ])
}

fn verdict_columns(rows: &[VerdictRow]) -> Columns {
    named([
        ("pair", texts(rows, |row| &row.pair)),
        ("rater", texts(rows, |row| &row.rater)),
        ("prompt_safe", flags(rows, |row| row.prompt_safe)),
        ("image_unsafe", flags(rows, |row| row.image_unsafe)),
        ("severity", numbers(rows, |row| row.severity.into())),
        ("harms", lists(rows, |row| &row.harms)),
        ("attacks", lists(rows, |row| &row.attacks)),
        ("identity_groups", lists(rows, |row| &row.identity_groups)),
    ])
}
