//! The frozen part of a leaderboard: the test set and the index of the allowed clips.

use std::collections::HashMap;

use bytes::Bytes;

use super::artifact::KEYS;
use super::{
    CLASSES, EMBEDDINGS, Language, Limits, Parameters, TRAIN_FILES, eval_file, train_file, train_ids_file,
};
use dataperf::benchmark::{FrozenPart, Leaderboard, PUBLIC};
use dataperf::dataset::frozen::{Dtype, FrozenError, Manifest, Matrix};
use dataperf::dataset::{DatasetError, Files};
use dataperf::evidence::{EvalItems, EvidenceError};
use dataperf_numerics::bootstrap::ItemMetric;

/// The role that a row of the training matrix may be used in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place<'a> {
    Target(&'a str),
    Nontarget,
}

/// The data that scoring keeps in memory for a leaderboard: the test set and the index of the
/// allowed clips.
#[derive(Debug)]
pub struct Frozen {
    code: String,
    language: Language,
    words: Vec<String>,
    max_clips: usize,
    seeds: Vec<u32>,
    row_of: HashMap<Box<str>, u32>,
    /// The test set; `None` in a participants' kit.
    eval: Option<EvalSet>,
}

/// The clips that models predict, and their right classes.
#[derive(Debug)]
pub(super) struct EvalSet {
    /// `(n_eval, n_features)`
    pub(super) embeddings: Matrix,
    /// `(n_eval,)`
    pub(super) classes: Bytes,
}

impl EvalSet {
    async fn open(files: &Files<'_>, code: &str, n_words: usize) -> Result<Option<Self>, DatasetError> {
        let path = eval_file(code);
        if !files.has(&path) {
            return Ok(None);
        }
        let embeddings = files.matrix(&path, EMBEDDINGS).await?;
        let classes = files.classes(&path, CLASSES).await?;
        if classes.len() != embeddings.view().nrows() {
            return Err(FrozenError::damaged(&path, "it has not one class for each row").into());
        }
        if classes.iter().any(|&class| usize::from(class) > n_words) {
            return Err(FrozenError::damaged(&path, "it has a class beyond the target words").into());
        }
        Ok(Some(Self { embeddings, classes }))
    }
}

/// The English name of a language; its code where that is none of the paper's.
fn language_name(code: &str) -> &str {
    match code {
        "en" => "English",
        "id" => "Indonesian",
        "pt" => "Portuguese",
        other => other,
    }
}

impl FrozenPart for Frozen {
    fn leaderboards(manifest: &Manifest) -> Result<Vec<Leaderboard>, FrozenError> {
        let about = |limits: &Limits| {
            let language = language_name(&limits.language);
            format!("at most {} clips in {language}", limits.max_clips)
        };
        let title = |limits: &Limits| {
            let language = language_name(&limits.language);
            format!("{language}, {} clips", limits.max_clips)
        };
        let parameters = Parameters::from_settings(manifest)?;
        let boards = parameters.leaderboards.iter();
        Ok(boards
            // a language has one test set, however many clips its boards allow
            .map(|(name, limits)| {
                Leaderboard::new(name, about(limits))
                    .with_title(title(limits))
                    .with_keys(KEYS)
                    .scored_with(&limits.language)
                    .with_metric("macro F1")
                    .with_model("vote of a logistic regression and a support vector classifier")
            })
            .collect())
    }

    fn is_public(path: &str) -> bool {
        let file = path.split_once('/').map(|(_, file)| file);
        path.starts_with(PUBLIC) || file.is_some_and(|file| TRAIN_FILES.contains(&file))
    }

    async fn open(files: &Files<'_>, leaderboard: &str) -> Result<Self, DatasetError> {
        let manifest = files.manifest();
        let parameters = Parameters::from_settings(manifest)?;
        let limits = parameters.limits(leaderboard)?.clone();
        let code = limits.language;
        let language = parameters.language(&code)?.clone();

        let ids_path = train_ids_file(&code);
        let eval = EvalSet::open(files, &code, language.targets.len()).await?;
        let row_of = index(&files.whole(&ids_path).await?);
        let row_of = row_of.map_err(|why| FrozenError::damaged(&ids_path, why))?;
        let n_train = manifest
            .tensor(&train_file(&code), EMBEDDINGS, Dtype::F32, 2)?
            .n_rows();
        let n_placed = language.targets.values().map(|rows| rows.n).sum::<usize>() + language.nontargets.n;
        if row_of.len() != n_train || n_placed != n_train {
            let why = format!(
                "it has {} distinct ids for {n_train} rows, of which {n_placed} have a word",
                row_of.len()
            );
            return Err(FrozenError::damaged(&ids_path, why).into());
        }
        let words = language.targets.keys().cloned().collect();
        Ok(Self {
            code,
            words,
            language,
            max_clips: limits.max_clips,
            seeds: parameters.seeds,
            row_of,
            eval,
        })
    }

    fn eval_items(&self) -> Result<Vec<(String, EvalItems<'_>)>, EvidenceError> {
        let items = EvalItems::from_metric(&self.eval()?.classes, ItemMetric::MacroF1);
        Ok(vec![(self.language().to_owned(), items)])
    }
}

impl Frozen {
    /// The language's code.
    pub fn language(&self) -> &str {
        &self.code
    }

    /// The target words in ascending order; their classes count from 1.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// The most clips that a submission may choose.
    pub fn max_clips(&self) -> usize {
        self.max_clips
    }

    /// The seeds whose scores are averaged.
    pub fn seeds(&self) -> &[u32] {
        &self.seeds
    }

    /// The test set; an error in a participants' kit, which has none.
    pub(super) fn eval(&self) -> Result<&EvalSet, FrozenError> {
        let missing = FrozenError::ForParticipants { missing: "test set" };
        self.eval.as_ref().ok_or(missing)
    }

    /// The number of classes: nontarget and the words.
    pub(super) fn n_classes(&self) -> usize {
        self.words.len() + 1
    }

    pub(super) fn class_of(&self, word: &str) -> Option<usize> {
        self.words
            .binary_search_by(|known| known.as_str().cmp(word))
            .ok()
            .map(|idx| idx + 1)
    }

    /// The ids of the allowed clips.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.row_of.keys().map(AsRef::as_ref)
    }

    pub(super) fn row_of(&self, id: &str) -> Option<usize> {
        self.row_of.get(id).map(|&row| row as usize)
    }

    pub(super) fn place_of(&self, row: usize) -> Place<'_> {
        let word = self.language.targets.iter().find(|(_, rows)| rows.contains(row));
        word.map_or(Place::Nontarget, |(word, _)| Place::Target(word))
    }
}

/// The row of each id, from a text with one id a line.
fn index(ids: &[u8]) -> Result<HashMap<Box<str>, u32>, String> {
    let text = std::str::from_utf8(ids).map_err(|_| "it is not UTF-8")?;
    Ok(text.lines().zip(0..).map(|(id, row)| (id.into(), row)).collect())
}
