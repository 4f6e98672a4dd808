//! Imports the public layout of Selection for Speech: parquet embeddings a word, and two YAML lists of clips.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use crate::speech_selection::{
    CLASSES, EMBEDDINGS, Language, Limits, MAX_CLIPS, Parameters, Rows, SEEDS, SpeechSelection, eval_file,
    train_file, train_ids_file,
};
use dataperf::dataset::frozen::{Dtype, FrozenError, Manifest};
use serde::Deserialize;

use dataperf_datasets::Spool;
use dataperf_datasets::labels::labelled::{IdsAt, LabelledAt, LabelsAt, RowsAt};
use dataperf_datasets::tables::embeddings::{self, Columns};
use dataperf_datasets::tables::lines::read_text;
use dataperf_datasets::{DatasetWriter, Planned};
use dataperf_datasets::{Import, ImportError, KitTable, Progress, Values};

const COLUMNS: Columns = Columns {
    id: "clip_id",
    vector: "mswc_embedding_vector",
};
const ALLOWED: &str = "allowed_training_set.yaml";
const EVAL: &str = "eval.yaml";
/// The most target words: class numbers are bytes, and 0 is nontarget.
const MAX_WORDS: usize = u8::MAX as usize;

impl Import for SpeechSelection {
    const LAYOUT: &'static str = "a directory `dataperf_LANGUAGE_data` with `train_embeddings/WORD.parquet`, \
        `eval_embeddings/WORD.parquet`, `allowed_training_set.yaml` and `eval.yaml`, or a directory of such directories";

    fn guide(_manifest: &Manifest) -> Result<String, FrozenError> {
        Ok(include_str!("kit/guide.md").to_owned())
    }

    const STARTER: &'static str = include_str!("kit/starter.py");

    fn tables(directory: &Path, manifest: &Manifest) -> Result<Vec<KitTable>, FrozenError> {
        let mut tables = Vec::new();
        for (code, language) in Parameters::from_settings(manifest)?.languages {
            let rows =
                RowsAt::new(train_file(&code), EMBEDDINGS).with_ids(IdsAt::Lines(train_ids_file(&code)));
            let ids = rows.ids(directory, manifest)?.unwrap_or_default();
            let mut labels = vec!["nontarget".to_owned(); ids.len()];
            for (word, of_word) in &language.targets {
                let of_word = labels.iter_mut().skip(of_word.first).take(of_word.n);
                of_word.for_each(|label| label.clone_from(word));
            }
            tables.push(KitTable {
                name: code,
                columns: vec![
                    ("id".to_owned(), Values::Text(ids)),
                    ("label".to_owned(), Values::Text(labels)),
                ],
                rows: Some(rows.into()),
            });
        }
        Ok(tables)
    }

    fn labelled(manifest: &Manifest) -> Result<Vec<LabelledAt>, FrozenError> {
        let languages = Parameters::from_settings(manifest)?.languages.into_iter();
        let of_language = |(code, language): (String, Language)| LabelledAt {
            classes: std::iter::once("nontarget".to_owned())
                .chain(language.targets.into_keys())
                .collect(),
            rows: RowsAt::new(eval_file(&code), EMBEDDINGS),
            labels: LabelsAt::Bytes {
                file: eval_file(&code),
                tensor: CLASSES,
            },
            training: vec![
                RowsAt::new(train_file(&code), EMBEDDINGS).with_ids(IdsAt::Lines(train_ids_file(&code))),
            ],
            name: code,
        };
        Ok(languages.map(of_language).collect())
    }

    fn import(
        from: &Path,
        writer: &mut DatasetWriter,
        progress: &dyn Progress,
    ) -> Result<serde_json::Value, ImportError> {
        let mut parameters = Parameters {
            languages: BTreeMap::new(),
            leaderboards: BTreeMap::new(),
            seeds: SEEDS.to_vec(),
        };
        let mut problems = Vec::new();
        for root in language_directories(from)? {
            match Source::read(&root).and_then(|source| source.freeze(writer, progress)) {
                Ok((code, language)) => {
                    for max_clips in MAX_CLIPS {
                        let limits = Limits {
                            language: code.clone(),
                            max_clips,
                        };
                        parameters
                            .leaderboards
                            .insert(format!("{code}-{max_clips}"), limits);
                    }
                    if parameters.languages.insert(code.clone(), language).is_some() {
                        problems.push(format!(
                            "more than one directory holds the language `{code}`: keep one of them"
                        ));
                    }
                }
                Err(Problem::Refused(errors)) => problems.extend(errors),
                Err(Problem::Fatal(error)) => return Err(error),
            }
        }
        if problems.is_empty() {
            let json = serde_json::to_value(&parameters);
            return json.map_err(|error| ImportError::refused(from, error.to_string()));
        }
        Err(ImportError::Refused {
            from: from.to_owned(),
            problems,
        })
    }
}

/// The directory of each language, ascending: `from` itself, or the directories in it.
fn language_directories(from: &Path) -> Result<Vec<PathBuf>, ImportError> {
    let is_language = |path: &Path| path.join(ALLOWED).exists() || path.join(EVAL).exists();
    if is_language(from) {
        return Ok(vec![from.to_owned()]);
    }
    let mut directories = Vec::new();
    for entry in fs::read_dir(from).map_err(ImportError::io("can't list", from))? {
        let path = entry.map_err(ImportError::io("can't list", from))?.path();
        if is_language(&path) {
            directories.push(path);
        }
    }
    directories.sort();
    if directories.is_empty() {
        return Err(ImportError::refused(
            from,
            format!("it has no `{ALLOWED}`; expected {}", SpeechSelection::LAYOUT),
        ));
    }
    Ok(directories)
}

enum Problem {
    /// Everything that is wrong with this language in the source.
    Refused(Vec<String>),
    /// A failure to write.
    Fatal(ImportError),
}

impl From<ImportError> for Problem {
    fn from(error: ImportError) -> Self {
        Self::Fatal(error)
    }
}

/// One of the YAML files: clips of target words, and nontarget clips.
#[derive(Deserialize)]
struct Clips {
    targets: BTreeMap<String, Vec<String>>,
    nontargets: Vec<String>,
}

impl Clips {
    fn read(path: &Path) -> Result<Self, String> {
        let about = |why: String| format!("`{}`: {why}", path.display());
        let text = read_text(path).map_err(about)?;
        // The parser's budget is meant for hostile input; these lists are the organizer's, and long.
        let options = serde_saphyr::options! { budget: None };
        serde_saphyr::from_str_with_options(&text, options).map_err(|error| about(error.to_string()))
    }

    /// The clips' ids by the word whose parquet file has them: the target words, then the nontargets' words.
    fn by_word(&self) -> Vec<(&str, Vec<&str>)> {
        let mut words: Vec<(&str, Vec<&str>)> = Vec::new();
        for (word, clips) in &self.targets {
            words.push((word, clips.iter().map(String::as_str).collect()));
        }
        let mut group_of: HashMap<&str, usize> = HashMap::new();
        for id in &self.nontargets {
            let word = id.split('/').next().unwrap_or_default();
            let group = *group_of.entry(word).or_insert_with(|| {
                words.push((word, Vec::new()));
                words.len() - 1
            });
            words[group].1.push(id);
        }
        words
    }

    fn n_clips(&self) -> usize {
        self.targets.values().map(Vec::len).sum::<usize>() + self.nontargets.len()
    }
}

/// The embeddings of one list of clips, grouped by word.
struct Gathered {
    ids: Vec<String>,
    /// The embeddings, kept in a file: for English they take half a gigabyte.
    numbers: Spool,
    /// The number of rows of each group, in the order of [`Clips::by_word`].
    n_rows: Vec<usize>,
}

struct Source {
    root: PathBuf,
    allowed: Clips,
    eval: Clips,
}

impl Source {
    fn read(root: &Path) -> Result<Self, Problem> {
        let (allowed, eval) = (Clips::read(&root.join(ALLOWED)), Clips::read(&root.join(EVAL)));
        let (allowed, eval) = match (allowed, eval) {
            (Ok(allowed), Ok(eval)) => (allowed, eval),
            (allowed, eval) => {
                return Err(Problem::Refused(
                    [allowed.err(), eval.err()].into_iter().flatten().collect(),
                ));
            }
        };
        let source = Self {
            root: root.to_owned(),
            allowed,
            eval,
        };
        let problems = source.inconsistencies();
        if problems.is_empty() {
            Ok(source)
        } else {
            Err(Problem::Refused(problems))
        }
    }

    fn inconsistencies(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut problem = |message: String| problems.push(format!("`{}`: {message}", self.root.display()));
        let words = |clips: &Clips| clips.targets.keys().cloned().collect::<BTreeSet<_>>();
        let (train_words, eval_words) = (words(&self.allowed), words(&self.eval));
        for word in train_words.symmetric_difference(&eval_words) {
            problem(format!(
                "the target word `{word}` is in only one of `{ALLOWED}` and `{EVAL}`: add it to the other"
            ));
        }
        if train_words.is_empty() || train_words.len() > MAX_WORDS {
            problem(format!(
                "there are {} target words: use 1 to {MAX_WORDS}",
                train_words.len()
            ));
        }
        for (name, clips) in [(ALLOWED, &self.allowed), (EVAL, &self.eval)] {
            let mut seen = BTreeSet::new();
            for id in clips.targets.values().flatten().chain(&clips.nontargets) {
                if !seen.insert(id) {
                    problem(format!("`{name}` lists `{id}` twice: keep one"));
                }
                if id.contains('\n') || id.is_empty() {
                    problem(format!(
                        "`{name}` lists an id that is empty or has a line break in it"
                    ));
                }
            }
            if clips.nontargets.is_empty() {
                problem(format!("`{name}` lists no nontargets: add some"));
            }
        }
        problems
    }

    /// The language's code, from the directory's name or else from the clips' names.
    fn code(&self) -> Result<String, Problem> {
        let root = self.root.canonicalize().unwrap_or_else(|_| self.root.clone());
        let name = root
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let of_name = name
            .strip_prefix("dataperf_")
            .and_then(|name| name.strip_suffix("_data"));
        let of_clip = || {
            let id = self
                .allowed
                .targets
                .values()
                .flatten()
                .chain(&self.allowed.nontargets)
                .next()?;
            id.split_once("/common_voice_")?
                .1
                .split_once('_')
                .map(|(code, _)| code)
        };
        // the public archives use two-letter codes as well as three-letter ones
        match of_name.or_else(of_clip).unwrap_or_default() {
            "eng" => Ok("en".into()),
            "por" => Ok("pt".into()),
            "ind" => Ok("id".into()),
            code if !code.is_empty() && code.chars().all(|c| c.is_ascii_alphanumeric()) => {
                Ok(code.to_ascii_lowercase())
            }
            _ => Err(Problem::Refused(vec![format!(
                "`{}` names no language: rename the directory to `dataperf_LANGUAGE_data`, such as `dataperf_en_data`",
                self.root.display()
            )])),
        }
    }

    fn freeze(
        &self,
        writer: &mut DatasetWriter,
        progress: &dyn Progress,
    ) -> Result<(String, Language), Problem> {
        let code = self.code()?;
        progress.begin(
            &format!("importing `{code}`"),
            (self.allowed.n_clips() + self.eval.n_clips()) as u64,
        );
        let mut width = None;
        let spools = (Spool::new(writer)?, Spool::new(writer)?);
        let train = self.gather("train_embeddings", &self.allowed, &mut width, spools.0, progress);
        let eval = self.gather("eval_embeddings", &self.eval, &mut width, spools.1, progress);
        let (train, eval) = match (train, eval) {
            (Ok(train), Ok(eval)) => (train, eval),
            (train, eval) => {
                return Err(Problem::Refused(
                    [train.err(), eval.err()]
                        .into_iter()
                        .flatten()
                        .flatten()
                        .collect(),
                ));
            }
        };
        let width = width.unwrap_or(0);
        let matrix = |rows: usize| Planned {
            name: EMBEDDINGS,
            dtype: Dtype::F32,
            shape: vec![rows, width],
        };
        writer.lines(&train_ids_file(&code), &train.ids)?;
        let language = self.language(&train);
        writer.tensors(&train_file(&code), &[matrix(train.ids.len())], |file| {
            train.numbers.copy_to(file)
        })?;
        writer.row_digests(&train_file(&code), EMBEDDINGS)?;
        let classes = classes(&eval.n_rows, self.eval.targets.len());
        let planned_classes = Planned {
            name: CLASSES,
            dtype: Dtype::U8,
            shape: vec![classes.len()],
        };
        writer.tensors(
            &eval_file(&code),
            &[matrix(classes.len()), planned_classes],
            |file| {
                eval.numbers.copy_to(file)?;
                file.write(&classes)
            },
        )?;
        Ok((code, language))
    }

    /// The training rows of each target word and of the nontargets.
    fn language(&self, train: &Gathered) -> Language {
        let mut targets = BTreeMap::new();
        let mut first = 0;
        for (word, &n) in self.allowed.targets.keys().zip(&train.n_rows) {
            targets.insert(word.clone(), Rows { first, n });
            first += n;
        }
        Language {
            targets,
            nontargets: Rows {
                first,
                n: train.ids.len() - first,
            },
        }
    }

    /// The embeddings of the listed clips: words in the list's order, and each word's rows in the order of its file.
    fn gather(
        &self,
        folder: &str,
        clips: &Clips,
        width: &mut Option<usize>,
        numbers: Spool,
        progress: &dyn Progress,
    ) -> Result<Gathered, Vec<String>> {
        let mut gathered = Gathered {
            ids: Vec::new(),
            numbers,
            n_rows: Vec::new(),
        };
        let mut problems = Vec::new();
        for (word, listed) in clips.by_word() {
            let path = self.root.join(folder).join(format!("{word}.parquet"));
            let listed: BTreeSet<&str> = listed.into_iter().collect();
            let mut missing = listed.clone();
            let before = gathered.ids.len();
            let is_plain = !word.is_empty() && !word.contains(['/', '\\']) && word != "..";
            let read = if !is_plain {
                Err(vec![format!(
                    "`{word}` can't be a word, because its clips are in the file `WORD.parquet`: leave out \
                        `/` and `\\`, and use another word than `..`"
                )])
            } else if listed.is_empty() {
                Ok(())
            } else {
                embeddings::read(&path, COLUMNS, |id, vector| {
                    if !missing.remove(id) {
                        return if listed.contains(id) {
                            Err(format!("`{}` has `{id}` twice", path.display()))
                        } else {
                            Ok(())
                        };
                    }
                    let expected = *width.get_or_insert(vector.len());
                    if vector.len() != expected || expected == 0 {
                        return Err(format!(
                            "`{}`: `{id}` has {} numbers instead of {expected}",
                            path.display(),
                            vector.len()
                        ));
                    }
                    gathered.ids.push(id.to_owned());
                    gathered.numbers.push(vector);
                    progress.advance(1);
                    Ok(())
                })
            };
            match read {
                Err(errors) => problems.extend(errors),
                Ok(()) => problems.extend(
                    missing
                        .iter()
                        .map(|id| format!("`{}` has no row for the listed `{id}`", path.display())),
                ),
            }
            gathered.n_rows.push(gathered.ids.len() - before);
        }
        if problems.is_empty() {
            Ok(gathered)
        } else {
            Err(problems)
        }
    }
}

/// The class of each test row: the target words in ascending order, from 1, then 0 for the nontargets.
fn classes(n_rows: &[usize], n_words: usize) -> Vec<u8> {
    let class = |group: usize| if group < n_words { group as u8 + 1 } else { 0 };
    n_rows
        .iter()
        .enumerate()
        .flat_map(|(group, &n)| std::iter::repeat_n(class(group), n))
        .collect()
}
