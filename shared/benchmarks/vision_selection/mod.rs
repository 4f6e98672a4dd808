//! Selection for Vision (paper 2.3.2): label at most 1,000 images of a large pool, so that a logistic regression
//! trained on them tells a concept from everything else.
//!
//! The data set has
//! - `public/pool.safetensors` and `public/pool_index.safetensors`: the candidates, a [`pool`](dataperf::dataset::pool);
//! - `tests/CONCEPT.safetensors`: `embeddings`, `(n_test, n_features)` 32-bit floats, and `labels`, `(n_test,)`
//!   bytes: 1 where the image shows the concept, else 0. Hidden;
//! - `public/examples/CONCEPT.txt`: ids of images to search from, one a line, where the source has some;
//! - `public/train_sets/NAME.json`: training sets that the source has, each an artifact.

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

pub use artifact::{Artifact, examples_of_csv};
pub use frozen::Frozen;
pub use validation::Checked;

use dataperf::Direction;
use dataperf::Feedback;
use dataperf::Rejection;
use dataperf::Scorecard;
use dataperf::benchmark::scorecard::Metric;
use dataperf::benchmark::{Benchmark, NotScored};
use dataperf::dataset::Files;
use dataperf::dataset::pool::RECORDS;
use dataperf::evidence::{Evidence, EvidenceError, Weights};

/// The file with the candidates.
pub const POOL_FILE: &str = "public/pool.safetensors";
/// The file with the index of the candidates' ids.
pub const POOL_INDEX_FILE: &str = "public/pool_index.safetensors";
/// The name of the tensors with the test sets' embeddings.
pub const EMBEDDINGS: &str = "embeddings";
/// The name of the tensors with the test sets' labels.
pub const LABELS: &str = "labels";
/// The public challenge's limit on the examples of all concepts together.
pub const MAX_EXAMPLES: usize = 1_000;
/// The most bytes of the pool that are read to check one submission: sixty times what the public challenge's 1,000 images need.
const MAX_LOOKUP_BYTES: u64 = 64 << 20;
const LEADERBOARD: &str = "open";

/// The path of a concept's frozen test set.
pub fn eval_file(concept: &str) -> String {
    format!("tests/{concept}.safetensors")
}

/// The path of the frozen list of a concept's example images.
pub fn examples_file(concept: &str) -> String {
    format!("public/examples/{concept}.txt")
}

/// The path of a frozen training set.
pub fn train_set_file(name: &str) -> String {
    format!("public/train_sets/{name}.json")
}

/// The manifest's parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The concepts, ascending: a submission has examples of each.
    pub concepts: Vec<String>,
    /// The most examples a submission may have, all concepts together.
    pub max_examples: usize,
    /// The number of numbers in an embedding.
    pub n_features: usize,
    /// The number of bytes that an id takes in a record of the pool.
    pub id_bytes: usize,
}

/// The benchmark.
pub struct VisionSelection;

impl Benchmark for VisionSelection {
    const ID: &'static str = "vision-selection";
    const ABOUT: &'static str =
        "choose and label the images that train the best classifiers of some concepts";
    const MAX_ARTIFACT_BYTES: u64 = 256 << 10;
    const FORMS: &'static [&'static str] = &["json", "zip"];
    const DIRECTION: Direction = Direction::HigherIsBetter;
    const METRICS: &'static [Metric] = &[
        Metric::value("concepts/*/f1", "F1", Feedback::Metrics),
        Metric::value("concepts/*/accuracy", "accuracy", Feedback::Metrics),
        Metric::value("concepts/*/precision", "precision", Feedback::Metrics),
        Metric::value("concepts/*/recall", "recall", Feedback::Metrics),
        Metric::value("concepts/*/n_examples", "examples", Feedback::Score),
        Metric::value("concepts/*/n_positive", "positive examples", Feedback::Score),
        Metric::value("concepts/*/n_test", "test images", Feedback::Metrics),
        Metric::value("n_examples", "examples", Feedback::Score),
    ];

    type Frozen = Frozen;
    type Checked = Checked;
    type ClosedBoards = closed::ClosedBoards;

    fn content_of(artifact: &[u8]) -> Option<Vec<u8>> {
        serde_json::to_vec(&Artifact::parse(artifact).ok()?.into_sorted()).ok()
    }

    fn check_form(artifact: &[u8]) -> Result<(), Rejection> {
        Artifact::parse(artifact)?.reasons.into_verdict(())
    }

    async fn check(artifact: &[u8], frozen: &Frozen, files: &Files<'_>) -> Result<Checked, NotScored> {
        let artifact = Artifact::parse(artifact)?;
        let rows: Vec<usize> = validation::candidates(&artifact, frozen)
            .into_iter()
            .flat_map(|(_, rows)| rows)
            .collect();
        let records = files
            .rows_within(MAX_LOOKUP_BYTES, POOL_FILE, RECORDS, &rows)
            .await?;
        Ok(Checked::new(&artifact, frozen, &records)?)
    }

    /// Reads no file: the vectors that the models need were read to check the submission.
    async fn run(checked: &Checked, frozen: &Frozen, _files: &Files<'_>) -> Result<Evidence, NotScored> {
        Ok(model::evidence(checked, frozen)?)
    }

    fn score(frozen: &Frozen, evidence: &Evidence, weights: &Weights) -> Result<Scorecard, EvidenceError> {
        metric::scorecard(frozen, evidence, weights)
    }
}
