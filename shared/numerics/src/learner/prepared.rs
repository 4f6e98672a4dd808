//! A learner with its rows, ready for label vectors: fits and predictions.

use std::sync::Arc;

use ndarray::{Array2, ArrayView2};

use super::{Learner, MAX_CLASSES};
use crate::models::boosted_trees::{
    BoostedTrees, Columns, MAX_TRAINING_ROWS, SortedColumns, TrainingFeatures,
};
use crate::models::k_nearest::Neighbors;
use crate::models::logistic_regression::{LogisticRegression, LogisticSettings};
use crate::models::nearest_centroid::NearestCentroid;
use crate::models::soft_voting::{SoftVoting, VotingSettings, check_classes};
use crate::models::svc::{Gram, Svc, SvcSettings};
use crate::models::{FitError, check_finite, check_labels};
use crate::numbers::Numbers;
use crate::simd::aligned::Aligned;

/// A learner with its training rows and the rows to predict.
#[derive(Debug)]
pub struct Prepared {
    /// `(n_rows, n_features)`: the training rows; the first begins at the start of a cache line.
    x: Aligned,
    /// `(n_rows, n_features)`
    shape: (usize, usize),
    /// `(n_items, n_features)`: the rows to predict.
    rows: Array2<f64>,
    model: Model,
}

/// The parameters of a model, and what all its fits to the same rows share.
#[derive(Debug)]
enum Model {
    LogisticRegression(LogisticSettings),
    Svc(SvcSettings, Arc<Gram>),
    SoftVoting(VotingSettings, Arc<Gram>),
    GradientBoosting { training: Trees, items: Columns },
    KNearest(Neighbors),
    NearestCentroid,
}

impl Learner {
    /// Prepares training rows and rows to predict for fits to any number of label vectors.
    ///
    /// # Shapes and units
    /// `x`: `(n_rows, n_features)`; `rows`: `(n_items, n_features)`, both finite.
    ///
    /// # Errors
    /// [`FitError`] as [`check`](Self::check), or if a value is not finite, or if the shapes don't fit each other.
    pub fn prepare(&self, x: ArrayView2<f64>, rows: ArrayView2<f64>) -> Result<Prepared, FitError> {
        self.check(x.nrows(), x.ncols(), 0)?;
        if rows.ncols() != x.ncols() {
            return Err(FitError::FeatureCount {
                n_found: rows.ncols(),
                n_expected: x.ncols(),
            });
        }
        let (x, rows) = (
            x.as_standard_layout().into_owned(),
            rows.as_standard_layout().into_owned(),
        );
        for part in [&x, &rows] {
            check_finite(Numbers::F64(part.as_slice().unwrap_or_default()), x.ncols())?;
        }
        let model = match *self {
            Self::LogisticRegression { c, max_iter, tol } => {
                Model::LogisticRegression(LogisticSettings { c, max_iter, tol })
            }
            Self::Svc { kernel, c, tol } => {
                let gram = Gram::for_votes(kernel, x.view())?;
                Model::Svc(SvcSettings { kernel, c, tol }, Arc::new(gram))
            }
            Self::SoftVoting { logistic, svc } => {
                let gram = Gram::for_probabilities(svc.kernel, x.view())?;
                Model::SoftVoting(VotingSettings { logistic, svc }, Arc::new(gram))
            }
            Self::GradientBoosting {} => Model::GradientBoosting {
                training: Trees::new(narrow(&x))?,
                items: narrow(&rows),
            },
            Self::KNearest { k } => Model::KNearest(Neighbors::find(x.view(), rows.view(), k)?),
            Self::NearestCentroid {} => Model::NearestCentroid,
        };
        Ok(Prepared {
            x: Aligned::copy_of(x.as_slice().unwrap_or_default()),
            shape: x.dim(),
            rows,
            model,
        })
    }
}

impl Prepared {
    fn x(&self) -> ArrayView2<'_, f64> {
        // `x` has as many numbers as the shape says, so this does not fail
        ArrayView2::from_shape(self.shape, &self.x).unwrap_or(ndarray::aview2::<f64, 1>(&[]))
    }

    /// Fits the model to one label for each training row, and predicts the class of every item, `(n_items,)`.
    ///
    /// # Shapes and units
    /// `class_idx`: `(n_rows,)`, class numbers below [`MAX_CLASSES`]. The model is fitted to the classes that occur; if only one
    /// does, every item gets that class. `seed` affects soft voting only.
    ///
    /// # Errors
    /// [`FitError`] if there is not one label for each row, a label is no class number, or there are more classes than the model
    /// tells apart.
    pub fn predict(&self, class_idx: &[usize], seed: u32) -> Result<Vec<u8>, FitError> {
        Ok(self.predict_seeds(class_idx, &[seed])?.swap_remove(0))
    }

    /// [`predict`](Self::predict) for several seeds, with one prediction vector for each.
    ///
    /// # Errors
    /// As [`predict`](Self::predict).
    pub fn predict_seeds(&self, class_idx: &[usize], seeds: &[u32]) -> Result<Vec<Vec<u8>>, FitError> {
        check_classes(class_idx, MAX_CLASSES)?;
        let n_rows = self.shape.0;
        if class_idx.len() != n_rows {
            return Err(FitError::LabelCount {
                n_rows,
                n_labels: class_idx.len(),
            });
        }
        let first = class_idx[0];
        if class_idx.iter().all(|&class| class == first) {
            return Ok(vec![vec![first as u8; self.rows.nrows()]; seeds.len()]);
        }
        if let Model::SoftVoting(settings, gram) = &self.model {
            let vote =
                SoftVoting::fit_with(settings, gram, self.x().to_owned(), class_idx, MAX_CLASSES, seeds)?;
            let predicted = vote.predict(self.rows.view());
            return Ok(predicted.outer_iter().map(|of_seed| of_seed.to_vec()).collect());
        }
        Ok(vec![narrowed(self.classes(class_idx)?); seeds.len()])
    }

    /// [`predict`](Self::predict) for several label vectors, with one prediction vector for each. Logistic regressions take less
    /// time together than one after another.
    ///
    /// # Errors
    /// As [`predict`](Self::predict), for the first label vector that can't be used.
    pub fn predict_all(&self, labels: &[Vec<usize>], seed: u32) -> Result<Vec<Vec<u8>>, FitError> {
        let has_several = |labels: &Vec<usize>| labels.iter().any(|class| *class != labels[0]);
        let is_usable = |labels: &Vec<usize>| labels.len() == self.shape.0 && has_several(labels);
        match &self.model {
            Model::LogisticRegression(settings) if labels.iter().all(is_usable) => {
                for labels in labels {
                    check_classes(labels, MAX_CLASSES)?;
                }
                let labels: Vec<&[usize]> = labels.iter().map(Vec::as_slice).collect();
                let fitted = LogisticRegression::fit_all(*settings, self.x(), &labels)?;
                let predicted = fitted.iter().map(|model| model.predict(self.rows.view()));
                Ok(predicted.map(narrowed).collect())
            }
            _ => labels.iter().map(|labels| self.predict(labels, seed)).collect(),
        }
    }

    /// The predictions of a model that does not depend on a seed, for labels of at least two classes.
    fn classes(&self, class_idx: &[usize]) -> Result<Vec<usize>, FitError> {
        let (x, rows) = (self.x(), self.rows.view());
        match &self.model {
            Model::LogisticRegression(settings) => {
                Ok(LogisticRegression::fit_with(*settings, x, class_idx)?.predict(rows))
            }
            Model::Svc(settings, gram) => Ok(Svc::fit_with(*settings, gram, x, class_idx)?.predict(rows)),
            Model::GradientBoosting { training, items } => boosted(training, items, class_idx),
            Model::KNearest(neighbors) => Ok(neighbors.vote(class_idx, MAX_CLASSES)),
            Model::NearestCentroid => Ok(NearestCentroid::fit(x, class_idx)?.predict(rows)),
            Model::SoftVoting(..) => Ok(Vec::new()), // has seeds
        }
    }
}

/// The classes, which are below [`MAX_CLASSES`], as bytes.
fn narrowed(classes: Vec<usize>) -> Vec<u8> {
    classes.into_iter().map(|class| class as u8).collect()
}

/// The training rows in the form that boosted trees need for their number.
#[derive(Debug)]
enum Trees {
    Few(TrainingFeatures),
    Many(SortedColumns),
}

impl Trees {
    fn new(columns: Columns) -> Result<Self, FitError> {
        if columns.n_rows() <= MAX_TRAINING_ROWS {
            return Ok(Self::Few(TrainingFeatures::new(columns)?));
        }
        Ok(Self::Many(SortedColumns::new(columns)?))
    }

    fn fit(&self, labels: &[bool]) -> Result<BoostedTrees, FitError> {
        match self {
            Self::Few(features) => BoostedTrees::fit(features, labels),
            Self::Many(features) => BoostedTrees::fit_sorted(features, labels),
        }
    }
}

/// The predictions of boosted trees.
fn boosted(training: &Trees, items: &Columns, class_idx: &[usize]) -> Result<Vec<usize>, FitError> {
    let labels = check_labels(class_idx.len(), items.n_features(), class_idx)?;
    let &[first, second] = labels.classes.as_slice() else {
        return Err(FitError::NotBinary {
            n_classes: labels.classes.len(),
        });
    };
    let of_second: Vec<bool> = labels.local_idx.iter().map(|&class| class == 1).collect();
    let predicted = training.fit(&of_second)?.predict(items).into_iter();
    Ok(predicted
        .map(|is_second| if is_second { second } else { first })
        .collect())
}

fn narrow(rows: &Array2<f64>) -> Columns {
    Columns::new(rows.mapv(|value| value as f32).view())
}
