//! Selection for Speech (paper 2.3.1, A.3): choose at most 25 or 60 clips that train the best keyword spotter.
//!
//! The data set has for each language
//! - `LANGUAGE/train.safetensors`: `embeddings`, `(n_train, 1024)` 32-bit floats, the allowed clips: each target
//!   word's rows in the order of its source file, words in ascending order, then the nontargets;
//! - `LANGUAGE/train.row_digests.safetensors`: `row_digests`, to check the rows that a submission chooses;
//! - `LANGUAGE/train_ids.txt`: the clips' ids, one a line, in the same order;
//! - `LANGUAGE/eval.safetensors`: `embeddings`, `(n_eval, 1024)`, and `classes`, `(n_eval,)` bytes: 0 is nontarget,
//!   then the target words in ascending order. Hidden, all else is for participants.

mod artifact;
#[cfg(feature = "baselines")]
mod baselines;
mod closed;
mod frozen;
#[cfg(feature = "import")]
mod import;
mod metric;
mod model;
mod validation;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use artifact::Artifact;
pub use frozen::Frozen;
pub use validation::Checked;

use dataperf::Direction;
use dataperf::Feedback;
use dataperf::Rejection;
use dataperf::Scorecard;
use dataperf::benchmark::scorecard::{Form, Metric};
use dataperf::benchmark::{Benchmark, NotScored};
use dataperf::dataset::Files;
use dataperf::dataset::frozen::{FrozenError, Manifest};
use dataperf::evidence::{Evidence, EvidenceError, Weights};

/// The name of the matrices in the frozen files.
pub const EMBEDDINGS: &str = "embeddings";
/// The name of the test set's class numbers.
pub const CLASSES: &str = "classes";
/// The public challenge's seeds.
pub const SEEDS: [u32; 10] = [5, 69, 98, 70, 95, 64, 37, 11, 4, 32];
/// The public challenge's limits on the number of clips: a board each, in every language.
pub const MAX_CLIPS: [usize; 2] = [25, 60];

/// The participants' part of each language's folder: the allowed clips, with the digests of their
/// rows and their ids.
const TRAIN_FILES: [&str; 3] = [
    "train.safetensors",
    "train.row_digests.safetensors",
    "train_ids.txt",
];

/// The frozen file of a language's allowed training clips.
pub fn train_file(language: &str) -> String {
    format!("{language}/train.safetensors")
}

/// The frozen file of the allowed training clips' ids.
pub fn train_ids_file(language: &str) -> String {
    format!("{language}/train_ids.txt")
}

/// The frozen file of a language's test set.
pub fn eval_file(language: &str) -> String {
    format!("{language}/eval.safetensors")
}

/// The manifest's parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The languages by their code.
    pub languages: BTreeMap<String, Language>,
    /// The boards by name.
    pub leaderboards: BTreeMap<String, Limits>,
    /// The seeds whose scores are averaged.
    pub seeds: Vec<u32>,
}

/// Which rows of a language's training matrix belong to what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Language {
    /// The target words' rows. Class numbers follow the ascending order of the words, from 1.
    pub targets: BTreeMap<String, Rows>,
    /// The nontargets' rows.
    pub nontargets: Rows,
}

/// Consecutive rows of the training matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rows {
    /// The first row.
    pub first: usize,
    /// How many.
    pub n: usize,
}

impl Rows {
    /// Whether `row` is one of them.
    pub fn contains(self, row: usize) -> bool {
        row >= self.first && row - self.first < self.n
    }
}

/// A board's language and limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// The language's code.
    pub language: String,
    /// The most clips a submission may choose, targets and nontargets together.
    pub max_clips: usize,
}

impl Parameters {
    fn from_settings(manifest: &Manifest) -> Result<Self, FrozenError> {
        manifest.parameters()
    }

    fn limits(&self, leaderboard: &str) -> Result<&Limits, FrozenError> {
        self.leaderboards
            .get(leaderboard)
            .ok_or_else(|| FrozenError::no_leaderboard(leaderboard))
    }

    fn language(&self, code: &str) -> Result<&Language, FrozenError> {
        self.languages.get(code).ok_or_else(|| FrozenError::Manifest {
            why: format!("parameters: no language `{code}`"),
        })
    }
}

/// The benchmark.
pub struct SpeechSelection;

impl Benchmark for SpeechSelection {
    const ID: &'static str = "speech-selection";
    const ABOUT: &'static str = "choose the clips that train the best keyword spotter";
    const MAX_ARTIFACT_BYTES: u64 = 1 << 20;
    const DIRECTION: Direction = Direction::HigherIsBetter;
    const METRICS: &'static [Metric] = &[
        Metric::value("per_seed", "score of each seed", Feedback::Metrics).with_form(Form::Trials {
            over: "seed",
            labels: Some("seeds"),
        }),
        Metric::value("seeds", "seeds", Feedback::Score).with_form(Form::Labels),
        Metric::value("std", "standard deviation over the seeds", Feedback::Metrics),
        Metric::value("f1_per_class/*", "F1 of each class", Feedback::Metrics),
        Metric::value("n_clips", "clips", Feedback::Score),
        Metric::value("n_nontargets", "nontarget clips", Feedback::Score),
        Metric::value("n_eval", "test clips", Feedback::Metrics),
    ];

    type Frozen = Frozen;
    type Checked = Checked;
    type ClosedBoards = closed::ClosedBoards;

    fn check_form(artifact: &[u8]) -> Result<(), Rejection> {
        Artifact::parse(artifact)?.reasons.into_verdict(())
    }

    async fn check(artifact: &[u8], frozen: &Frozen, _files: &Files<'_>) -> Result<Checked, NotScored> {
        Ok(Checked::new(Artifact::parse(artifact)?, frozen)?)
    }

    async fn run(checked: &Checked, frozen: &Frozen, files: &Files<'_>) -> Result<Evidence, NotScored> {
        let file = train_file(frozen.language());
        frozen.eval()?; // in a kit there is none, and nothing to fit models for
        let chosen = files.rows(&file, EMBEDDINGS, checked.rows()).await?;
        Ok(model::evidence(checked, frozen, &chosen)?)
    }

    fn score(frozen: &Frozen, evidence: &Evidence, weights: &Weights) -> Result<Scorecard, EvidenceError> {
        metric::scorecard(frozen, evidence, weights)
    }
}
