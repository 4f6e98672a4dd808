//! The frozen part: the concepts' test sets and the index of the pool.

use bytes::Bytes;
use ndarray::Array2;

use super::{EMBEDDINGS, LABELS, LEADERBOARD, POOL_FILE, POOL_INDEX_FILE, Parameters, eval_file};
use crate::counted;
use dataperf::benchmark::{FrozenPart, Leaderboard};
use dataperf::dataset::frozen::{FrozenError, Manifest};
use dataperf::dataset::pool::PoolIndex;
use dataperf::dataset::{DatasetError, Files};
use dataperf::evidence::{EvalItems, EvidenceError};
use dataperf_numerics::bootstrap::ItemMetric;

/// The number of classes: an image shows the concept or does not.
pub(super) const N_CLASSES: usize = 2;
/// The class of images that show the concept.
pub(super) const POSITIVE: u8 = 1;

/// The data that scoring keeps in memory: the concepts' test sets and the index of the pool.
#[derive(Debug)]
pub struct Frozen {
    parameters: Parameters,
    pool: PoolIndex,
    /// The test sets, in the order of the concepts; `None` in a participants' kit.
    tests: Option<Vec<TestSet>>,
}

#[derive(Debug)]
pub(super) struct TestSet {
    /// `(n_test, n_features)`
    pub(super) features: Array2<f64>,
    pub(super) labels: Bytes,
}

impl FrozenPart for Frozen {
    fn leaderboards(manifest: &Manifest) -> Result<Vec<Leaderboard>, FrozenError> {
        let parameters: Parameters = manifest.parameters()?;
        let concepts = parameters.concepts;
        let quoted: Vec<String> = concepts.iter().map(|concept| format!("`{concept}`")).collect();
        let about = format!(
            "at most {} labelled images for {}",
            parameters.max_examples,
            quoted.join(", ")
        );
        let board = Leaderboard::new(LEADERBOARD, about)
            .with_title(counted(concepts.len(), "concept"))
            .with_keys(concepts)
            .with_metric("mean F1")
            .with_model("logistic regression, one for each concept");
        Ok(vec![board])
    }

    async fn open(files: &Files<'_>, _leaderboard: &str) -> Result<Self, DatasetError> {
        let parameters: Parameters = files.manifest().parameters()?;
        let Parameters {
            id_bytes,
            n_features,
            ref concepts,
            ..
        } = parameters;
        if !concepts.is_sorted_by(|a, b| a < b) || concepts.is_empty() {
            let why = "parameters: the concepts are none, or not distinct and ascending".to_owned();
            return Err(FrozenError::Manifest { why }.into());
        }
        let mut tests = None;
        if concepts.iter().any(|concept| files.has(&eval_file(concept))) {
            let of_concepts = tests.insert(Vec::with_capacity(concepts.len()));
            for concept in concepts {
                of_concepts.push(TestSet::open(files, &eval_file(concept), n_features).await?);
            }
        }
        let index = files.whole(POOL_INDEX_FILE).await?;
        let manifest = files.manifest();
        let pool = PoolIndex::new(manifest, POOL_INDEX_FILE, &index, POOL_FILE, id_bytes, n_features)?;
        Ok(Self {
            parameters,
            pool,
            tests,
        })
    }

    fn eval_items(&self) -> Result<Vec<(String, EvalItems<'_>)>, EvidenceError> {
        let items = self.tests()?.map(|(concept, truth)| {
            (
                concept.to_owned(),
                EvalItems::from_metric(truth, ItemMetric::F1(POSITIVE)),
            )
        });
        Ok(items.collect())
    }
}

impl Frozen {
    /// The concepts, ascending.
    pub fn concepts(&self) -> &[String] {
        &self.parameters.concepts
    }

    /// The most examples that a submission may have.
    pub fn max_examples(&self) -> usize {
        self.parameters.max_examples
    }

    /// The number of numbers in an embedding.
    pub fn n_features(&self) -> usize {
        self.parameters.n_features
    }

    /// The index of the candidates.
    pub fn pool(&self) -> &PoolIndex {
        &self.pool
    }

    /// Each concept with the labels of its test set, `(n_test,)`; an error in a participants' kit, which has none.
    pub(super) fn tests(&self) -> Result<impl Iterator<Item = (&str, &[u8])>, FrozenError> {
        let labels = self.test_sets()?.iter().map(|test| &test.labels[..]);
        Ok(self.concepts().iter().map(String::as_str).zip(labels))
    }

    pub(super) fn test_sets(&self) -> Result<&[TestSet], FrozenError> {
        let missing = FrozenError::ForParticipants {
            missing: "test sets of the concepts",
        };
        self.tests.as_deref().ok_or(missing)
    }
}

impl TestSet {
    async fn open(files: &Files<'_>, path: &str, n_features: usize) -> Result<Self, DatasetError> {
        let matrix = files.matrix(path, EMBEDDINGS).await?;
        let labels = files.classes(path, LABELS).await?;
        let features = matrix.view().mapv(f64::from);
        if features.dim() != (labels.len(), n_features) || labels.iter().any(|&label| label > 1) {
            let why = format!(
                "it is not {} rows of {n_features} floats with a label of 0 or 1 each",
                labels.len()
            );
            return Err(FrozenError::damaged(path, why).into());
        }
        Ok(Self { features, labels })
    }
}
