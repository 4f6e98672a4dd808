//! The frozen models: the classifiers of scikit-learn 1.2.2 and XGBoost 1.7.6, reproduced to the same predictions.
//!
//! A benchmark's model is part of its definition, so these are not "a logistic regression" and "a
//! support vector machine" but those two at their defaults, with their stopping points, their tie
//! rules and their random streams. Everything is single-valued: the same bits come out on every
//! processor this crate supports and with every number of threads.

#![allow(
    clippy::inline_always,
    reason = "code is only vectorised if it is inlined into the function that enables the instruction set"
)]

pub mod boosted_stumps;
pub mod boosted_trees;
pub mod k_nearest;
mod lbfgs;
mod line_search;
pub mod logistic_regression;
pub mod mt19937;
pub mod nearest_centroid;
mod numpy_log;
pub mod soft_voting;
pub mod svc;

use ndarray::ArrayView2;

use crate::numbers::Numbers;

/// Why a model can't be fitted to a training set.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FitError {
    /// The number of labels differs from the number of rows.
    #[error("{n_labels} labels for {n_rows} training rows; give one label a row")]
    LabelCount {
        /// The number of rows of the training matrix.
        n_rows: usize,
        /// The number of labels.
        n_labels: usize,
    },
    /// The training matrix has no columns.
    #[error("the training matrix has no features; at least 1 is needed")]
    NoFeatures,
    /// The training matrix has more columns than the model takes.
    #[error("{n_features} features; at most {n_allowed} are allowed")]
    TooManyFeatures {
        /// The number of columns of the training matrix.
        n_features: usize,
        /// The most columns.
        n_allowed: usize,
    },
    /// Fewer than two classes are present.
    #[error("the training labels hold {n_classes} classes; at least 2 are needed")]
    TooFewClasses {
        /// The number of distinct labels.
        n_classes: usize,
    },
    /// Fewer rows than the model needs.
    #[error("{n_rows} training rows; at least {n_needed} are needed")]
    TooFewRows {
        /// The number of rows of the training matrix.
        n_rows: usize,
        /// The fewest rows.
        n_needed: usize,
    },
    /// More rows than the model takes.
    #[error("{n_rows} training rows; at most {n_allowed} are allowed")]
    TooManyRows {
        /// The number of rows of the training matrix.
        n_rows: usize,
        /// The most rows.
        n_allowed: usize,
    },
    /// A label is not below the number of classes.
    #[error("the label of row {row_idx} is `{class_idx}`; it must be below {n_classes_total}")]
    ClassOutOfRange {
        /// Row of the offending label.
        row_idx: usize,
        /// The label.
        class_idx: usize,
        /// The number of classes.
        n_classes_total: usize,
    },
    /// More classes than a prediction's byte can name.
    #[error("{n_classes_total} classes; at most 256 can be predicted")]
    TooManyClasses {
        /// The requested number of classes.
        n_classes_total: usize,
    },
    /// The support vector classifier did not reach its optimum.
    #[error(
        "two classes are not parted within `tol` after ten million steps, or the steps for all classes look at more than 40 billion rows; scale \
         the features to about 1, or use a lower `C` or a higher `tol`"
    )]
    NotConverged,
    /// A model for two classes was trained with more than two.
    #[error("{n_classes} classes; gradient boosting tells apart only 2")]
    NotBinary {
        /// The number of distinct labels, or the requested number.
        n_classes: usize,
    },
    /// The rows to predict have another number of columns than the training rows.
    #[error(
        "the rows to predict have {n_found} features, the training rows {n_expected}; give both the same"
    )]
    FeatureCount {
        /// The number of columns of the rows to predict.
        n_found: usize,
        /// The number of columns of the training matrix.
        n_expected: usize,
    },
    /// A parameter has a value with which the model can't be fitted.
    #[error("parameter `{name}` is `{value}`; it must be {allowed}")]
    Parameter {
        /// The parameter's name in documents.
        name: &'static str,
        /// The parameter's value.
        value: String,
        /// The values that are allowed.
        allowed: &'static str,
    },
    /// The network can't read images of this size.
    #[error("images of {height} by {width} pixels; height and width must be from {least} to {greatest}")]
    ImageSize {
        /// Height in pixels.
        height: usize,
        /// Width in pixels.
        width: usize,
        /// The smallest height or width.
        least: usize,
        /// The largest height or width.
        greatest: usize,
    },
    /// The pixels are not a whole number of images.
    #[error("{n_bytes} bytes of pixels; they must be a multiple of an image's {image_bytes}")]
    ImageBytes {
        /// The number of bytes.
        n_bytes: usize,
        /// The number of bytes of one image.
        image_bytes: usize,
    },
    /// A feature is NaN or infinite.
    #[error("feature {feature_idx} of row {row_idx} is `{value}`; every feature must be finite")]
    NotFinite {
        /// Row of the offending value.
        row_idx: usize,
        /// Column of the offending value.
        feature_idx: usize,
        /// The value.
        value: f64,
    },
}

/// Training labels renumbered over the classes that are present.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Labels {
    /// The distinct labels, ascending.
    pub(crate) classes: Vec<usize>,
    /// The place in `classes` of each row's label.
    pub(crate) local_idx: Vec<usize>,
}

/// Checks a training set and renumbers its labels.
///
/// # Errors
/// All kinds of [`FitError`] except the two about the total number of classes.
pub(crate) fn check_training_set(x: ArrayView2<f64>, class_idx: &[usize]) -> Result<Labels, FitError> {
    let labels = check_labels(x.nrows(), x.ncols(), class_idx)?;
    let x = x.as_standard_layout();
    check_finite(Numbers::F64(x.as_slice().unwrap_or_default()), x.ncols())?;
    Ok(labels)
}

/// Checks that every feature is a number, row after row.
pub(crate) fn check_finite(x: Numbers<'_>, n_features: usize) -> Result<(), FitError> {
    x.first_not_finite().map_or(Ok(()), |(at, value)| {
        Err(FitError::NotFinite {
            row_idx: at / n_features,
            feature_idx: at % n_features,
            value,
        })
    })
}

/// Checks and renumbers the labels of `n_rows` rows.
pub(crate) fn check_labels(
    n_rows: usize,
    n_features: usize,
    class_idx: &[usize],
) -> Result<Labels, FitError> {
    if class_idx.len() != n_rows {
        return Err(FitError::LabelCount {
            n_rows,
            n_labels: class_idx.len(),
        });
    }
    if n_features == 0 {
        return Err(FitError::NoFeatures);
    }
    let mut classes = class_idx.to_vec();
    classes.sort_unstable();
    classes.dedup();
    if classes.len() < 2 {
        return Err(FitError::TooFewClasses {
            n_classes: classes.len(),
        });
    }
    let local_idx = class_idx
        .iter()
        .map(|c| classes.partition_point(|known| known < c))
        .collect();
    Ok(Labels { classes, local_idx })
}
