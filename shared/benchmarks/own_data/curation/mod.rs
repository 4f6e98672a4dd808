//! `curation`: competitors improve the training set itself, for a fixed model: images are for a network that is trained from
//! scratch, rows of tables for one of the learners.
//!
//! Beside the files of every task (see [`own_data`](super)) the data set has
//! - `eval.npy` of images: `(n_items, height * width)` bytes, grey levels. Hidden;
//! - `public/start.zip` or `public/start.csv`: the set that participants begin with, in the form of an artifact;
//! - `public/label_book.zip` or `public/label_book.csv`: examples of each class, where there are some.
//!
//! # Source
//! The Data-Centric AI competition (Ng, 2021), paper 2.1.

mod artifact;
#[cfg(feature = "baselines")]
mod baselines;
mod evaluation;
mod images;
#[cfg(feature = "baselines")]
pub mod methods;
#[cfg(feature = "import")]
pub mod numerals;

use dataperf_numerics::learner::Learner;
use serde::{Deserialize, Serialize};

pub use artifact::{Artifact, counted_order, is_by_position};
pub use evaluation::{Checked, Frozen, ReadImages, ReadRows, read_images, read_rows};
pub use images::decode_png;

use super::scoring::NOT_FITTED;
use super::{About, Scoring};
use dataperf::Direction;
use dataperf::Feedback;
use dataperf::Rejection;
use dataperf::Scorecard;
use dataperf::benchmark::closed::NoClosedBoards;
use dataperf::benchmark::scorecard::{Form, Metric};
use dataperf::benchmark::{Benchmark, NotScored};
use dataperf::dataset::Files;
use dataperf::dataset::frozen::FrozenError;
use dataperf::evidence::{Evidence, EvidenceError, Weights};

/// The name of the file with the set that participants begin with, without its ending.
pub const START: &str = "public/start";
/// The name of the file with examples of each class, without its ending.
pub const LABEL_BOOK: &str = "public/label_book";
/// The most examples that a board can allow.
pub const MAX_EXAMPLES: usize = 10_000;

/// The manifest's parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The contest's title and description.
    pub about: About,
    /// The kind of examples: images or rows of a table.
    pub examples: ExampleKind,
    /// The classes, the model and the metric, with which a training set gets its score.
    pub scoring: Scoring<Model>,
    /// The boards, which share the test set.
    pub leaderboards: Vec<Board>,
}

/// A kind of examples, with their size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ExampleKind {
    /// Grey images of one size.
    Images {
        /// The height in pixels.
        height: usize,
        /// The width in pixels.
        width: usize,
    },
    /// Rows of numbers.
    Table {
        /// The number of numbers in a row.
        n_features: usize,
    },
}

/// The model that is trained on a submission.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Model {
    /// The model for images.
    Network(FixedNetwork),
    /// The model for tables.
    Learner(Learner),
}

impl Model {
    /// A short description for people.
    fn about(&self) -> String {
        match self {
            Self::Network(FixedNetwork::Network {}) => {
                "convolutional network, trained from its seed".to_owned()
            }
            Self::Learner(learner) => learner.about(),
        }
    }
}

/// The network for images, see docs/models.md.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum FixedNetwork {
    /// The only network; its initial weights and the order of the images follow from the contest's seed.
    Network {},
}

/// One board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// The board's name.
    pub name: String,
    /// One line about the board.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The most examples that a submission may have.
    pub max_examples: usize,
    /// The most bytes that a submission may have.
    pub max_bytes: u64,
}

impl Parameters {
    fn board(&self, name: &str) -> Result<&Board, FrozenError> {
        let board = self.leaderboards.iter().find(|board| board.name == name);
        board.ok_or_else(|| FrozenError::no_leaderboard(name))
    }
}

/// The `curation` task.
pub struct Curation;

impl Benchmark for Curation {
    const ID: &'static str = "curation";
    const ABOUT: &'static str = "make the training set from which a fixed model learns best";
    const MAX_ARTIFACT_BYTES: u64 = 32 << 20;
    const FORMS: &'static [&'static str] = &["csv", "zip"];
    const DIRECTION: Direction = Direction::HigherIsBetter;
    const METRICS: &'static [Metric] = &[
        Metric::value("metric", "metric", Feedback::Score),
        Metric::value("accuracy", "accuracy", Feedback::Metrics),
        Metric::value("balanced_accuracy", "balanced accuracy", Feedback::Metrics),
        Metric::value("macro_f1", "macro F1", Feedback::Metrics),
        Metric::value("f1_per_class/*", "F1 of each class", Feedback::Metrics),
        Metric::value(
            "accuracy_per_group/*",
            "accuracy of each group",
            Feedback::Metrics,
        ),
        Metric::value("per_seed", "score of each seed", Feedback::Metrics).with_form(Form::Trials {
            over: "seed",
            labels: Some("seeds"),
        }),
        Metric::value("seeds", "seeds", Feedback::Score).with_form(Form::Labels),
        Metric::value("std", "standard deviation over the seeds", Feedback::Metrics),
        Metric::value("n_examples", "examples", Feedback::Score),
        Metric::value("n_per_class/*", "examples of each class", Feedback::Score),
        Metric::value("n_eval", "items of the test set", Feedback::Metrics),
        Metric::value("eval_set", "test set", Feedback::Score),
    ];
    const COUNTED_REJECTIONS: &'static [&'static str] = &[NOT_FITTED];

    type Frozen = Frozen;
    type Checked = Checked;
    type ClosedBoards = NoClosedBoards;

    /// The examples, sorted: rows by their columns' names, and images as they are packed.
    fn content_of(artifact: &[u8]) -> Option<Vec<u8>> {
        Artifact::parse(artifact, usize::MAX).ok()?.into_content()
    }

    fn check_form(artifact: &[u8]) -> Result<(), Rejection> {
        Artifact::parse(artifact, usize::MAX)?.reasons.into_verdict(())
    }

    async fn check(artifact: &[u8], frozen: &Frozen, _files: &Files<'_>) -> Result<Checked, NotScored> {
        frozen.check_size(artifact)?;
        Ok(Checked::new(
            Artifact::parse(artifact, frozen.max_examples())?,
            frozen,
        )?)
    }

    async fn run(checked: &Checked, frozen: &Frozen, _files: &Files<'_>) -> Result<Evidence, NotScored> {
        evaluation::evidence(checked, frozen)
    }

    fn score(frozen: &Frozen, evidence: &Evidence, weights: &Weights) -> Result<Scorecard, EvidenceError> {
        evaluation::scorecard(frozen, evidence, weights)
    }
}
