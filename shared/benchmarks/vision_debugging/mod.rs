//! Debugging for Vision (paper 2.3.3): some training labels of each task are wrong; say in which order to inspect the
//! images so that a model retrained after each fix becomes good as soon as possible.
//!
//! The data set has for each task
//! - `public/TASK/train.safetensors`: `embeddings`, `(n_train, n_features)` 32-bit floats, and `labels`, `(n_train,)`
//!   bytes, 0 or 1: as participants see them, some of them wrong;
//! - `public/TASK/train_images.txt`: the images' names, one a line: line i + 1 is the image i of a submission;
//! - `public/TASK/validation.safetensors`: `embeddings` and right `labels`, where the source has some;
//! - `TASK/truth.safetensors`: `labels`, `(n_train,)` bytes: the right ones. Hidden;
//! - `TASK/test.safetensors`: `embeddings` and `labels` of the test images. Hidden.

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
use dataperf::evidence::{Draws, Evidence, EvidenceError, OnCurves, Weights};

/// The name of the tensors with embeddings.
pub const EMBEDDINGS: &str = "embeddings";
/// The name of the tensors with labels.
pub const LABELS: &str = "labels";
/// The public challenge's share of the cleaned set's accuracy that has to be reached.
pub const TARGET_SHARE: f64 = 0.95;
const LEADERBOARD: &str = "open";

/// The path of the frozen file with a task's training images.
pub fn train_file(task: &str) -> String {
    format!("public/{task}/train.safetensors")
}

/// The path of the frozen file with the training images' names.
pub fn train_images_file(task: &str) -> String {
    format!("public/{task}/train_images.txt")
}

/// The path of the frozen file with a task's validation images.
pub fn validation_file(task: &str) -> String {
    format!("public/{task}/validation.safetensors")
}

/// The path of the frozen file with the training images' right labels.
pub fn truth_file(task: &str) -> String {
    format!("{task}/truth.safetensors")
}

/// The path of the frozen file with a task's test images.
pub fn eval_file(task: &str) -> String {
    format!("{task}/test.safetensors")
}

/// How much of a task's curve an evaluation computes. The score does not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// Every step, so that the whole curve can be shown.
    Whole,
    /// Up to the step that reaches the target: about half the work.
    UntilTarget,
}

/// The manifest's parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The tasks, ascending: a submission orders the images of each.
    pub tasks: Vec<String>,
    /// The number of numbers in an embedding.
    pub n_features: usize,
    /// The share of the cleaned set's accuracy that has to be reached.
    pub target_share: f64,
    /// How much of the curves is computed.
    pub curves: Extent,
}

/// The benchmark.
pub struct VisionDebugging;

impl Benchmark for VisionDebugging {
    const ID: &'static str = "vision-debugging";
    const ABOUT: &'static str = "order mislabelled images for inspection, so that few fixes are enough";
    const MAX_ARTIFACT_BYTES: u64 = 256 << 10;
    const FORMS: &'static [&'static str] = &["json", "zip"];
    const DIRECTION: Direction = Direction::LowerIsBetter;
    const METRICS: &'static [Metric] = &[
        Metric::value(
            "percent_of_fixes",
            "percent of the images inspected",
            Feedback::Metrics,
        ),
        Metric::value("area_under_curve", "area under the curve", Feedback::Metrics),
        Metric::value("target_share", "share to be reached", Feedback::Score),
        Metric::value(
            "tasks/*/fraction_of_fixes",
            "fraction inspected",
            Feedback::Metrics,
        ),
        Metric::value(
            "tasks/*/first_step",
            "first step at the target",
            Feedback::Metrics,
        ),
        Metric::value("tasks/*/accuracy_before", "accuracy before", Feedback::Metrics),
        Metric::value("tasks/*/accuracy_after", "accuracy after", Feedback::Metrics),
        Metric::value("tasks/*/target", "target", Feedback::Metrics),
        Metric::value("tasks/*/accuracy", "accuracy on the test set", Feedback::Full).with_form(
            Form::Curve {
                x: "images inspected",
                before: "accuracy_before",
                target: "target",
                reached: "first_step",
                n_steps: "n_images",
            },
        ),
        Metric::value("tasks/*/n_images", "images", Feedback::Score),
        Metric::value("tasks/*/n_wrong", "wrong labels", Feedback::Full),
        Metric::value("tasks/*/n_test", "test images", Feedback::Metrics),
        Metric::value("tasks/*/method_seconds", "seconds of the method", Feedback::Score),
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

    async fn run(checked: &Checked, frozen: &Frozen, _files: &Files<'_>) -> Result<Evidence, NotScored> {
        Ok(model::evidence(checked, frozen)?)
    }

    fn score(frozen: &Frozen, evidence: &Evidence, weights: &Weights) -> Result<Scorecard, EvidenceError> {
        metric::scorecard(frozen, evidence, weights)
    }

    fn replicates(frozen: &Frozen, evidence: &Evidence, draws: &Draws) -> Result<Vec<f64>, EvidenceError> {
        metric::replicates(frozen, evidence, draws)
    }

    fn n_steps(frozen: &Frozen) -> Option<usize> {
        metric::n_steps(frozen)
    }

    fn on_curves(
        frozen: &Frozen,
        evidence: &Evidence,
        draws: &Draws,
    ) -> Result<Option<OnCurves>, EvidenceError> {
        metric::on_curves(frozen, evidence, draws)
    }
}
