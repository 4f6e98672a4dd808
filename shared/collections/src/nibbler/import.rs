//! Imports what an organizer of Adversarial Nibbler decides, and the weights that embed prompts where he has them.

use std::fs::File;
use std::path::Path;

use crate::common::pretty_json;
use crate::nibbler::{
    BENCHMARK, CONFIGURATION_FILE, Configuration, EmbeddingKind, MODEL_DIRECTORY, MODEL_FILES, PUBLIC_FILE,
    Parameters, Term, Vocabulary,
};
use dataperf::Digest;
use dataperf_datasets::tables::lines::stand_in;
use dataperf_datasets::{DatasetWriter, ImportError, Progress, read_configuration};
use serde_json::Value;

/// The files that the importer expects, for `--help`.
pub const NIBBLER_LAYOUT: &str = "a directory with `configuration.yaml` or `configuration.json`; where its `embedding` is \
    `all-MiniLM-L6-v2`, also the directory `model` of the original package, of which `config.json`, `tokenizer.json` and \
    `model.safetensors` are taken";
const CONFIGURATIONS: [&str; 2] = ["configuration.yaml", CONFIGURATION_FILE];
const MODEL_SOURCE: &str = "model";

/// Imports the layout at `from` into a new frozen data set at `out`, all or nothing. The same source gives the same
/// bytes, and so the same digest.
///
/// # Errors
/// [`ImportError`] with everything that is wrong with the configuration and missing of the weights.
pub fn import_nibbler(from: &Path, out: &Path, progress: &dyn Progress) -> Result<Digest, ImportError> {
    let configuration = configuration(from)?;
    let mut writer = DatasetWriter::create(out)?;
    let frozen = |error: serde_json::Error| ImportError::refused(from, error.to_string());
    writer.bytes(CONFIGURATION_FILE, &pretty_json(&configuration).map_err(frozen)?)?;
    let parameters = Parameters::from_settings(&configuration);
    writer.bytes(PUBLIC_FILE, &pretty_json(&parameters).map_err(frozen)?)?;
    if configuration.embedding == EmbeddingKind::MiniLm {
        copy_model(&from.join(MODEL_SOURCE), &mut writer, progress)?;
    }
    writer.finish(BENCHMARK, serde_json::to_value(&parameters).map_err(frozen)?)
}

fn configuration(from: &Path) -> Result<Configuration, ImportError> {
    let (path, mut document) = read_configuration(from, &CONFIGURATIONS, NIBBLER_LAYOUT)?;
    if let Some(members) = document.as_object_mut() {
        let latest = serde_json::json!(Configuration::default().scoring);
        members.entry("scoring").or_insert(latest);
        if let Some(words) = members.get_mut("vocabulary").and_then(Value::as_object_mut) {
            add_own_words(words);
        }
    }
    let checked = Configuration::parse_new(document.to_string().as_bytes());
    checked.map_err(|rejection| ImportError::rejected(path, &rejection))
}

/// Puts the challenge's own words before those that an organizer adds, each once. Something that is no list is refused later, with everything else.
fn add_own_words(words: &mut serde_json::Map<String, Value>) {
    let own = Vocabulary::default();
    for (list, terms) in [
        ("attacks", own.attacks),
        ("harms", own.harms),
        ("identity_groups", own.identity_groups),
    ] {
        let added = words.entry(list).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(added) = added {
            let is_there = |term: &&Term| !added.iter().any(|added| added["id"] == term.id);
            let own: Vec<Value> = terms
                .iter()
                .filter(is_there)
                .map(|term| serde_json::json!(term))
                .collect();
            added.splice(..0, own);
        }
    }
}

fn copy_model(from: &Path, writer: &mut DatasetWriter, progress: &dyn Progress) -> Result<(), ImportError> {
    let sources = MODEL_FILES.map(|name| (name, from.join(name)));
    let missing: Vec<String> = sources
        .iter()
        .filter(|(_, path)| !path.is_file())
        .map(|(name, _)| {
            format!(
                "there is no `{name}`, which the embedding `{}` needs",
                EmbeddingKind::MiniLm.as_str()
            )
        })
        .collect();
    if !missing.is_empty() {
        return Err(ImportError::Refused {
            from: from.to_owned(),
            problems: missing,
        });
    }
    let n_bytes = |path: &Path| path.metadata().map_or(0, |metadata| metadata.len());
    progress.begin(
        "importing bytes of weights",
        sources.iter().map(|(_, path)| n_bytes(path)).sum(),
    );
    for (name, path) in &sources {
        if let Some(kind) = stand_in(path).map_err(ImportError::io("can't read", path))? {
            return Err(ImportError::refused(from, format!("`{name}` is {kind}")));
        }
        let file = File::open(path).map_err(ImportError::io("can't open", path))?;
        writer.copy(&format!("{MODEL_DIRECTORY}/{name}"), file)?;
        progress.advance(n_bytes(path));
    }
    Ok(())
}
