//! Logs of programs that evaluate models: the samples of lm-evaluation-harness, and SWE-bench's lists of resolved instances.
//!
//! # Source
//! lm-evaluation-harness writes `MODEL/samples_TASK_DATE.jsonl` with a line for each document and filter (`--log_samples`); SWE-bench's
//! submissions have `SUBMISSION/results/results.json` with lists of ids, or `SUBMISSION/per_instance_details.json` with an object
//! for each id.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::Path;

use dataperf::{list_names, quote};
use serde::Deserialize;
use serde_json::Value;

use crate::cell::Cell;
use crate::gather::{Gathered, Stop, note_no_number};
use crate::options::Options;
use crate::problems::Cause;

/// The beginning of the names of sample logs.
pub(crate) const SAMPLES: &str = "samples_";
/// SWE-bench's files.
pub(crate) const RESULTS: &str = "results.json";
pub(crate) const DETAILS: &str = "per_instance_details.json";
/// Keys of a sample that are no metrics.
const NO_METRICS: [&str; 2] = ["doc_id", "idx"];
/// Keys of the list of solved instances.
const RESOLVED: [&str; 2] = ["resolved", "resolved_ids"];

fn text(part: Option<&OsStr>) -> String {
    part.unwrap_or_default().to_string_lossy().into_owned()
}

/// The model of a log: its folder's name.
pub(crate) fn model_of(path: &Path) -> String {
    text(path.parent().and_then(Path::file_name))
}

/// The task of a log, by the file's name without the date.
pub(crate) fn task_of(path: &Path) -> String {
    let name = text(path.file_stem());
    let name = name.strip_prefix(SAMPLES).unwrap_or(&name);
    let date = name.rsplit_once('_');
    let is_date = |date: &str| date.starts_with(|c: char| c.is_ascii_digit()) && date.contains('-');
    match date {
        Some((task, date)) if is_date(date) => task.to_owned(),
        _ => name.to_owned(),
    }
}

/// One line of a log of samples.
#[derive(Debug, Deserialize)]
struct Sample {
    doc_id: Cell<'static>,
    doc_hash: Option<String>,
    filter: Option<String>,
    metrics: Option<Vec<String>>,
    #[serde(flatten)]
    others: BTreeMap<String, Cell<'static>>,
}

/// Whether a line of JSON is one of a log of samples.
pub(crate) fn is_sample(line: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Keys {
        doc_id: Option<Cell<'static>>,
        resps: Option<Cell<'static>>,
        filtered_resps: Option<Cell<'static>>,
    }
    let keys = serde_json::from_slice::<Keys>(line);
    keys.is_ok_and(|keys| keys.doc_id.is_some() && (keys.resps.is_some() || keys.filtered_resps.is_some()))
}

/// A log of one model's answers to one task.
pub(crate) struct SampleLog {
    system: usize,
    task: String,
    filter: Option<String>,
}

impl SampleLog {
    pub(crate) fn new(path: &Path, options: &Options, gathered: &mut Gathered) -> Result<Self, Stop> {
        Ok(Self {
            system: gathered.system(&model_of(path))?,
            task: task_of(path),
            filter: options.filter.clone(),
        })
    }

    /// Takes one line.
    pub(crate) fn line(
        &mut self,
        line: &[u8],
        at: &dyn Fn() -> String,
        options: &Options,
        gathered: &mut Gathered,
    ) -> Result<(), Stop> {
        let sample: Sample = match serde_json::from_slice(line) {
            Ok(sample) => sample,
            Err(error) => {
                let remedy = "write the log again with `--log_samples`";
                let example = format!("{error} {}", at());
                if !note_no_number(line, at, gathered) {
                    gathered
                        .problems
                        .note(Cause::File, "lines are not samples of a log", example, remedy);
                }
                return Ok(());
            }
        };
        let own = sample.filter.clone().unwrap_or_default();
        let filter = self.filter.get_or_insert_with(|| own.clone());
        if *filter != own {
            if options.filter.is_none() {
                let problem = format!(
                    "a log has results of several filters ({}, {})",
                    quote(filter),
                    quote(&own)
                );
                gathered
                    .problems
                    .note(Cause::Column, problem, "", "choose one with `--filter`");
            }
            return Ok(());
        }
        let Some(value) = Self::metric(&sample, options, at, gathered) else {
            return Ok(());
        };
        let Some(id) = sample.doc_id.name() else {
            gathered.problems.note(
                Cause::Value,
                "samples have no `doc_id`",
                at(),
                "write the log again",
            );
            return Ok(());
        };
        let item = gathered.item(&format!("{}/{id}", self.task))?;
        if let Some(hash) = &sample.doc_hash {
            gathered.content(item, hash);
        }
        gathered.set(self.system, item, value, at);
        Ok(())
    }

    fn metric(
        sample: &Sample,
        options: &Options,
        at: &dyn Fn() -> String,
        gathered: &mut Gathered,
    ) -> Option<f64> {
        let is_number = |cell: &Cell<'_>| matches!(cell, Cell::Number(_) | Cell::Whole(_));
        let numbers = || {
            let cells = sample
                .others
                .iter()
                .filter(|(name, cell)| !NO_METRICS.contains(&name.as_str()) && is_number(cell));
            cells.map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        if numbers().is_empty() {
            let problem = "samples have no number, so they have no metric";
            let remedy =
                "leave out logs whose metrics are `null`, texts or lists, or write one number a sample";
            let keys = sample.others.iter().filter(|(_, cell)| **cell == Cell::Missing);
            let nulls = keys
                .map(|(name, _)| format!("{} is `null` ", quote(name)))
                .collect::<Vec<_>>()
                .concat();
            gathered
                .problems
                .note(Cause::Value, problem, format!("{nulls}{}", at()), remedy);
            return None;
        }
        let named = sample.metrics.clone().unwrap_or_else(numbers);
        let single = if let [metric] = named.as_slice() {
            Some(metric)
        } else {
            None
        };
        let Some(metric) = options.metric.as_ref().or(single) else {
            let problem = format!("a log has not one metric: {}", list_names(&named));
            gathered
                .problems
                .note(Cause::Column, problem, "", "choose one with `--metric`");
            return None;
        };
        let value = sample.others.get(metric).map(Cell::value);
        if let Some(Ok(Some(value))) = value {
            return Some(value);
        }
        let problem = format!("samples have no number of the metric {}", quote(metric));
        let remedy = format!(
            "choose another with `--metric`: they have {}",
            list_names(numbers())
        );
        gathered.problems.note(Cause::Value, problem, at(), remedy);
        None
    }
}

/// The submission of a SWE-bench file: the name of its folder, or of the file if that has its own.
fn submission_of(path: &Path) -> String {
    let name = text(path.file_name());
    if name != RESULTS && name != DETAILS {
        return text(path.file_stem());
    }
    let folder = path.parent();
    let folder = folder
        .filter(|folder| folder.file_name() != Some(OsStr::new("results")))
        .or(folder.and_then(Path::parent));
    text(folder.and_then(Path::file_name))
}

/// The instances that one SWE-bench submission resolved.
pub(crate) struct Resolved {
    submission: String,
    solved: BTreeSet<String>,
    /// All instances that the file names.
    named: BTreeSet<String>,
}

impl Resolved {
    /// Reads the results of one submission; `None` if the JSON is something else.
    pub(crate) fn read(path: &Path, json: &Value) -> Option<Self> {
        let object = json.as_object()?;
        let strings = |value: &Value| -> Option<Vec<String>> {
            let list = value.as_array()?.iter();
            list.map(|id| id.as_str().map(str::to_owned)).collect()
        };
        let submission = submission_of(path);
        if let Some(list) = RESOLVED.iter().find_map(|key| strings(object.get(*key)?)) {
            let named = object
                .iter()
                .filter(|(key, _)| key.as_str() != "error")
                .filter_map(|(_, value)| strings(value));
            return Some(Self {
                submission,
                solved: list.into_iter().collect(),
                named: named.flatten().collect(),
            });
        }
        let is_resolved = |entry: &Value| entry.get("resolved").and_then(Value::as_bool);
        let each = object
            .iter()
            .map(|(id, entry)| Some((id.clone(), is_resolved(entry)?)));
        let each: BTreeMap<String, bool> = each
            .collect::<Option<_>>()
            .filter(|each: &BTreeMap<_, _>| !each.is_empty())?;
        Some(Self {
            submission,
            solved: each
                .iter()
                .filter(|(_, is)| **is)
                .map(|(id, _)| id.clone())
                .collect(),
            named: each.into_keys().collect(),
        })
    }
}

/// Takes the submissions to SWE-bench. What a submission does not name it has not resolved.
pub(crate) fn take_resolved(
    submissions: &[Resolved],
    all: Option<&BTreeSet<String>>,
    gathered: &mut Gathered,
) -> Result<(), Stop> {
    let mut instances: BTreeSet<String> = submissions
        .iter()
        .flat_map(|submission| &submission.named)
        .cloned()
        .collect();
    if let Some(all) = all {
        for id in instances.iter().filter(|id| !all.contains(*id)) {
            let problem = "submissions name instances that the file of `--items` has not";
            let remedy = "take the list of the same version of the benchmark";
            gathered
                .problems
                .note(Cause::OtherItems, problem, quote(id), remedy);
        }
        instances.clone_from(all);
    } else if !submissions.is_empty() {
        gathered.notes.push(format!(
            "the items are the {} instances that some submission names; where the benchmark has more, name all with \
             `--items FILE`: what nobody resolves lowers scores and changes no rank",
            instances.len()
        ));
    }
    let mut seen = BTreeSet::new();
    for submission in submissions {
        if !seen.insert(&submission.submission) {
            gathered.duplicate(quote(&submission.submission));
            continue;
        }
        let system = gathered.system(&submission.submission)?;
        for id in &instances {
            let item = gathered.item(id)?;
            let value = f64::from(u8::from(submission.solved.contains(id)));
            gathered.set(system, item, value, || "of a submission".to_owned());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_from_paths() {
        let log = Path::new("out/meta__llama/samples_gsm8k_cot_2024-06-09T12-11-10.1234.jsonl");
        assert_eq!(
            (model_of(log), task_of(log)),
            ("meta__llama".into(), "gsm8k_cot".into())
        );
        assert_eq!(task_of(Path::new("m/samples_arc_easy.jsonl")), "arc_easy");
        let submissions = [
            "verified/a/results/results.json",
            "bash/a/per_instance_details.json",
            "runs/a.json",
        ];
        for path in submissions {
            assert_eq!(submission_of(Path::new(path)), "a");
        }
    }
}
