//! `selection`: choose a limited number of examples of a pool so that the model trained on them is as good as possible.
//!
//! Beside the files of every task (see [`own_data`](super)) the data set has
//! - `public/pool.npy`: the pool's features, `(n_pool, n_features)`;
//! - `public/pool.csv`: `id,label`, a line for each row; without `label` where submitters label what they select.

mod artifact;
mod closed;
mod evaluation;
mod frozen;
mod validation;

use serde::{Deserialize, Serialize};

pub use artifact::Artifact;
pub use frozen::Frozen;
pub use validation::Checked;

use super::scoring::NOT_FITTED;
use super::table::{FEATURES, features_file};
use super::{About, Scoring};
use dataperf::Direction;
use dataperf::Feedback;
use dataperf::Rejection;
use dataperf::Scorecard;
use dataperf::benchmark::scorecard::{Form, Metric};
use dataperf::benchmark::{Benchmark, NotScored};
use dataperf::dataset::Files;
use dataperf::dataset::frozen::FrozenError;
use dataperf::evidence::{Evidence, EvidenceError, Weights};

/// The name of the pool's table.
pub const POOL: &str = "public/pool";

/// The manifest's parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The contest's title and description.
    pub about: About,
    /// The classes, the model and the metric, with which a training set gets its score.
    pub scoring: Scoring,
    /// The source of the labels that train the model.
    pub labels: LabelSource,
    /// The boards, which share pool and test set.
    pub leaderboards: Vec<Board>,
}

/// The source of the labels that train the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LabelSource {
    /// The pool's labels.
    #[default]
    Pool,
    /// The labels that submitters give to the examples they select.
    Submission,
}

impl LabelSource {
    /// The key of artifacts in JSON.
    fn key(self) -> &'static str {
        match self {
            Self::Pool => artifact::IDS,
            Self::Submission => artifact::LABELS,
        }
    }
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
    /// The most examples that a submission may select.
    pub max_examples: usize,
}

impl Parameters {
    pub(super) fn board(&self, name: &str) -> Result<&Board, FrozenError> {
        let board = self.leaderboards.iter().find(|board| board.name == name);
        board.ok_or_else(|| FrozenError::no_leaderboard(name))
    }
}

/// The `selection` task.
pub struct Selection;

impl Benchmark for Selection {
    const ID: &'static str = "selection";
    const ABOUT: &'static str = "choose the examples of an organizer's pool that train the best model";
    const MAX_ARTIFACT_BYTES: u64 = 16 << 20;
    const FORMS: &'static [&'static str] = &["json", "csv"];
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
        Metric::value("n_examples", "examples selected", Feedback::Score),
        Metric::value("n_per_class/*", "examples of each class", Feedback::Score),
        Metric::value("n_eval", "items of the test set", Feedback::Metrics),
        Metric::value("eval_set", "test set", Feedback::Score),
    ];
    const COUNTED_REJECTIONS: &'static [&'static str] = &[NOT_FITTED];

    type Frozen = Frozen;
    type Checked = Checked;
    type ClosedBoards = closed::ClosedBoards;

    fn content_of(artifact: &[u8]) -> Option<Vec<u8>> {
        let read = Artifact::parse(artifact, usize::MAX).ok()?;
        serde_json::to_vec(&read.into_sorted()).ok()
    }

    fn check_form(artifact: &[u8]) -> Result<(), Rejection> {
        Artifact::parse(artifact, usize::MAX)?.reasons.into_verdict(())
    }

    async fn check(artifact: &[u8], frozen: &Frozen, _files: &Files<'_>) -> Result<Checked, NotScored> {
        let artifact = Artifact::parse(artifact, frozen.max_examples())?;
        Ok(Checked::new(artifact, frozen)?)
    }

    async fn run(checked: &Checked, frozen: &Frozen, files: &Files<'_>) -> Result<Evidence, NotScored> {
        let chosen = files.rows(&features_file(POOL), FEATURES, checked.rows()).await?;
        evaluation::evidence(checked, frozen, &chosen)
    }

    fn score(frozen: &Frozen, evidence: &Evidence, weights: &Weights) -> Result<Scorecard, EvidenceError> {
        evaluation::scorecard(frozen, evidence, weights)
    }
}
