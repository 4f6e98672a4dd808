//! The models that a buyer may train.

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use dataperf_numerics::models::FitError;
use dataperf_numerics::models::boosted_stumps::BoostedStumps;
use dataperf_numerics::models::k_nearest::KNearest;
use dataperf_numerics::models::logistic_regression::LogisticRegression;
use dataperf_numerics::numbers::Numbers;

/// The number of neighbours that vote in [`BuyerModel::Knn`].
const N_NEIGHBORS: usize = 9;
/// The number of stumps of [`BuyerModel::GradientBoosting`].
const N_STUMPS: usize = 100;

/// The model that the buyer trains: scikit-learn 1.2.2's, with the public evaluator's settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BuyerModel {
    /// `LogisticRegression(random_state=0)`.
    LogisticRegression,
    /// `KNeighborsClassifier(n_neighbors=9)`.
    Knn,
    /// `GradientBoostingClassifier(n_estimators=100, learning_rate=1.0, max_depth=1, random_state=0)`.
    GradientBoosting,
}

impl BuyerModel {
    /// Its name in manifests and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::LogisticRegression => "logistic_regression",
            Self::Knn => "knn",
            Self::GradientBoosting => "gradient_boosting",
        }
    }

    /// A short description of the model for people.
    pub fn about(self) -> &'static str {
        match self {
            Self::LogisticRegression => "a logistic regression",
            Self::Knn => "9 nearest neighbours",
            Self::GradientBoosting => "100 boosted stumps",
        }
    }

    /// The fewest rows that the model can be trained on.
    pub fn min_rows(self) -> usize {
        if self == Self::Knn { N_NEIGHBORS } else { 2 }
    }

    /// Trains on `x`, `(n_rows, n_features)`, row after row, and predicts the labels of `rows`.
    pub(super) fn predict(
        self,
        x: Numbers<'_>,
        labels: &[usize],
        rows: ArrayView2<f64>,
    ) -> Result<Vec<usize>, FitError> {
        if self == Self::LogisticRegression {
            return Ok(LogisticRegression::fit_stored(x, rows.ncols(), labels)?.predict(rows));
        }
        let x = Array2::from_shape_vec((labels.len(), rows.ncols()), x.to_f64());
        let x = x.map_err(|_| FitError::NoFeatures)?;
        if self == Self::Knn {
            Ok(KNearest::fit(x.view(), labels, N_NEIGHBORS)?.predict(rows))
        } else {
            Ok(BoostedStumps::fit(x.view(), labels, N_STUMPS)?.predict(rows))
        }
    }
}
