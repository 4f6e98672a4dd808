//! The learners that may label a pool: the frozen logistic regression, and smartcore's forest and nearest neighbours.

use dataperf_numerics::models::logistic_regression::LogisticRegression;
use ndarray::{Array2, ArrayView2};
use smartcore::ensemble::random_forest_classifier::{
    RandomForestClassifier, RandomForestClassifierParameters,
};
use smartcore::linalg::basic::matrix::DenseMatrix;
use smartcore::metrics::distance::euclidian::Euclidian;
use smartcore::neighbors::knn_classifier::{KNNClassifier, KNNClassifierParameters};

use crate::BaselineError;

const N_TREES: u16 = 100;
const N_NEIGHBORS: usize = 5;

/// A learner with its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Learner {
    Logistic,
    Forest { seed: u32 },
    Neighbors,
}

impl Learner {
    /// The learner's name for people.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Logistic => "logistic regression",
            Self::Forest { .. } => "random forest",
            Self::Neighbors => "nearest neighbours",
        }
    }

    /// Trains on `x` with `labels` of 0 or 1, and predicts the labels of `rows`.
    pub(super) fn predict(
        self,
        x: ArrayView2<f64>,
        labels: &[usize],
        rows: ArrayView2<f64>,
    ) -> Result<Vec<usize>, BaselineError> {
        if self == Self::Logistic {
            return Ok(LogisticRegression::fit(x, labels)?.predict(rows));
        }
        let (x, rows) = (dense(x)?, dense(rows)?);
        let labels: Vec<u32> = labels.iter().map(|&label| label as u32).collect();
        let predicted = if let Self::Forest { seed } = self {
            let parameters = RandomForestClassifierParameters::default()
                .with_n_trees(N_TREES)
                .with_seed(seed.into());
            RandomForestClassifier::fit(&x, &labels, parameters).and_then(|forest| forest.predict(&rows))
        } else {
            let parameters = KNNClassifierParameters::default()
                .with_k(N_NEIGHBORS.min(labels.len()))
                .with_distance(Euclidian::new());
            KNNClassifier::fit(&x, &labels, parameters).and_then(|model| model.predict(&rows))
        };
        let predicted: Vec<u32> = predicted.map_err(|error| BaselineError::Learner(error.to_string()))?;
        Ok(predicted.into_iter().map(|label| label as usize).collect())
    }
}

fn dense(x: ArrayView2<f64>) -> Result<DenseMatrix<f64>, BaselineError> {
    let (n_rows, n_columns) = x.dim();
    let values: Array2<f64> = x.as_standard_layout().into_owned();
    let dense = DenseMatrix::new(n_rows, n_columns, values.into_raw_vec_and_offset().0, false);
    dense.map_err(|error| BaselineError::Learner(error.to_string()))
}
