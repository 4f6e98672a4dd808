//! The frozen part, and the frozen model: a logistic regression a concept.

use std::collections::BTreeMap;

use bytes::Bytes;
use ndarray::Array2;
use rayon::prelude::*;

use super::metric::Measures;
use super::validation::Chosen;
use super::{Checked, EMBEDDINGS, LABELS, POOL_FILE, POOL_INDEX_FILE, Parameters, test_file};
use crate::frozen::{Dtype, FrozenError, Manifest, Matrix, slice};
use crate::models::logistic_regression::LogisticRegression;
use crate::numbers::Numbers;
use crate::pool::PoolIndex;

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
    labels: Vec<usize>,
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

    /// How many images each concept's test set has.
    pub fn n_tests(&self) -> Vec<usize> {
        self.tests.iter().map(|test| test.labels.len()).collect()
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
        Ok(Self {
            features,
            labels: labels.iter().map(|&label| label.into()).collect(),
        })
    }
}

/// How each concept's classifier does on its test set.
pub(super) fn measures(checked: &Checked, frozen: &Frozen) -> Result<Vec<Measures>, FrozenError> {
    let concepts: Vec<(&Chosen, &TestSet)> = checked.concepts().iter().zip(&frozen.tests).collect();
    let n_features = frozen.parameters.n_features;
    let measure = |(chosen, test): (&Chosen, &TestSet)| {
        let damaged = |why: String| FrozenError::damaged(POOL_FILE, why);
        let rows = Numbers::F32(&chosen.features);
        let model = LogisticRegression::fit_stored(rows, n_features, &chosen.labels);
        let model = model.map_err(|error| damaged(error.to_string()))?;
        Ok(Measures::of(&test.labels, &model.predict(test.features.view())))
    };
    concepts.into_par_iter().map(measure).collect()
}
