//! `debugging`: some labels of a training set are wrong; say in which order to inspect its examples so that a model that is
//! trained again after each fix becomes good as soon as possible.
//!
//! Beside the files of every task (see [`own_data`](super)) the data set has
//! - `public/train.npy`: the training set's features, `(n_train, n_features)`;
//! - `public/train.csv`: `id,label`, a line for each row: the labels as they are given, some of them wrong;
//! - `truth.csv`: `id,label`, the right ones. Hidden.

mod closed;
mod evaluation;
mod frozen;
mod validation;

use serde::{Deserialize, Serialize};
use serde_json::json;

pub use frozen::Frozen;
use frozen::ORDER;
pub use validation::{Artifact, Checked};

use super::scoring::NOT_FITTED;
use super::{About, Board, Scoring};
pub use crate::vision_debugging::{Extent, TARGET_SHARE};
use dataperf::Direction;
use dataperf::Feedback;
use dataperf::Rejection;
use dataperf::Scorecard;
use dataperf::benchmark::scorecard::{Form, Metric};
use dataperf::benchmark::{Benchmark, NotScored};
use dataperf::dataset::Files;
use dataperf::evidence::{Draws, Evidence, EvidenceError, OnCurves, Weights};

/// The name of the table with the training set and its given labels.
pub const TRAIN: &str = "public/train";
/// The name of the table with the right labels; it has no file of features.
pub const TRUTH: &str = "truth";
/// The manifest's parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The contest's title and description.
    pub about: About,
    /// The classes, the model and the metric, with which a training set gets its score.
    pub scoring: Scoring,
    /// The share of the metric with all labels right that has to be reached.
    pub target_share: f64,
    /// How much of the curve is computed.
    pub curve: Extent,
    /// The contest's boards.
    pub leaderboards: Vec<Board>,
}

/// The `debugging` task.
pub struct Debugging;

impl Benchmark for Debugging {
    const ID: &'static str = "debugging";
    const ABOUT: &'static str = "say in which order to inspect an organizer's mislabelled training set";
    const MAX_ARTIFACT_BYTES: u64 = 16 << 20;
    const FORMS: &'static [&'static str] = &["json", "csv"];
    const DIRECTION: Direction = Direction::LowerIsBetter;
    const METRICS: &'static [Metric] = &[
        Metric::value("metric", "metric", Feedback::Score),
        Metric::value("target_share", "share to be reached", Feedback::Score),
        Metric::value("n_fixes", "examples inspected", Feedback::Metrics),
        Metric::value("area_under_curve", "area under the curve", Feedback::Metrics),
        Metric::value("first_step", "first step at the target", Feedback::Metrics),
        Metric::value("before", "metric before", Feedback::Metrics),
        Metric::value("after", "metric with right labels", Feedback::Metrics),
        Metric::value("target", "target", Feedback::Metrics),
        Metric::value("curve", "metric on the test set", Feedback::Full).with_form(Form::Curve {
            x: "examples inspected",
            before: "before",
            target: "target",
            reached: "first_step",
            n_steps: "n_examples",
        }),
        Metric::value("n_examples", "examples", Feedback::Score),
        Metric::value("n_wrong", "wrong labels", Feedback::Full),
        Metric::value("n_eval", "items of the test set", Feedback::Metrics),
        Metric::value("eval_set", "test set", Feedback::Score),
    ];
    const COUNTED_REJECTIONS: &'static [&'static str] = &[NOT_FITTED];

    type Frozen = Frozen;
    type Checked = Checked;
    type ClosedBoards = closed::ClosedBoards;

    fn content_of(artifact: &[u8]) -> Option<Vec<u8>> {
        let ids = Artifact::parse(artifact).ok()?.into_ids()?;
        serde_json::to_vec(&json!({ ORDER: ids })).ok()
    }

    fn check_form(artifact: &[u8]) -> Result<(), Rejection> {
        Artifact::parse(artifact)?.reasons.into_verdict(())
    }

    async fn check(artifact: &[u8], frozen: &Frozen, _files: &Files<'_>) -> Result<Checked, NotScored> {
        Ok(Checked::new(Artifact::parse(artifact)?, frozen)?)
    }

    async fn run(checked: &Checked, frozen: &Frozen, _files: &Files<'_>) -> Result<Evidence, NotScored> {
        evaluation::evidence(checked, frozen)
    }

    fn score(frozen: &Frozen, evidence: &Evidence, weights: &Weights) -> Result<Scorecard, EvidenceError> {
        evaluation::scorecard(frozen, evidence, weights)
    }

    fn replicates(frozen: &Frozen, evidence: &Evidence, draws: &Draws) -> Result<Vec<f64>, EvidenceError> {
        evaluation::replicates(frozen, evidence, draws)
    }

    fn n_steps(frozen: &Frozen) -> Option<usize> {
        Some(frozen.n_examples())
    }

    fn on_curves(
        frozen: &Frozen,
        evidence: &Evidence,
        draws: &Draws,
    ) -> Result<Option<OnCurves>, EvidenceError> {
        evaluation::on_curves(frozen, evidence, draws)
    }
}
