//! Results that are tables: for people, as JSON, and as CSV.

use anyhow::Result;
use dataperf::{Ending, Verdict, csv_cell};
use serde::Serialize;
use serde_json::{Value, json};

use crate::output::metrics::numbers;
use crate::output::{Format, print_json, visible};

/// How results are printed that may be rows, or a document that people write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum RowFormat {
    // no documentation: the help of `--format` has a line for all of them
    Text,
    Json,
    Csv,
    Yaml,
}

impl RowFormat {
    /// For results that are not rows.
    pub(crate) fn of_documents(self) -> Result<Format> {
        match self {
            Self::Text => Ok(Format::Text),
            Self::Json => Ok(Format::Json),
            Self::Csv => {
                anyhow::bail!(
                    "this command's result is not a table, so it has no CSV: choose `text` or `json`"
                )
            }
            Self::Yaml => {
                anyhow::bail!(
                    "`--format yaml` is for `dataperf challenge show`: choose `text`, `json` or, for tables, `csv`"
                )
            }
        }
    }

    /// For rows: whether they are CSV.
    pub(crate) fn of_rows(self) -> Result<(Format, bool)> {
        match self {
            Self::Csv => Ok((Format::Json, true)),
            other => Ok((other.of_documents()?, false)),
        }
    }
}

/// Prints rows: as JSON one list of them, as CSV the columns of each, as text what `text` prints. What is a list or an object is
/// in its cell as JSON.
pub(crate) fn print_rows(
    rows: &[Value],
    columns: &[&str],
    format: RowFormat,
    text: impl FnOnce() -> Result<()>,
) -> Result<()> {
    print_tabled(|| Ok(json!(rows)), columns, || rows.to_vec(), format, text)
}

/// Prints a result that has a table in it: as JSON the whole document, as CSV the columns of the table's rows, as text what `text` prints.
pub(crate) fn print_tabled<D: Serialize>(
    document: impl FnOnce() -> Result<D>,
    columns: &[&str],
    rows: impl FnOnce() -> Vec<Value>,
    format: RowFormat,
    text: impl FnOnce() -> Result<()>,
) -> Result<()> {
    match format.of_rows()? {
        (_, true) => print_csv(&rows(), columns),
        (Format::Json, _) => print_json(&document()?),
        (Format::Text, _) => text(),
    }
}

fn print_csv(rows: &[Value], columns: &[&str]) -> Result<()> {
    let safe = |text: &str| csv_cell(&text.chars().map(visible).collect::<String>()).into_owned();
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(columns.iter().copied().map(safe))?;
    for row in rows {
        let cells = columns.iter().map(|column| match &row[*column] {
            Value::Null => String::new(),
            Value::String(text) => safe(text),
            other => other.to_string(),
        });
        writer.write_record(cells)?;
    }
    print!("{}", String::from_utf8(writer.into_inner()?)?);
    Ok(())
}

/// The columns of a verdict's rows.
pub(crate) const OF_VERDICTS: [&str; 11] = [
    "benchmark",
    "leaderboard",
    "status",
    "metric",
    "of",
    "number",
    "value",
    "line",
    "code",
    "at",
    "message",
];

/// A verdict as rows: one for the score and for each metric, for each reason, or for each accepted
/// or rejected line.
pub(crate) fn of_verdict(verdict: &Verdict) -> Vec<Value> {
    let (benchmark, leaderboard) = (&verdict.benchmark, &verdict.leaderboard);
    let row = |status: &str, details: Value| {
        let mut row = json!({ "benchmark": benchmark, "leaderboard": leaderboard, "status": status });
        if let (Value::Object(row), Value::Object(details)) = (&mut row, details) {
            row.extend(details);
        }
        row
    };
    let status = verdict.status.as_str();
    match verdict.status {
        Ending::Scored => {
            let score = row(status, json!({ "metric": "score", "value": verdict.score }));
            let described = dataperf_hosted::hosted(benchmark).map(|hosted| hosted.metrics);
            let numbers = numbers(described.unwrap_or_default(), &verdict.metrics);
            std::iter::once(score)
                .chain(numbers.into_iter().map(|number| row(status, json!(number))))
                .collect()
        }
        Ending::Accepted => verdict
            .lines
            .iter()
            .flat_map(|line| {
                let status = line.status.as_str();
                let reasons = line.reasons.iter();
                let reasons: Vec<Value> = reasons
                    .map(|reason| {
                        row(status, json!({ "line": line.line, "code": reason.code, "at": reason.at, "message": reason.message }))
                    })
                    .collect();
                if reasons.is_empty() {
                    vec![row(status, json!({ "line": line.line, "message": line.details }))]
                } else {
                    reasons
                }
            })
            .collect(),
        Ending::Rejected | Ending::Failed => verdict
            .reasons
            .iter()
            .map(|reason| row(status, json!(reason)))
            .collect(),
    }
}
