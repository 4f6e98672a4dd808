//! What the commands print: tables for people, one JSON document for programs.

use anyhow::Result;
use comfy_table::{CellAlignment, ContentArrangement, Table, TableComponent, presets};
use dataperf::{Ending, LineOutcome, Reason, Verdict};
use serde::Serialize;
use serde_json::Value;

/// Longer lists are not for a table; `--format json` has them.
const MAX_LISTED_NUMBERS: usize = 20;

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// One JSON document.
    Json,
}

/// How results that are rows are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum RowFormat {
    /// For people.
    Text,
    /// One JSON document.
    Json,
    /// Comma-separated values, of leaderboards only.
    Csv,
}

impl RowFormat {
    /// For results that are not rows.
    pub(crate) fn of_documents(self) -> Result<Format> {
        match self {
            Self::Text => Ok(Format::Text),
            Self::Json => Ok(Format::Json),
            Self::Csv => {
                anyhow::bail!("`--format csv` is for `dataperf leaderboard`: choose `text` or `json`")
            }
        }
    }
}

/// Prints `value` as one JSON document.
pub(crate) fn print_json(value: &impl Serialize) -> Result<()> {
    println!("{}", serde_json::to_string_pretty(value)?);
    Ok(())
}

/// A table in the house style.
pub(crate) fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    table
        .set_style(TableComponent::HeaderLines, '─')
        .set_style(TableComponent::MiddleHeaderIntersections, '─');
    table.set_header(header);
    table
}

/// Aligns a column of numbers.
pub(crate) fn align_right(table: &mut Table, column: usize) {
    if let Some(column) = table.column_mut(column) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

/// A score as boards show it.
pub(crate) fn score(score: f64) -> String {
    format!("{score:.4}")
}

/// Prints a verdict for a person.
pub(crate) fn print_verdict(verdict: &Verdict) {
    let board = format!("{} {}", verdict.benchmark, verdict.leaderboard);
    match (verdict.status, verdict.score) {
        (Ending::Scored, Some(number)) => {
            println!("{board}: scored {}", score(number));
            println!("{}", metrics(verdict));
            for (name, value) in &verdict.metrics {
                if let Some(table) = value.as_object().and_then(|parts| breakdown(name, parts)) {
                    println!("\n{table}");
                }
            }
        }
        (Ending::Accepted, _) => {
            println!("{board}: accepted");
            println!("{}", lines(&verdict.lines));
        }
        (Ending::Scored, None) => println!("{board}: scored, but the verdict has no score"),
        (Ending::Rejected, _) => {
            let n = verdict.n_reasons.unwrap_or(verdict.reasons.len());
            println!(
                "{board}: rejected for {n} {}",
                if n == 1 { "reason" } else { "reasons" }
            );
            println!("{}", reasons(&verdict.reasons));
            if n > verdict.reasons.len() {
                println!("… and {} more; mend these first", n - verdict.reasons.len());
            }
        }
        (Ending::Failed, _) => {
            println!("{board}: failed, which is not the submitter's fault");
            println!("{}", reasons(&verdict.reasons));
        }
    }
}

/// What has an id by it: a person needs no more, and JSON has all.
fn named(one: &Value) -> String {
    one["id"].as_str().map_or_else(|| one.to_string(), str::to_owned)
}

/// What became of each line.
fn lines(lines: &[LineOutcome]) -> Table {
    let mut table = table(&["line", "outcome", "what came of it"]);
    for line in lines {
        let said = if line.reasons.is_empty() {
            line.details
                .iter()
                .map(|(name, value)| match value {
                    Value::String(text) => format!("{name}: {text}"),
                    Value::Array(all) => {
                        format!("{name}: {}", all.iter().map(named).collect::<Vec<_>>().join(" "))
                    }
                    other => format!("{name}: {other}"),
                })
                .collect::<Vec<_>>()
        } else {
            line.reasons
                .iter()
                .map(|reason| format!("{}: {}", reason.at, reason.message))
                .collect()
        };
        table.add_row([
            line.line.to_string(),
            line.status.as_str().into(),
            said.join("\n"),
        ]);
    }
    table
}

/// Reasons with their places.
pub(crate) fn reasons(reasons: &[Reason]) -> Table {
    let mut table = table(&["code", "at", "what to change"]);
    for reason in reasons {
        table.add_row([&reason.code, &reason.at, &reason.message]);
    }
    table
}

fn metrics(verdict: &Verdict) -> Table {
    let mut table = table(&["metric", "value"]);
    for (name, value) in &verdict.metrics {
        match value {
            Value::Object(parts) => {
                for (part, value) in parts.iter().filter(|(_, value)| !value.is_object()) {
                    table.add_row([format!("{name} · {part}"), number_or_text(value)]);
                }
            }
            value => {
                table.add_row([name.clone(), number_or_text(value)]);
            }
        }
    }
    for (name, value) in [("dataset", verdict.dataset), ("artifact", verdict.artifact)] {
        if let Some(digest) = value {
            table.add_row([name.to_owned(), digest.to_string()]);
        }
    }
    table.add_row(["evaluator", &verdict.evaluator]);
    table
}

/// A row for each part of a metric that is made of parts with numbers of their own: tasks, markets, concepts.
fn breakdown(name: &str, parts: &serde_json::Map<String, Value>) -> Option<Table> {
    let is_short = |value: &Value| {
        value
            .as_array()
            .is_none_or(|items| items.len() <= MAX_LISTED_NUMBERS)
    };
    let first = parts.values().next()?.as_object()?;
    let columns: Vec<&String> = first
        .iter()
        .filter(|(_, value)| is_short(value))
        .map(|(name, _)| name)
        .collect();
    let header: Vec<&str> = std::iter::once(name)
        .chain(columns.iter().map(|column| column.as_str()))
        .collect();
    let mut table = table(&header);
    for (part, numbers) in parts {
        let cells = columns
            .iter()
            .map(|column| numbers.get(*column).map(number_or_text).unwrap_or_default());
        table.add_row(std::iter::once(part.clone()).chain(cells));
    }
    Some(table)
}

fn number_or_text(value: &Value) -> String {
    match value {
        Value::Number(number) if number.is_f64() => number.as_f64().map(score).unwrap_or_default(),
        Value::Array(items) => items.iter().map(number_or_text).collect::<Vec<_>>().join(" "),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
