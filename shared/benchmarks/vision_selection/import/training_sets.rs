//! Training sets in the CSV form that participants of the public challenge train on. Each becomes an artifact.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::vision_selection::{examples_of_csv, train_set_file};
use serde_json::json;

use dataperf_datasets::DatasetWriter;
use dataperf_datasets::{ImportError, named};

/// The files of one training set, by concept.
type Files = BTreeMap<String, PathBuf>;

/// Writes each training set in `train_sets` as an artifact and returns the problems of their form. Whether a training set keeps the
/// rules is checked when it is scored.
pub(super) fn freeze(
    from: &Path,
    concepts: &[String],
    writer: &mut DatasetWriter,
) -> Result<Vec<String>, ImportError> {
    let mut problems = Vec::new();
    let paths = named(&from.join("train_sets"), "", ".csv")?;
    for (name, files) in by_name(paths, concepts, &mut problems) {
        let missing: Vec<String> = concepts
            .iter()
            .filter(|concept| !files.contains_key(*concept))
            .map(|concept| format!("`{concept}_{name}.csv`"))
            .collect();
        if !missing.is_empty() {
            problems.push(format!(
                "the training set `{name}` in `train_sets` lacks {}",
                missing.join(", ")
            ));
            continue;
        }
        match artifact(&files) {
            Ok(artifact) => writer.lines(&train_set_file(&name), &[artifact])?,
            Err(errors) => problems.extend(errors),
        }
    }
    Ok(problems)
}

/// The files of each training set, by its name. A file whose name begins with no concept serves all concepts.
///
/// A training set that exists in both forms is a problem.
fn by_name(
    paths: BTreeMap<String, PathBuf>,
    concepts: &[String],
    problems: &mut Vec<String>,
) -> BTreeMap<String, Files> {
    let mut sets: BTreeMap<String, Files> = BTreeMap::new();
    let mut shared = BTreeMap::new();
    for (stem, path) in paths {
        let is_of = |concept: &&String| {
            stem.strip_prefix(concept.as_str())
                .is_some_and(|rest| rest.starts_with('_'))
        };
        // if one concept's name begins with another's, the longest that fits counts
        let concept = concepts.iter().filter(is_of).max_by_key(|concept| concept.len());
        if let Some(concept) = concept {
            let name = stem[concept.len() + 1..].to_owned();
            sets.entry(name).or_default().insert(concept.clone(), path);
        } else {
            shared.insert(stem, path);
        }
    }
    for (name, path) in shared {
        if sets.contains_key(&name) {
            problems.push(format!(
                "the training set `{name}` in `train_sets` is there as `{name}.csv` and as files of concepts: keep one form"
            ));
        }
        let all = concepts.iter().map(|concept| (concept.clone(), path.clone()));
        sets.insert(name, all.collect());
    }
    sets
}

/// The training set as a JSON artifact. Images keep the order of the files, in which models are fitted to them.
fn artifact(files: &Files) -> Result<String, Vec<String>> {
    let (mut members, mut problems) = (Vec::new(), Vec::new());
    for (concept, path) in files {
        let name = path.display().to_string();
        let about = |why: String| format!("`{name}`: {why}");
        let examples = fs::read(path)
            .map_err(|error| vec![about(error.to_string())])
            .and_then(|bytes| examples_of_csv(&name, &bytes))
            .unwrap_or_else(|errors| {
                problems.extend(errors);
                Vec::new()
            });
        let mut seen = BTreeSet::new();
        let twice = examples.iter().filter(|(id, _)| !seen.insert(id));
        problems.extend(twice.map(|(id, _)| about(format!("`{id}` appears twice"))));
        let labels: Vec<String> = examples
            .iter()
            .map(|(id, label)| format!("{}: {label}", json!(id)))
            .collect();
        members.push(format!("{}: {{{}}}", json!(concept), labels.join(", ")));
    }
    if problems.is_empty() {
        Ok(format!("{{{}}}", members.join(", ")))
    } else {
        Err(problems)
    }
}
