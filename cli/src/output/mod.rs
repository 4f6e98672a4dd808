//! Prints results: tables for people, one JSON document for programs. `rows.rs` prints rows as CSV.

pub(crate) mod explain;
pub(crate) mod figure;
pub(crate) mod metrics;
pub(crate) mod progress;
pub(crate) mod rows;
mod table;

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use dataperf::programs::PublicRun;
use dataperf::receipt::figures::{self, Column, Figures};
use dataperf::{Digest, Ending, LineOutcome, Reason, Timestamp, Verdict, decimals};
use serde::Serialize;
use serde_json::Value;

pub(crate) use crate::output::table::{Table, align_right, digits_apart, short, table};

/// The longest list of numbers that is printed in a table; `--format json` has longer ones.
const MAX_LISTED_NUMBERS: usize = 20;
/// Characters of a digest in text: the algorithm and eight digits.
const SHORT_DIGEST: usize = 15;

/// Refuses names for new files before any work is done: names of files that exist, in folders that don't, or given twice.
pub(crate) fn check_new_files(paths: &[Option<&Path>]) -> Result<()> {
    check_names(paths, |path| {
        let is_there = path.symlink_metadata().is_ok();
        is_there.then(|| format!("`{}` exists already: choose another name", path.display()))
    })
}

/// Refuses names of files that can't be written, or are given twice, before any work. Existing
/// files are replaced, for commands that make the same file on each run.
pub(crate) fn check_files(paths: &[Option<&Path>]) -> Result<()> {
    check_names(paths, |path| {
        let is_folder = path.is_dir();
        is_folder.then(|| format!("`{}` is a folder: name a file", path.display()))
    })
}

fn check_names(paths: &[Option<&Path>], refused: impl Fn(&Path) -> Option<String>) -> Result<()> {
    let paths: Vec<&Path> = paths.iter().copied().flatten().collect();
    let mut problems = Vec::new();
    for (n, path) in paths.iter().enumerate() {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(problem) = refused(path) {
            problems.push(problem);
        } else if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            problems.push(format!(
                "the folder `{}` does not exist: create it, or choose another",
                folder.display()
            ));
        }
        if paths[..n].contains(path) {
            problems.push(format!(
                "`{}` is given for two files: choose two names",
                path.display()
            ));
        }
    }
    anyhow::ensure!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(())
}

/// Writes a file that is not there yet.
pub(crate) fn write_new(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    let about = || format!("can't write `{}`", path.display());
    let mut file = File::create_new(path).with_context(about)?;
    file.write_all(content.as_ref()).with_context(about)
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// One JSON document.
    Json,
}

/// The most characters that are shown of a text that somebody else has chosen, such as a file's name.
const MAX_SHOWN_CHARS: usize = 120;

/// A number with the word for what is counted, in singular or plural.
pub(crate) fn n_of(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Text that somebody else has chosen, as one line: characters that control a terminal or the direction of text are replaced.
pub(crate) fn line_of(text: &str) -> String {
    let mut line: String = text.chars().take(MAX_SHOWN_CHARS).map(visible).collect();
    if text.chars().nth(MAX_SHOWN_CHARS).is_some() {
        line.push('…');
    }
    line
}

/// The character, or a replacement if it controls a terminal or the direction of text.
pub(crate) fn visible(c: char) -> char {
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if c.is_control() || turns { '\u{fffd}' } else { c }
}

/// Prints `value` as one JSON document.
pub(crate) fn print_json(value: &impl Serialize) -> Result<()> {
    print!("{}\n", serde_json::to_string_pretty(value)?);
    Ok(())
}

/// A time in UTC for people, to the second.
pub(crate) fn time(at: Timestamp) -> String {
    let text = at.to_string();
    text.get(..19).map_or(text.clone(), |text| text.replace('T', " "))
}

/// Digits of a score where the data set does not say how many.
pub(crate) const SCORE_DIGITS: u8 = 4;

/// A score as boards show it.
pub(crate) fn score(score: f64) -> String {
    decimals(score, SCORE_DIGITS)
}

/// A score with its data set's number of digits, if defined.
pub(crate) fn shown_score(value: f64, digits: Option<u8>) -> String {
    decimals(value, digits.unwrap_or(SCORE_DIGITS))
}

/// Prints a verdict for a person, with as many digits of the score as the data set says.
pub(crate) fn print_verdict(verdict: &Verdict, digits: Option<u8>) {
    let board = format!("{} {}", verdict.benchmark, verdict.leaderboard);
    match (verdict.status, verdict.score) {
        (Ending::Scored, Some(number)) => {
            println!("{board}: scored {}", shown_score(number, digits));
            let metrics_of = dataperf_hosted::hosted(&verdict.benchmark).map(|hosted| hosted.metrics);
            let figures = Figures::from_verdict(verdict, metrics_of.unwrap_or_default());
            println!("{}", metrics(verdict, &figures));
            for table in figures.tables.iter().filter(|table| table.columns.len() > 1) {
                println!("\n{}", breakdown(table, &figures));
            }
        }
        (Ending::Accepted, _) => {
            println!("{board}: accepted");
            print_cause(verdict);
            println!("{}", lines(&verdict.lines));
        }
        (Ending::Scored, None) => println!("{board}: scored; the score is not shown yet"),
        (Ending::Rejected, _) => {
            let n = verdict.n_reasons.unwrap_or(verdict.reasons.len());
            println!("{board}: rejected, {} to fix", n_of(n, "problem", "problems"));
            print_cause(verdict);
            println!("{}", reasons(&verdict.reasons));
            if n > verdict.reasons.len() {
                println!("… and {} more: fix these first", n - verdict.reasons.len());
            }
        }
        (Ending::Failed, _) => {
            println!("{board}: failed");
            println!("{}", reasons(&verdict.reasons));
        }
    }
    if let Some(run) = &verdict.public_run {
        print_public_run(run);
    }
}

/// The one mistake that explains many reasons, before them.
fn print_cause(verdict: &Verdict) {
    if let Some(cause) = &verdict.cause {
        println!("Likely cause: {}\n", cause.message);
    }
}

/// Prints a program's run on public data, with terminal control characters removed from its log.
fn print_public_run(run: &PublicRun) {
    let fuel = run.fuel.map(|fuel| format!(" used {fuel} units of fuel"));
    println!("The run on public data{}", fuel.as_deref().unwrap_or(" ended"));
    if !run.log.is_empty() {
        let from = if run.is_log_cut { "The end of its" } else { "Its" };
        print!("{from} standard error:\n{}\n", run.log.trim_end());
    }
}

/// Metrics that an id identifies. A person needs only these; JSON has all.
fn named(one: &Value) -> String {
    one["id"].as_str().map_or_else(|| one.to_string(), str::to_owned)
}

/// The result of each line.
fn lines(lines: &[LineOutcome]) -> Table {
    let mut table = table(&["line", "outcome", "details"]);
    for line in lines {
        let message = if line.reasons.is_empty() {
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
            message.join("\n"),
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

/// The numbers of the whole, and of each class where they are one each.
fn metrics(verdict: &Verdict, figures: &Figures) -> Table {
    let mut table = table(&["metric", "value"]);
    for fact in &figures.facts {
        table.add_row([fact.title.to_owned(), number_or_text(&fact.value)]);
    }
    for trials in figures.trials.iter().filter(|trials| trials.place.is_empty()) {
        table.add_row([format!("each {}", trials.over), listed(&trials.values)]);
    }
    for table_one in figures
        .tables
        .iter()
        .filter(|table_one| table_one.columns.len() == 1)
    {
        let column = &table_one.columns[0];
        for line in &table_one.lines {
            table.add_row([
                format!("{} · {}", column.title, line.label),
                cell(column, line.values[0]),
            ]);
        }
    }
    for (name, value) in [("dataset", verdict.dataset), ("artifact", verdict.artifact)] {
        if let Some(digest) = value {
            table.add_row([name.to_owned(), short_digest(digest)]);
        }
    }
    table.add_row(["evaluator", &verdict.evaluator]);
    table
}

/// The beginning of a digest, for people.
pub(crate) fn short_digest(digest: Digest) -> String {
    digest.to_string().chars().take(SHORT_DIGEST).collect()
}

/// A row for each concept, task or market, with its trials if there are any.
fn breakdown(own: &figures::Table, figures: &Figures) -> Table {
    let trials_of = |label: &str| {
        let place = format!("{} / {label}", own.name);
        figures.trials.iter().find(|trials| trials.place == place)
    };
    let repeated = own.lines.iter().find_map(|line| trials_of(&line.label));
    let over = repeated.map(|trials| format!("each {}", trials.over));
    let titles = own.columns.iter().map(|column| column.title);
    let header: Vec<&str> = std::iter::once(own.name.as_str())
        .chain(titles)
        .chain(over.as_deref())
        .collect();
    let mut table = table(&header);
    for line in &own.lines {
        let cells = own
            .columns
            .iter()
            .zip(&line.values)
            .map(|(column, value)| cell(column, *value));
        let trials = over
            .iter()
            .map(|_| trials_of(&line.label).map_or_else(String::new, |trials| listed(&trials.values)));
        table.add_row(std::iter::once(line.label.clone()).chain(cells).chain(trials));
    }
    table
}

fn cell(column: &Column, value: Option<f64>) -> String {
    match value {
        None => String::new(),
        Some(value) if column.is_whole => value.to_string(),
        Some(value) => score(value),
    }
}

fn listed(values: &[f64]) -> String {
    if values.len() > MAX_LISTED_NUMBERS {
        return format!("{} numbers", values.len());
    }
    values.iter().copied().map(score).collect::<Vec<_>>().join(" ")
}

fn number_or_text(value: &Value) -> String {
    match value {
        Value::Number(number) if number.is_f64() => number.as_f64().map(score).unwrap_or_default(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
