//! Soft voting of a support vector classifier and a logistic regression, for many seeds at once.
//!
//! scikit-learn 1.2.2's `VotingClassifier([("svm", SVC(probability=True, random_state=seed)),
//! ("lr", LogisticRegression(random_state=seed))], voting="soft")`. The seed reaches nothing but
//! the sigmoids of the support vector classifier, so one pass over the rows serves every seed.

use ndarray::parallel::prelude::*;
use ndarray::{Array2, Array3, ArrayView2, ArrayViewMut2, ArrayViewMut3, Axis};
use pulp::{Arch, Simd, WithSimd};
use rayon::slice::ParallelSlice;

use super::FitError;
use super::logistic_regression::{LogisticRegression, probabilities_of};
use super::svc::{Calibration, Svc};
use crate::simd::{BLOCK_ROWS, PackedColumns, ProductScratch, exp, vector};

/// A fitted soft vote, one for each seed.
#[derive(Debug)]
pub struct SoftVoting {
    svc: Svc,
    logistic: LogisticRegression,
    calibrations: Vec<Calibration>,
    columns: PackedColumns,
    /// `(n_support,)`: squared norms of the centred support vectors.
    support_squared_norms: Vec<f64>,
    /// Intercepts of the logistic part for centred rows.
    intercepts: Vec<f64>,
    arch: Arch,
}

impl SoftVoting {
    /// Fits the vote for every seed.
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
    /// use dataperf::models::soft_voting::SoftVoting;
    /// use ndarray::array;
    /// let x = array![[0.0f32, 0.0], [0.1, 0.2], [5.0, 5.0], [5.2, 4.9]];
    /// let vote = SoftVoting::fit(x.view(), &[0, 0, 3, 3], 4, &[1, 2])?;
    /// assert_eq!(vote.predict(array![[0.0f32, 0.1], [6.0, 6.0]].view()).dim(), (2, 2));
    /// # Ok::<(), dataperf::models::FitError>(())
    /// ```
    pub fn fit(
        x: ArrayView2<f32>,
        class_idx: &[usize],
        n_classes_total: usize,
        seeds: &[u32],
    ) -> Result<Self, FitError> {
        if n_classes_total > usize::from(u8::MAX) + 1 {
            return Err(FitError::TooManyClasses { n_classes_total });
        }
        if let Some(row_idx) = class_idx.iter().position(|c| *c >= n_classes_total) {
            let class_idx = class_idx[row_idx];
            return Err(FitError::ClassOutOfRange {
                row_idx,
                class_idx,
                n_classes_total,
            });
        }
        let x = x.mapv(f64::from);
        let (svm, logistic) = rayon::join(
            || {
                let svc = Svc::fit(x.view(), class_idx)?;
                let calibrations = seeds.par_iter().map(|&seed| svc.calibrate(seed)).collect();
                Ok::<(Svc, Vec<Calibration>), FitError>((svc, calibrations))
            },
            || LogisticRegression::fit(x.view(), class_idx),
        );
        let ((svc, calibrations), logistic) = (svm?, logistic?);

        // distances don't change when every row moves, and are more accurate near the origin
        let centre: Vec<f64> = x.mean_axis(Axis(0)).map(|m| m.to_vec()).unwrap_or_default();
        let mut support = svc.support().to_owned();
        let centre_row = ndarray::aview1(&centre);
        support.outer_iter_mut().for_each(|mut row| row -= &centre_row);
        let weights = logistic.coefficients();
        let intercepts = weights
            .outer_iter()
            .zip(logistic.intercepts())
            .map(|(w, b)| w.dot(&centre_row) + b)
            .collect();
        let support_squared_norms = support
            .outer_iter()
            .map(|row| row.as_slice().map_or(0.0, |row| vector::dot(row, row)))
            .collect();
        let columns = PackedColumns::new(
            centre.clone(),
            support
                .outer_iter()
                .chain(weights.outer_iter())
                .map(|row| row.to_vec()),
        );
        let arch = Arch::new();
        Ok(Self {
            svc,
            logistic,
            calibrations,
            columns,
            support_squared_norms,
            intercepts,
            arch,
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

    /// The support vector part's sigmoids, one [`Calibration`] a seed.
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
    pub fn predict(&self, rows: ArrayView2<f32>) -> Array2<u8> {
        let mut predicted = Array2::zeros((self.calibrations.len(), rows.nrows()));
        let blocks = predicted.axis_chunks_iter_mut(Axis(1), BLOCK_ROWS);
        let classes: Vec<u8> = self.svc.classes().iter().map(|c| *c as u8).collect();
        self.for_each_block(
            rows,
            blocks.into_par_iter(),
            |predicted: &mut ArrayViewMut2<u8>, seed, sums| {
                for (row, predicted) in predicted.row_mut(seed).iter_mut().enumerate() {
                    let mut best = 0;
                    for class in 1..classes.len() {
                        if sums[class * BLOCK_ROWS + row] > sums[best * BLOCK_ROWS + row] {
                            best = class;
                        }
                    }
                    *predicted = classes[best];
                }
            },
        );
        predicted
    }

    /// Class probabilities of every row under every seed.
    ///
    /// # Shapes and units
    /// `rows`: `(n_rows, n_features)` of finite values. Returns `(n_seeds, n_rows, n_classes)`, the
    /// classes those of the training set, ascending.
    ///
    /// # Panics
    /// If the number of features is not that of the training set.
    pub fn predict_proba(&self, rows: ArrayView2<f32>) -> Array3<f64> {
        let shape = (self.calibrations.len(), rows.nrows(), self.svc.classes().len());
        let mut all = Array3::zeros(shape);
        let blocks = all.axis_chunks_iter_mut(Axis(1), BLOCK_ROWS);
        self.for_each_block(
            rows,
            blocks.into_par_iter(),
            |block: &mut ArrayViewMut3<f64>, seed, sums| {
                let mut block = block.index_axis_mut(Axis(0), seed);
                for ((row, class), p) in block.indexed_iter_mut() {
                    *p = sums[class * BLOCK_ROWS + row] / 2.0;
                }
            },
        );
        all
    }

    /// Hands each block's probability sums, `(n_classes, BLOCK_ROWS)`, to `store`, seed by seed.
    fn for_each_block<B: Send>(
        &self,
        rows: ArrayView2<f32>,
        blocks: impl IndexedParallelIterator<Item = B>,
        store: impl Fn(&mut B, usize, &[f64]) + Sync,
    ) {
        let n_features = self.svc.support().ncols();
        assert_eq!(
            rows.ncols(),
            n_features,
            "features of the rows and the training set"
        );
        let rows = rows.as_standard_layout();
        let features = rows.as_slice().unwrap_or_default();
        features
            .par_chunks(BLOCK_ROWS * n_features)
            .zip(blocks)
            .for_each_init(
                || self.scratch(),
                |scratch, (features, mut block)| {
                    self.arch.dispatch(ScoreBlock {
                        vote: self,
                        features,
                        scratch,
                    });
                    for seed in 0..self.calibrations.len() {
                        self.arch.dispatch(VoteBlock {
                            vote: self,
                            seed,
                            scratch,
                        });
                        store(&mut block, seed, &scratch.sums);
                    }
                },
            );
    }

    fn scratch(&self) -> Scratch {
        let block = |n: usize| vec![0.0; n * BLOCK_ROWS];
        let (n_classes, n_pairs) = (self.svc.classes().len(), self.svc.rho().len());
        Scratch {
            product: self.columns.scratch(),
            scores: block(self.intercepts.len()),
            logistic: block(n_classes),
            decisions: block(n_pairs),
            pairwise: block(n_pairs),
            sums: block(n_classes),
        }
    }
}

/// Working memory of one thread; each part is `(n, BLOCK_ROWS)`.
struct Scratch {
    product: ProductScratch,
    scores: Vec<f64>,
    logistic: Vec<f64>,
    decisions: Vec<f64>,
    pairwise: Vec<f64>,
    sums: Vec<f64>,
}

/// What all seeds share of a block: the logistic probabilities and the decision values.
struct ScoreBlock<'a> {
    vote: &'a SoftVoting,
    features: &'a [f32],
    scratch: &'a mut Scratch,
}

impl WithSimd for ScoreBlock<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            vote,
            features,
            scratch,
        } = self;
        vote.columns.multiply(simd, features, &mut scratch.product);
        let n_support = vote.support_squared_norms.len();
        let (kernel, linear) = scratch.product.products.split_at_mut(n_support * BLOCK_ROWS);
        let norms = &scratch.product.squared_norms;
        let gamma = vote.svc.gamma();
        for (kernel, sv_norm) in kernel
            .chunks_exact_mut(BLOCK_ROWS)
            .zip(&vote.support_squared_norms)
        {
            for (value, row_norm) in kernel.iter_mut().zip(norms) {
                let distance = (row_norm + sv_norm - 2.0 * *value).max(0.0);
                *value = exp(-gamma * distance);
            }
        }
        vote.svc.decide_block(kernel, &mut scratch.decisions);
        let blocks = linear
            .chunks_exact(BLOCK_ROWS)
            .zip(scratch.scores.chunks_exact_mut(BLOCK_ROWS));
        for ((products, scores), intercept) in blocks.zip(&vote.intercepts) {
            products
                .iter()
                .zip(scores)
                .for_each(|(p, score)| *score = p + intercept);
        }
        probabilities_of(&scratch.scores, &mut scratch.logistic, BLOCK_ROWS);
    }
}

/// One seed's probability sums of a block that is already scored.
struct VoteBlock<'a> {
    vote: &'a SoftVoting,
    seed: usize,
    scratch: &'a mut Scratch,
}

impl WithSimd for VoteBlock<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Scratch {
            logistic,
            decisions,
            pairwise,
            sums,
            ..
        } = self.scratch;
        let calibration = &self.vote.calibrations[self.seed];
        self.vote
            .svc
            .couple_block(simd, calibration, decisions, pairwise, sums);
        sums.iter_mut().zip(logistic).for_each(|(sum, p)| *sum += *p);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::architectures;

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        let value = |i: usize, k: usize| ((i * 7919 + k * 104_729 + i * k * 31) % 1009) as f32 / 500.0 - 1.0;
        // sizes that fill neither a block, nor a panel, nor a register
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
}
