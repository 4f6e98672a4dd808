//! Soft voting of a support vector classifier and a logistic regression, for many seeds at once.
//!
//! scikit-learn 1.2.2's `VotingClassifier([("svm", SVC(probability=True, random_state=seed)),
//! ("lr", LogisticRegression(random_state=seed))], voting="soft")`, with their parameters. The seed reaches nothing but
//! the sigmoids of the support vector classifier, so one pass over the rows serves every seed.

mod blocks;
mod columns;
mod span;

use std::sync::{Arc, OnceLock};

use ndarray::parallel::prelude::*;
use ndarray::{Array2, Array3, ArrayView2, ArrayViewMut2, ArrayViewMut3, Axis};
use pulp::Arch;
use serde::{Deserialize, Serialize};

use self::blocks::Panel;
use self::span::Span;
use super::logistic_regression::{LogisticRegression, LogisticSettings};
use super::svc::{Calibration, Gram, Kernel, Svc, SvcSettings};
use super::{FitError, check_labels};
use crate::sharing::{both, items_of_a_thread};
use crate::simd::BLOCK_ROWS;

/// About how often a fit goes through its rows for each class, times the classes: an estimate to decide whether a fit is worth a
/// thread.
const STEPS_OF_A_FIT: usize = 500;

/// A type of the numbers in rows.
pub trait Feature: Copy + Into<f64> + Send + Sync {}

impl Feature for f32 {}
impl Feature for f64 {}

/// The parameters of the two parts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VotingSettings {
    /// The parameters of the logistic part.
    pub logistic: LogisticSettings,
    /// The parameters of the support vector part.
    pub svc: SvcSettings,
}

/// A fitted soft vote, one for each seed.
#[derive(Debug)]
pub struct SoftVoting {
    /// The training rows, `(n_rows, n_features)`.
    x: Array2<f64>,
    svc: Svc,
    logistic: LogisticRegression,
    /// The factors `(n_vectors, n_rows)` by which training rows add up to the logistic weights, if the fit was in their span; else
    /// `None`.
    factors: Option<Array2<f64>>,
    calibrations: Vec<Calibration>,
    panel: OnceLock<Panel>,
    arch: Arch,
}

impl SoftVoting {
    /// Fits the vote for every seed, with scikit-learn's default parameters.
    ///
    /// # Shapes and units
    /// `x`: `(n_rows, n_features)`; `class_idx`: `(n_rows,)`, each below `n_classes_total`. A class
    /// without a training row is never predicted.
    ///
    /// # Errors
    /// [`FitError`] if a value is not finite, if fewer than two classes are present, if a label is
    /// not below `n_classes_total`, if that exceeds 256, or if the shapes don't fit each other.
    ///
    /// # Source
    /// scikit-learn 1.2.2, `sklearn/ensemble/_voting.py`.
    ///
    /// # Examples
    /// ```
    /// use dataperf_numerics::models::soft_voting::SoftVoting;
    /// use ndarray::array;
    /// let x = array![[0.0f32, 0.0], [0.1, 0.2], [5.0, 5.0], [5.2, 4.9]];
    /// let vote = SoftVoting::fit(x.view(), &[0, 0, 3, 3], 4, &[1, 2])?;
    /// assert_eq!(vote.predict(array![[0.0f32, 0.1], [6.0, 6.0]].view()).dim(), (2, 2));
    /// # Ok::<(), dataperf_numerics::models::FitError>(())
    /// ```
    pub fn fit(
        x: ArrayView2<f32>,
        class_idx: &[usize],
        n_classes_total: usize,
        seeds: &[u32],
    ) -> Result<Self, FitError> {
        let x = x.mapv(f64::from);
        check_classes(class_idx, n_classes_total)?;
        check_labels(x.nrows(), x.ncols(), class_idx)?; // before what takes time
        let settings = VotingSettings::default();
        let gram = Arc::new(Gram::for_probabilities(settings.svc.kernel, x.view())?);
        Self::fit_with(&settings, &gram, x, class_idx, n_classes_total, seeds)
    }

    /// [`fit`](SoftVoting::fit) with parameters and with the kernel matrix of `x`, a matrix [for
    /// probabilities](Gram::for_probabilities), which fits with different labels share.
    ///
    /// # Errors
    /// As [`fit`](SoftVoting::fit).
    pub fn fit_with(
        settings: &VotingSettings,
        gram: &Arc<Gram>,
        x: Array2<f64>,
        class_idx: &[usize],
        n_classes_total: usize,
        seeds: &[u32],
    ) -> Result<Self, FitError> {
        check_classes(class_idx, n_classes_total)?;
        let vote = Self::fit_by(settings.svc, gram, x, class_idx, seeds, |x| {
            let logistic = LogisticRegression::fit_with(settings.logistic, x.view(), class_idx)?;
            Ok((logistic, None))
        })?;
        vote.panel();
        Ok(vote)
    }

    /// [`fit`](SoftVoting::fit) for comparing many training sets by [`predict_each`](SoftVoting::predict_each): the logistic part
    /// is fitted in the span of the training rows, which takes a fraction of the time if they are fewer than the features. The fit
    /// takes the path of `fit`, but its last digits differ: a model that is scored has to be fitted by `fit`.
    /// # Errors
    /// As [`fit`](SoftVoting::fit).
    pub fn fit_in_span(
        x: ArrayView2<f32>,
        class_idx: &[usize],
        n_classes_total: usize,
        seeds: &[u32],
    ) -> Result<Self, FitError> {
        let x = x.mapv(f64::from);
        check_classes(class_idx, n_classes_total)?;
        check_labels(x.nrows(), x.ncols(), class_idx)?; // before what takes time
        let svc = SvcSettings::default();
        let gram = Arc::new(Gram::for_probabilities(svc.kernel, x.view())?);
        Self::fit_by(svc, &gram, x, class_idx, seeds, |x| match Span::new(x) {
            Some(span) => {
                let (logistic, factors) = span.fit(class_idx)?;
                Ok((logistic, Some(factors)))
            }
            None => Ok((LogisticRegression::fit(x.view(), class_idx)?, None)),
        })
    }

    fn fit_by(
        settings: SvcSettings,
        gram: &Arc<Gram>,
        x: Array2<f64>,
        class_idx: &[usize],
        seeds: &[u32],
        fit_logistic: impl FnOnce(&Array2<f64>) -> Result<(LogisticRegression, Option<Array2<f64>>), FitError>
        + Send,
    ) -> Result<Self, FitError> {
        let (n_rows, n_features) = x.dim();
        let (svm, logistic) = both(
            || {
                let svc = Svc::fit_with(settings, gram, x.view(), class_idx)?;
                let seeds = seeds
                    .par_iter()
                    .with_min_len(items_of_a_thread(STEPS_OF_A_FIT * n_rows * n_rows));
                let calibrations = seeds.map(|&seed| svc.calibrate(seed));
                let calibrations = calibrations.collect::<Result<_, _>>()?;
                Ok::<(Svc, Vec<Calibration>), FitError>((svc, calibrations))
            },
            || fit_logistic(&x),
            STEPS_OF_A_FIT * n_rows * n_features,
        );
        let ((svc, calibrations), (logistic, factors)) = (svm?, logistic?);
        Ok(Self {
            x,
            svc,
            logistic,
            factors,
            calibrations,
            panel: OnceLock::new(),
            arch: Arch::new(),
        })
    }

    /// The vectors that rows are multiplied with.
    fn panel(&self) -> &Panel {
        self.panel.get_or_init(|| {
            let centre = match self.svc.kernel() {
                Kernel::Rbf => self.x.mean_axis(Axis(0)).map(|mean| mean.to_vec()),
                Kernel::Linear => None, // inner products do change when every row moves
            };
            let centre = centre.unwrap_or_else(|| vec![0.0; self.x.ncols()]);
            Panel::of_one(centre, &self.svc, &self.logistic)
        })
    }

    /// The support vector part.
    pub fn svc(&self) -> &Svc {
        &self.svc
    }

    /// The logistic part.
    pub fn logistic(&self) -> &LogisticRegression {
        &self.logistic
    }

    /// The sigmoids of the support vector part, one [`Calibration`] for each seed.
    pub fn calibrations(&self) -> &[Calibration] {
        &self.calibrations
    }

    /// Predicts every row under every seed.
    ///
    /// # Shapes and units
    /// `rows`: `(n_rows, n_features)` of finite values. Returns `(n_seeds, n_rows)` class indices;
    /// the lowest one of equally probable classes.
    ///
    /// # Panics
    /// If the number of features is not that of the training set.
    pub fn predict<T: Feature>(&self, rows: ArrayView2<T>) -> Array2<u8> {
        let mut predicted = Array2::zeros((self.calibrations.len(), rows.nrows()));
        let blocks = predicted.axis_chunks_iter_mut(Axis(1), BLOCK_ROWS);
        self.panel().for_each_block(
            self.arch,
            &[self],
            rows,
            blocks.into_par_iter(),
            |predicted: &mut ArrayViewMut2<u8>, _, seed, sums| self.choose(sums, predicted.row_mut(seed)),
        );
        predicted
    }

    /// Predicts every row by several votes at once, with the first seed of each. The rows are multiplied only once with the votes'
    /// distinct training rows, so votes that share these cost little more than one vote. Probabilities may differ from those of
    /// [`predict`](SoftVoting::predict) in the last digits.
    ///
    /// # Shapes and units
    /// `rows`: `(n_rows, n_features)` of finite values. Returns `(n_votes, n_rows)` class indices.
    ///
    /// # Panics
    /// If the number of features is not that of the training sets, or a vote was fitted for no seed.
    ///
    /// # Examples
    /// ```
    /// use dataperf_numerics::models::soft_voting::SoftVoting;
    /// use ndarray::{Axis, array};
    /// let x = array![[0.0f32, 0.0], [0.1, 0.2], [5.0, 5.0], [5.2, 4.9]];
    /// let fit = |classes: &[usize]| SoftVoting::fit_in_span(x.view(), classes, 4, &[1]);
    /// let votes = [fit(&[0, 0, 3, 3])?, fit(&[2, 2, 1, 1])?];
    /// let together = SoftVoting::predict_each(&votes, x.view());
    /// assert_eq!(together.row(1), votes[1].predict(x.view()).row(0));
    /// # Ok::<(), dataperf_numerics::models::FitError>(())
    /// ```
    pub fn predict_each<T: Feature>(votes: &[Self], rows: ArrayView2<T>) -> Array2<u8> {
        let mut predicted = Array2::zeros((votes.len(), rows.nrows()));
        let Some(first) = votes.first() else {
            return predicted;
        };
        let all: Vec<&Self> = votes.iter().collect();
        let is_linear = votes.iter().any(|vote| vote.svc.kernel() == Kernel::Linear);
        let centre = first.svc.support().mean_axis(Axis(0)).filter(|_| !is_linear);
        let centre = centre.map_or_else(|| vec![0.0; first.x.ncols()], |mean| mean.to_vec());
        let panel = Panel::of_several(centre, votes);
        let blocks = predicted.axis_chunks_iter_mut(Axis(1), BLOCK_ROWS);
        panel.for_each_block(
            first.arch,
            &all,
            rows,
            blocks.into_par_iter(),
            |predicted: &mut ArrayViewMut2<u8>, vote, seed, sums| {
                if seed == 0 {
                    votes[vote].choose(sums, predicted.row_mut(vote));
                }
            },
        );
        predicted
    }

    /// The class with the largest sum of each row; `sums` is `(n_classes, BLOCK_ROWS)`.
    fn choose(&self, sums: &[f64], predicted: ndarray::ArrayViewMut1<u8>) {
        let classes = self.svc.classes();
        for (row, predicted) in predicted.into_iter().enumerate() {
            let mut best = 0;
            for class in 1..classes.len() {
                if sums[class * BLOCK_ROWS + row] > sums[best * BLOCK_ROWS + row] {
                    best = class;
                }
            }
            *predicted = classes[best] as u8;
        }
    }

    /// Class probabilities of every row under every seed.
    ///
    /// # Shapes and units
    /// `rows`: `(n_rows, n_features)` of finite values. Returns `(n_seeds, n_rows, n_classes)`, the
    /// classes those of the training set, ascending.
    ///
    /// # Panics
    /// If the number of features is not that of the training set.
    pub fn predict_proba<T: Feature>(&self, rows: ArrayView2<T>) -> Array3<f64> {
        let shape = (self.calibrations.len(), rows.nrows(), self.svc.classes().len());
        let mut all = Array3::zeros(shape);
        let blocks = all.axis_chunks_iter_mut(Axis(1), BLOCK_ROWS);
        self.panel().for_each_block(
            self.arch,
            &[self],
            rows,
            blocks.into_par_iter(),
            |block: &mut ArrayViewMut3<f64>, _, seed, sums| {
                let mut block = block.index_axis_mut(Axis(0), seed);
                for ((row, class), p) in block.indexed_iter_mut() {
                    *p = sums[class * BLOCK_ROWS + row] / 2.0;
                }
            },
        );
        all
    }
}

/// Checks that every label is below the number of classes, and that a prediction can tell them apart.
pub(crate) fn check_classes(class_idx: &[usize], n_classes_total: usize) -> Result<(), FitError> {
    if n_classes_total > usize::from(u8::MAX) + 1 {
        return Err(FitError::TooManyClasses { n_classes_total });
    }
    match class_idx.iter().position(|c| *c >= n_classes_total) {
        None => Ok(()),
        Some(row_idx) => Err(FitError::ClassOutOfRange {
            row_idx,
            class_idx: class_idx[row_idx],
            n_classes_total,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::architectures;

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        let value = |i: usize, k: usize| ((i * 7919 + k * 104_729 + i * k * 31) % 1009) as f32 / 500.0 - 1.0;
        // these sizes fill neither a block, nor a panel, nor a register
        let x = Array2::from_shape_fn((31, 139), |(i, k)| value(i, k) + (i % 5) as f32 * 0.1);
        let rows = Array2::from_shape_fn((131, 139), |(i, k)| value(i + 1000, k));
        let labels: Vec<usize> = (0..31).map(|i| i % 5).collect();
        let mut vote = SoftVoting::fit(x.view(), &labels, 5, &[1, 2]).unwrap();
        let reference = vote.predict_proba(rows.view());
        for arch in architectures() {
            vote.arch = arch;
            assert_eq!(vote.predict_proba(rows.view()), reference, "{arch:?}");
        }
    }

    #[test]
    fn batched_votes_equal_single_votes() {
        let value = |i: usize, k: usize| ((i * 7919 + k * 104_729 + i * k * 31) % 1009) as f32 / 500.0 - 1.0;
        // weights are sums of training rows, except with more rows than features
        for (n_rows, n_features, n_classes) in [(20, 40, 4), (6, 139, 2), (31, 64, 5), (24, 9, 3)] {
            let x = Array2::from_shape_fn((150, n_features), |(i, k)| {
                value(i, k) + (i % n_classes) as f32 * 0.3
            });
            let fit = |(first, step): (usize, usize)| {
                let rows: Vec<usize> = (0..n_rows).map(|k| (first + step * k) % 150).collect();
                let labels: Vec<usize> = rows.iter().map(|row| row % n_classes).collect();
                let seeds = [first as u32, 4];
                let x = x.select(Axis(0), &rows);
                let alone = SoftVoting::fit(x.view(), &labels, n_classes, &seeds).unwrap();
                let shared = SoftVoting::fit_in_span(x.view(), &labels, n_classes, &seeds).unwrap();
                assert_eq!(shared.factors.is_some(), n_rows <= n_features);
                (alone, shared)
            };
            let pairs = [(0, 1), (10, 1), (5, 7), (11, 13)].map(fit); // the first two share rows
            let (alone, mut shared): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
            for arch in architectures() {
                shared[0].arch = arch;
                let together = SoftVoting::predict_each(&shared, x.view());
                for (vote, together) in alone.iter().zip(together.outer_iter()) {
                    assert_eq!(vote.predict(x.view()).row(0), together, "{n_features}, {arch:?}");
                }
            }
        }
    }
}
