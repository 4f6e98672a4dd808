//! Selection for Vision (paper 2.3.2): label at most 1,000 images of a large pool, so that a logistic regression
//! trained on them tells a concept from everything else.
//!
//! The data set has
//! - `public/pool.safetensors` and `public/pool_index.safetensors`: the candidates, a [`pool`](dataperf::pool);
//! - `tests/CONCEPT.safetensors`: `embeddings`, `(n_test, n_features)` 32-bit floats, and `labels`, `(n_test,)`
//!   bytes: 1 where the image shows the concept, else 0. Hidden;
//! - `public/examples/CONCEPT.txt`: ids of images to search from, one a line, where the source has some;
//! - `public/train_sets/NAME.json`: training sets that the source has, each an artifact.

#[cfg(feature = "baselines")]
mod baselines;
#[cfg(feature = "import")]
mod import;
mod metric;
mod model;
mod submission;
mod validation;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

pub use model::Frozen;
pub use submission::{Submission, examples_of_csv};
pub use validation::Checked;

use dataperf::Direction;
use dataperf::Feedback;
use dataperf::Rejection;
use dataperf::Scorecard;
use dataperf::benchmark::{Benchmark, Leaderboard, RowRequest};
use dataperf::evidence::{Draws, EvalItems, Evidence, EvidenceError, Weights};
use dataperf::frozen::{FrozenError, Manifest, ReadRows};
use dataperf::scorecard::Metric;

/// The candidates.
pub const POOL_FILE: &str = "public/pool.safetensors";
/// The index of the candidates' ids.
pub const POOL_INDEX_FILE: &str = "public/pool_index.safetensors";
/// The name of the test sets' matrices.
pub const EMBEDDINGS: &str = "embeddings";
/// The name of the test sets' labels.
pub const LABELS: &str = "labels";
/// The public challenge's limit on the examples of all concepts together.
pub const MAX_EXAMPLES: usize = 1_000;
const LEADERBOARD: &str = "open";

/// The frozen file of a concept's test set.
pub fn test_file(concept: &str) -> String {
    format!("tests/{concept}.safetensors")
}

/// The frozen file of a concept's examples.
pub fn examples_file(concept: &str) -> String {
    format!("public/examples/{concept}.txt")
}

/// The frozen file of a training set.
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
    /// Numbers of an embedding.
    pub n_features: usize,
    /// Bytes of an id in a record of the pool.
    pub id_bytes: usize,
}

/// The benchmark.
pub struct VisionSelection;

impl Benchmark for VisionSelection {
    const ID: &'static str = "vision-selection";
    const ABOUT: &'static str =
        "choose and label the images that train the best classifiers of some concepts";
    const MAX_ARTIFACT_BYTES: u64 = 256 << 10;
    /// Sixty times what the public challenge's 1,000 images need.
    const MAX_LOOKUP_BYTES: u64 = 64 << 20;
    const DIRECTION: Direction = Direction::HigherIsBetter;
    const SCORE_RANGE: RangeInclusive<f64> = 0.0..=1.0;
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
    type Submission = Submission;
    type Checked = Checked;

    fn leaderboards(manifest: &Manifest) -> Result<Vec<Leaderboard>, FrozenError> {
        let parameters: Parameters = manifest.parameters()?;
        let concepts: Vec<String> = parameters
            .concepts
            .iter()
            .map(|concept| format!("`{concept}`"))
            .collect();
        let about = format!(
            "at most {} labelled images for {}",
            parameters.max_examples,
            concepts.join(", ")
        );
        Ok(vec![Leaderboard::new(LEADERBOARD, about)])
    }

    fn whole_files(manifest: &Manifest, _leaderboard: &str) -> Result<Vec<String>, FrozenError> {
        let parameters: Parameters = manifest.parameters()?;
        let tests = parameters.concepts.iter().map(|concept| test_file(concept));
        Ok(tests.chain([POOL_INDEX_FILE.to_owned()]).collect())
    }

    fn decode(
        manifest: &Manifest,
        _leaderboard: &str,
        files: &BTreeMap<String, Bytes>,
    ) -> Result<Frozen, FrozenError> {
        Frozen::decode(manifest, files)
    }

    fn parse(artifact: &[u8]) -> Result<Submission, Rejection> {
        Submission::parse(artifact)
    }

    fn lookups(submission: &Submission, frozen: &Frozen) -> Vec<RowRequest> {
        let rows = validation::candidates(submission, frozen)
            .into_iter()
            .flat_map(|(_, rows)| rows)
            .collect();
        vec![RowRequest {
            file: POOL_FILE.into(),
            tensor: dataperf::pool::RECORDS.into(),
            rows,
        }]
    }

    fn validate(submission: Submission, frozen: &Frozen, found: &[ReadRows]) -> Result<Checked, Rejection> {
        Checked::new(&submission, frozen, &found[0])
    }

    /// One part: what it needs was looked up.
    fn parts(_: &Checked, _: &Frozen) -> Vec<Vec<RowRequest>> {
        vec![Vec::new()]
    }

    fn run(checked: &Checked, frozen: &Frozen, _: usize, _: &[ReadRows]) -> Result<Evidence, FrozenError> {
        model::evidence(checked, frozen)
    }

    fn score(frozen: &Frozen, evidence: &Evidence, weights: &Weights) -> Result<Scorecard, EvidenceError> {
        metric::scorecard(frozen, evidence, weights)
    }

    fn eval_items(frozen: &Frozen) -> Result<Vec<(String, EvalItems<'_>)>, EvidenceError> {
        Ok(metric::eval_items(frozen))
    }

    fn replicates(frozen: &Frozen, evidence: &Evidence, draws: &Draws) -> Result<Vec<f64>, EvidenceError> {
        metric::replicates(frozen, evidence, draws)
    }
}
