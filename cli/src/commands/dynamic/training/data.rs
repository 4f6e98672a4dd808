//! Reads exported rounds and models from disk.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use clap::Args;
use dataperf::kind_of_file;
use dataperf_collections::text::export::Split;
use dataperf_collections::text::models::{
    Embed, Labelled, TargetModel, is_encoder, read_encoder, read_linear,
};
use dataperf_collections::text::{Gold, Input, Task};
use dataperf_datasets::tables::lines::read_text;
use dataperf_minilm::MiniLm;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Wrong lines of a file that are listed.
const MAX_LISTED: usize = 20;

/// A line of an exported round, or of a file that somebody has written to train a first model on.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Example {
    task: Task,
    #[serde(default)]
    context: Option<String>,
    text: String,
    #[serde(flatten)]
    gold: Gold,
}

impl Example {
    /// A training example for a model, if the label is one of the task's.
    fn labelled(self) -> Result<Labelled, String> {
        let (task, is_span) = (self.task, matches!(self.gold, Gold::Span(_)));
        if is_span != task.has_spans() {
            let expected = if task.has_spans() {
                "an `answer`"
            } else {
                "a `label`"
            };
            return Err(format!("an example of `{task}` has {expected}"));
        }
        if !is_span && !task.labels().contains(&self.gold.as_str()) {
            let (known, given) = (task.labels().join("`, `"), dataperf::quote(self.gold.as_str()));
            return Err(format!(
                "{given} is not a label of `{task}`: choose from `{known}`"
            ));
        }
        if task.always_needs_context() && self.context.is_none() {
            return Err(format!("an example of `{task}` needs a `context`"));
        }
        if let Gold::Span(span) = &self.gold
            && !self.context.as_deref().is_some_and(|context| span.is_in(context))
        {
            return Err("`text` does not match the context at `start`: copy it exactly".to_owned());
        }
        let input = Input {
            context: self.context,
            text: self.text,
        };
        Ok(Labelled {
            task,
            input,
            gold: self.gold,
        })
    }
}

/// The examples to train on: of a directory that `dataperf dynamic export` has written its train set, of a file all of it.
pub(crate) fn to_train_on(path: &Path) -> Result<Vec<Labelled>> {
    let file = part(path, Split::Train);
    lines(&file, |example: Example| example.labelled())
}

/// The file of a part of an exported round; what is no directory is that file.
pub(crate) fn part(path: &Path, split: Split) -> PathBuf {
    if path.is_dir() {
        path.join(format!("{}.jsonl", split.as_str()))
    } else {
        path.to_owned()
    }
}

/// The lines of a file, or everything that is wrong with them.
pub(crate) fn lines<L: DeserializeOwned, T>(
    path: &Path,
    read: impl Fn(L) -> Result<T, String>,
) -> Result<Vec<T>> {
    let text = read_text(path).map_err(|why| anyhow!("can't read `{}`: {why}", path.display()))?;
    let (mut read_lines, mut problems) = (Vec::new(), Vec::new());
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    for (idx, line) in lines {
        let parsed = serde_json::from_str(line).map_err(|error| error.to_string());
        match parsed.and_then(&read) {
            Ok(line) => read_lines.push(line),
            Err(problem) => problems.push(format!("line {}: {problem}", idx + 1)),
        }
    }
    if problems.is_empty() {
        return Ok(read_lines);
    }
    let n_more = problems.len().saturating_sub(MAX_LISTED);
    problems.truncate(MAX_LISTED);
    if n_more > 0 {
        problems.push(format!("and {n_more} more lines"));
    }
    bail!("`{}` can't be used:\n{}", path.display(), problems.join("\n"))
}

/// A path with the name that it is shown by: `NAME=PATH`, or by itself the name of the file or directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

impl std::str::FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, path) = if let Some((name, path)) = text.split_once('=') {
            (name.to_owned(), Path::new(path))
        } else {
            let path = Path::new(text);
            let stem = if path.is_dir() {
                path.file_name()
            } else {
                path.file_stem()
            };
            let stem = stem.ok_or("a path without a name: write NAME=PATH")?;
            (stem.to_string_lossy().into_owned(), path)
        };
        if name.is_empty() || path.as_os_str().is_empty() {
            return Err("expected NAME=PATH with both of them".to_owned());
        }
        Ok(Self {
            name,
            path: path.to_owned(),
        })
    }
}

/// Checks that no name is used twice.
pub(crate) fn check_names(named: &[Named]) -> Result<()> {
    let mut n_of: BTreeMap<&str, usize> = BTreeMap::new();
    for one in named {
        *n_of.entry(&one.name).or_default() += 1;
    }
    let repeated: Vec<&str> = n_of
        .into_iter()
        .filter(|(_, n)| *n > 1)
        .map(|(name, _)| name)
        .collect();
    ensure!(
        repeated.is_empty(),
        "several are called `{}`: give them names by NAME=PATH",
        repeated.join("`, `")
    );
    Ok(())
}

/// The sentence transformer that models of kind `encoder` are heads on.
#[derive(Debug, Clone, Args)]
pub(crate) struct EncoderArg {
    /// The directory of all-MiniLM-L6-v2, for models of kind `encoder`
    #[arg(long, value_name = "DIR")]
    encoder: Option<PathBuf>,
}

impl EncoderArg {
    /// The sentence transformer, if a directory is named. Its weights are read once.
    pub(crate) fn load(&self) -> Result<Option<SentenceTransformer>> {
        let Some(directory) = &self.encoder else {
            return Ok(None);
        };
        let read = |name: &str| {
            let path = directory.join(name);
            let bytes = fs::read(&path).with_context(|| {
                format!(
                    "can't read `{}`: `--encoder` needs a directory with `{}` of the original package",
                    path.display(),
                    MiniLm::FILES.join("`, `")
                )
            })?;
            let kind = kind_of_file(&bytes).filter(|kind| kind.is_text);
            kind.map_or(Ok(bytes), |kind| bail!("`{}` is {kind}", path.display()))
        };
        let [config, tokenizer, weights] = MiniLm::FILES;
        let files = [&read(config)?[..], &read(tokenizer)?, &read(weights)?];
        let model = MiniLm::load(files).with_context(|| format!("can't use `{}`", directory.display()))?;
        Ok(Some(SentenceTransformer(Arc::new(model))))
    }
}

/// The weights, shared by all models that are heads on them.
pub(crate) struct SentenceTransformer(Arc<MiniLm>);

impl SentenceTransformer {
    pub(crate) fn embed(&self) -> Embed {
        let model = Arc::clone(&self.0);
        Box::new(move |texts| model.vectors(texts).map_err(|error| error.to_string()))
    }
}

/// The models in these files.
pub(crate) fn models(named: &[Named], encoder: &EncoderArg) -> Result<Vec<(String, Box<dyn TargetModel>)>> {
    check_names(named)?;
    let encoder = encoder.load()?;
    let read = |one: &Named| {
        let path = one.path.display();
        let bytes = fs::read(&one.path).with_context(|| format!("can't read `{path}`"))?;
        let model = match (&encoder, is_encoder(&bytes)) {
            (Some(encoder), true) => read_encoder(&bytes, encoder.embed()),
            (None, true) => bail!(
                "`{path}` is a model of kind `encoder`, which needs a sentence transformer: name the \
                 directory of that by `--encoder DIR`"
            ),
            (_, false) => read_linear(&bytes),
        };
        Ok((
            one.name.clone(),
            model.with_context(|| format!("can't use `{path}`"))?,
        ))
    };
    named.iter().map(read).collect()
}
