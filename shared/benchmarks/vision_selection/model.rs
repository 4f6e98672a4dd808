//! The frozen part, and the frozen model: a logistic regression a concept.

use std::collections::BTreeMap;

use bytes::Bytes;
use ndarray::Array2;
use rayon::prelude::*;

use super::metric::{N_EXAMPLES, N_POSITIVE};
use super::validation::Chosen;
use super::{Checked, EMBEDDINGS, LABELS, POOL_FILE, POOL_INDEX_FILE, Parameters, test_file};
use dataperf::evidence::{Evidence, Repeats, UnitEvidence};
use dataperf::frozen::{Dtype, FrozenError, Manifest, Matrix, slice};
use dataperf::pool::PoolIndex;
use dataperf_numerics::models::logistic_regression::LogisticRegression;
use dataperf_numerics::numbers::Numbers;

/// An image shows the concept or does not.
pub(super) const N_CLASSES: usize = 2;

/// What scoring keeps in memory: the concepts' test sets and the index of the pool.
#[derive(Debug)]
pub struct Frozen {
    parameters: Parameters,
    pool: PoolIndex,
    tests: Vec<TestSet>,
}

#[derive(Debug)]
struct TestSet {
    /// `(n_test, n_features)`
    features: Array2<f64>,
    labels: Bytes,
}

impl Frozen {
    pub(super) fn decode(manifest: &Manifest, files: &BTreeMap<String, Bytes>) -> Result<Self, FrozenError> {
        let parameters: Parameters = manifest.parameters()?;
        let whole = |path: &str| {
            files
                .get(path)
                .ok_or_else(|| FrozenError::damaged(path, "it was not read"))
        };
        let Parameters {
            id_bytes,
            n_features,
            ref concepts,
            ..
        } = parameters;
        if !concepts.is_sorted_by(|a, b| a < b) || concepts.is_empty() {
            let why = "parameters: the concepts are none, or not distinct and ascending".to_owned();
            return Err(FrozenError::Manifest { why });
        }
        let index = whole(POOL_INDEX_FILE)?;
        let pool = PoolIndex::new(manifest, POOL_INDEX_FILE, index, POOL_FILE, id_bytes, n_features)?;
        let test = |concept: &String| {
            let path = test_file(concept);
            TestSet::decode(manifest, &path, whole(&path)?, n_features)
        };
        let tests = concepts.iter().map(test).collect::<Result<_, _>>()?;
        Ok(Self {
            parameters,
            pool,
            tests,
        })
    }

    /// The concepts, ascending.
    pub fn concepts(&self) -> &[String] {
        &self.parameters.concepts
    }

    /// The most examples a submission may have.
    pub fn max_examples(&self) -> usize {
        self.parameters.max_examples
    }

    /// The width of a vector.
    pub fn n_features(&self) -> usize {
        self.parameters.n_features
    }

    /// The index of the candidates.
    pub fn pool(&self) -> &PoolIndex {
        &self.pool
    }

    /// The labels of each concept's test set, `(n_test,)`, with the concept.
    pub(super) fn tests(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let labels = self.tests.iter().map(|test| &test.labels[..]);
        self.concepts().iter().map(String::as_str).zip(labels)
    }
}

impl TestSet {
    fn decode(
        manifest: &Manifest,
        path: &str,
        whole: &Bytes,
        n_features: usize,
    ) -> Result<Self, FrozenError> {
        let matrix = Matrix::new(manifest, path, EMBEDDINGS, whole)?;
        let labels = slice(manifest.tensor(path, LABELS, Dtype::U8, 1)?, path, whole)?;
        let features = matrix.view().mapv(f64::from);
        if features.dim() != (labels.len(), n_features) || labels.iter().any(|&label| label > 1) {
            let why = format!(
                "it is not {} rows of {n_features} floats with a label of 0 or 1 each",
                labels.len()
            );
            return Err(FrozenError::damaged(path, why));
        }
        Ok(Self { features, labels })
    }
}

/// What each concept's classifier says of every image of its test set.
pub(super) fn evidence(checked: &Checked, frozen: &Frozen) -> Result<Evidence, FrozenError> {
    let chosen = checked.concepts().iter().zip(frozen.concepts());
    let concepts: Vec<((&Chosen, &String), &TestSet)> = chosen.zip(&frozen.tests).collect();
    let n_features = frozen.parameters.n_features;
    let unit = |((chosen, concept), test): ((&Chosen, &String), &TestSet)| {
        let damaged = |why: String| FrozenError::damaged(POOL_FILE, why);
        let rows = Numbers::F32(&chosen.features);
        let model = LogisticRegression::fit_stored(rows, n_features, &chosen.labels);
        let model = model.map_err(|error| damaged(error.to_string()))?;
        let predicted = model.predict(test.features.view());
        let predicted = predicted.into_iter().map(|class| class as u8).collect();
        let unit = UnitEvidence::new(Repeats::Once, test.labels.len(), N_CLASSES, predicted)
            .with_count(N_EXAMPLES, chosen.labels.len())
            .with_count(N_POSITIVE, chosen.labels.iter().sum());
        Ok((concept.clone(), unit))
    };
    let units = concepts
        .into_par_iter()
        .map(unit)
        .collect::<Result<Vec<_>, FrozenError>>();
    units.map(Evidence::from_iter)
}
