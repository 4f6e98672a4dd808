//! Imports what an organizer of Adversarial Text decides: the rules, the contexts, and the models that are to be fooled.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::common::{json_lines, pretty_json};
use dataperf::Digest;
use dataperf_datasets::tables::lines::stand_in;
use dataperf_datasets::{DatasetWriter, ImportError, Progress, read_configuration};

use crate::text::configuration::{
    CONFIGURATION_FILE, CONTEXTS_FILE, Configuration, PUBLIC_FILE, Parameters, Target,
};
use crate::text::hosted::BENCHMARK;
use crate::text::texts::contexts::Contexts;

/// The files that the importer expects, for `--help`.
pub const TEXT_LAYOUT: &str = "a directory with `configuration.yaml` or `configuration.json`, the file `contexts.jsonl` where a task needs \
    contexts, and below `models` the files of the models that the configuration names; a model of kind `encoder` also needs \
    `models/minilm`, of the original package of all-MiniLM-L6-v2 the files `config.json`, `tokenizer.json` and `model.safetensors`";
const CONFIGURATIONS: [&str; 2] = ["configuration.yaml", CONFIGURATION_FILE];
const CONTEXTS_SOURCE: &str = "contexts.jsonl";
/// The place of the weights for a model of kind `encoder`.
const ENCODER_FILES: [&str; 3] = [
    "models/minilm/config.json",
    "models/minilm/tokenizer.json",
    "models/minilm/model.safetensors",
];

/// Imports the layout at `from` into a new frozen data set at `out`, all or nothing. The same source gives the same bytes, and so the same
/// digest.
///
/// # Errors
/// [`ImportError`] with everything that is wrong with the configuration and the contexts, and missing of the models.
pub fn import_text(from: &Path, out: &Path, progress: &dyn Progress) -> Result<Digest, ImportError> {
    let (path, configuration) = configuration(from)?;
    let contexts = contexts(from)?;
    let files = files(&configuration);
    let mut problems = lacking(&configuration, &contexts);
    for file in files.iter().filter(|file| !from.join(file).is_file()) {
        problems.push(format!("a model needs the file `{file}`, which is missing"));
    }
    if !problems.is_empty() {
        return Err(ImportError::Refused { from: path, problems });
    }
    let mut writer = DatasetWriter::create(out)?;
    let frozen = |error: serde_json::Error| ImportError::refused(from, error.to_string());
    let parameters = Parameters::from_settings(&configuration);
    writer.bytes(CONFIGURATION_FILE, &pretty_json(&configuration).map_err(frozen)?)?;
    writer.bytes(PUBLIC_FILE, &pretty_json(&parameters).map_err(frozen)?)?;
    let lines: Vec<_> = contexts.iter().collect();
    writer.bytes(CONTEXTS_FILE, &json_lines(&lines).map_err(frozen)?)?;
    let n_bytes = |file: &str| from.join(file).metadata().map_or(0, |metadata| metadata.len());
    progress.begin(
        "importing bytes of models",
        files.iter().map(|file| n_bytes(file)).sum(),
    );
    for file in &files {
        let path = from.join(file);
        if let Some(kind) = stand_in(&path).map_err(ImportError::io("can't read", &path))? {
            return Err(ImportError::refused(from, format!("`{file}` is {kind}")));
        }
        let source = File::open(&path).map_err(ImportError::io("can't open", &path))?;
        writer.copy(file, source)?;
        progress.advance(n_bytes(file));
    }
    writer.finish(BENCHMARK, serde_json::to_value(&parameters).map_err(frozen)?)
}

fn configuration(from: &Path) -> Result<(PathBuf, Configuration), ImportError> {
    let (path, document) = read_configuration(from, &CONFIGURATIONS, TEXT_LAYOUT)?;
    match Configuration::parse(document.to_string().as_bytes()) {
        Ok(configuration) => Ok((path, configuration)),
        Err(rejection) => Err(ImportError::rejected(path, &rejection)),
    }
}

/// Reads the contexts; without the file there are none.
fn contexts(from: &Path) -> Result<Contexts, ImportError> {
    let path = from.join(CONTEXTS_SOURCE);
    if !path.exists() {
        return Ok(Contexts::default());
    }
    let bytes = fs::read(&path).map_err(ImportError::io("can't read", &path))?;
    Contexts::parse(&bytes).map_err(|rejection| ImportError::rejected(path, &rejection))
}

/// The tasks whose texts are written for contexts and that have no context.
fn lacking(configuration: &Configuration, contexts: &Contexts) -> Vec<String> {
    let tasks = configuration.tasks.keys().copied();
    let lacking =
        tasks.filter(|&task| configuration.needs_context(task) && contexts.for_task(task).next().is_none());
    let message = lacking.map(|task| {
        format!("`{task}` has no contexts: add some to `{CONTEXTS_SOURCE}`, one JSON object a line")
    });
    message.collect()
}

/// The models' files, each once.
fn files(configuration: &Configuration) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for target in configuration.targets.values() {
        let weights: &[&str] = match target {
            Target::Encoder { .. } => &ENCODER_FILES,
            _ => &[],
        };
        files.extend(target.file().map(str::to_owned));
        files.extend(weights.iter().map(ToString::to_string));
    }
    files.sort();
    files.dedup();
    files
}
