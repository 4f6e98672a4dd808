//! The support vector classifier: scikit-learn 1.2.2's `SVC(kernel, C, tol)`, with and without `probability=True`.
//!
//! C-SVC with a radial basis function kernel, `gamma="scale"`, or a linear one, one against one. Only the
//! probabilities' sigmoids depend on the random seed, so a fitted [`Svc`] is calibrated for as
//! many seeds as are wanted. Without probabilities the pairs of classes vote.

mod coupling;
mod gram;
mod platt;
mod solver;

use std::ops::Range;
use std::sync::Arc;

use ndarray::parallel::prelude::*;
use ndarray::{Array2, ArrayView2, Axis};
use pulp::{Arch, Simd, WithSimd};
use serde::{Deserialize, Serialize};

use self::coupling::Coupling;
pub use self::gram::Gram;
pub use self::platt::Sigmoid;
use self::platt::{Pair, Shuffler, calibrate};
use self::solver::{Limits, RowSteps, Solution, solve};
use super::mt19937::libsvm_seed;
use super::{FitError, Labels, check_labels};
use crate::sharing::items_of_a_thread;
use crate::simd::vector::inline::{dot, squared_distance};
use crate::simd::{BLOCK_ROWS, exp};

/// The most steps for one pair of classes.
const MAX_STEPS: usize = 10_000_000;
/// The most rows that the steps of a model look at together, each row once a step, those for probabilities included: some 100 s of one processor, where a
/// pair of classes has 10,000 rows, and less where it has fewer. A function has 300 s.
const MAX_ROW_STEPS: u64 = 10_000_000_000;
/// About how often solving goes through the rows for each row: an estimate to decide whether a pair of classes is worth a thread.
const STEPS_OF_A_ROW: usize = 16;
/// Pairwise probabilities are kept this far from 0 and 1.
const MIN_PROBABILITY: f64 = 1e-7;

/// The similarity of two rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kernel {
    /// `exp(-gamma |a - b|^2)`, where `gamma` is one over the number of features times the variance of the training matrix.
    #[default]
    Rbf,
    /// The inner product.
    Linear,
}

impl Kernel {
    /// Its name for people.
    pub fn about(self) -> &'static str {
        match self {
            Self::Rbf => "RBF",
            Self::Linear => "linear",
        }
    }
}

/// The parameters of the fit, under scikit-learn's names.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SvcSettings {
    /// The similarity of two rows.
    pub kernel: Kernel,
    /// The penalty of an error, above 0.
    #[serde(rename = "C")]
    pub c: f64,
    /// The fit stops when the optimality conditions are violated by less than this.
    pub tol: f64,
}

impl Default for SvcSettings {
    fn default() -> Self {
        Self {
            kernel: Kernel::Rbf,
            c: 1.0,
            tol: 1e-3,
        }
    }
}

impl SvcSettings {
    fn limits(self) -> Limits {
        Limits {
            penalty: self.c,
            tolerance: self.tol,
            max_steps: MAX_STEPS,
            max_row_steps: MAX_ROW_STEPS,
        }
    }
}

/// A fitted one-against-one support vector classifier.
#[derive(Debug)]
pub struct Svc {
    classes: Vec<usize>,
    support: Array2<f64>,
    support_idx: Vec<usize>,
    machines: Vec<Machine>,
    training: Training,
}

/// The data of the training set that calibration needs.
#[derive(Debug)]
struct Training {
    /// The rows class after class, those of each class in input order.
    grouped_idx: Vec<usize>,
    /// The range of each class in `grouped_idx`.
    groups: Vec<Range<usize>>,
    gram: Arc<Gram>,
    limits: Limits,
    row_steps: RowSteps,
}

/// The decision function between two classes.
#[derive(Debug, Clone)]
struct Machine {
    /// The ranges of the support vectors of the first and of the second class.
    support: [Range<usize>; 2],
    /// The coefficients of the support vectors, those of the first class first.
    coefficients: Vec<f64>,
    rho: f64,
}

/// The sigmoids of one seed, one for each pair of classes.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// `(n_pairs,)`, in the order (0, 1), (0, 2), ..., (1, 2), ...
    pub sigmoids: Vec<Sigmoid>,
}

impl Svc {
    /// Fits the classifier with scikit-learn's default parameters, for probabilities.
    ///
    /// # Shapes and units
    /// `x`: `(n_rows, n_features)`; `class_idx`: `(n_rows,)`, any labels. The kernel matrices take
    /// 12 bytes a pair of rows.
    ///
    /// # Errors
    /// [`FitError`] if a value is not finite, if there are fewer than two classes, or if the shapes
    /// don't fit each other.
    ///
    /// # Source
    /// Chang and Lin, "LIBSVM: a library for support vector machines", ACM TIST 2 (2011), sections
    /// 2.1, 4 and 7; scikit-learn 1.2.2, `sklearn/svm/_base.py` and `sklearn/svm/src/libsvm/svm.cpp`.
    pub fn fit(x: ArrayView2<f64>, class_idx: &[usize]) -> Result<Self, FitError> {
        check_labels(x.nrows(), x.ncols(), class_idx)?; // before what takes time
        let settings = SvcSettings::default();
        let gram = Gram::for_probabilities(settings.kernel, x)?;
        Self::fit_with(settings, &Arc::new(gram), x, class_idx)
    }

    /// [`fit`](Self::fit) with parameters and with the kernel matrix of `x`, which fits with different labels share.
    ///
    /// # Errors
    /// [`FitError`] if there are fewer than two classes, if the shapes don't fit each other, or if a pair of classes takes
    /// more than ten million steps, or steps that look at too many rows.
    pub fn fit_with(
        settings: SvcSettings,
        gram: &Arc<Gram>,
        x: ArrayView2<f64>,
        class_idx: &[usize],
    ) -> Result<Self, FitError> {
        let labels = check_labels(gram.n_rows(), x.ncols(), class_idx)?;
        let (grouped_idx, groups) = group(&labels);
        let limits = settings.limits();
        let training = Training {
            grouped_idx,
            groups,
            gram: Arc::clone(gram),
            limits,
            row_steps: RowSteps::default(),
        };
        let pairs: Vec<(Pair, [usize; 2])> = training.pairs().collect();

        let longest = pairs.iter().map(|(pair, _)| pair.rows.len()).max().unwrap_or(0);
        // with other parameters the number of steps can be large
        let is_short =
            settings.kernel == Kernel::Rbf && settings.c <= 1.0 && settings.tol >= SvcSettings::default().tol;
        let of_a_thread = if is_short {
            items_of_a_thread(STEPS_OF_A_ROW * longest * longest)
        } else {
            1
        };
        let row_steps = &training.row_steps;
        let solutions = pairs.par_iter().with_min_len(of_a_thread).map(|(pair, _)| {
            let first: Vec<bool> = (0..pair.rows.len()).map(|k| k < pair.n_positive).collect();
            solve(limits, row_steps, gram.rounded(), &pair.rows, &first)
        });
        let solutions: Vec<Solution> = solutions.collect::<Result<_, _>>()?;
        let mut is_support = vec![false; x.nrows()];
        for ((pair, _), solution) in pairs.iter().zip(&solutions) {
            for (&row, alpha) in pair.rows.iter().zip(&solution.signed_alpha) {
                is_support[row] |= *alpha != 0.0;
            }
        }
        let mut support_idx = Vec::new();
        let mut support_groups = Vec::new();
        for group in &training.groups {
            let first = support_idx.len();
            let rows = &training.grouped_idx[group.clone()];
            support_idx.extend(rows.iter().copied().filter(|&row| is_support[row]));
            support_groups.push(first..support_idx.len());
        }
        let machines = pairs
            .iter()
            .zip(&solutions)
            .map(|((pair, [i, j]), solution)| Machine {
                support: [support_groups[*i].clone(), support_groups[*j].clone()],
                coefficients: pair
                    .rows
                    .iter()
                    .zip(&solution.signed_alpha)
                    .filter_map(|(&row, alpha)| is_support[row].then_some(*alpha))
                    .collect(),
                rho: solution.rho,
            })
            .collect();
        let support = x.select(ndarray::Axis(0), &support_idx);
        Ok(Self {
            classes: labels.classes,
            support,
            support_idx,
            machines,
            training,
        })
    }

    /// The classes, ascending.
    pub fn classes(&self) -> &[usize] {
        &self.classes
    }

    /// The kernel.
    pub fn kernel(&self) -> Kernel {
        self.training.gram.kernel()
    }

    /// The width of the radial basis function: `exp(-gamma |a - b|^2)`.
    pub fn gamma(&self) -> f64 {
        self.training.gram.gamma()
    }

    /// `(n_support, n_features)`: the support vectors, class after class.
    pub fn support(&self) -> ArrayView2<'_, f64> {
        self.support.view()
    }

    /// `(n_support,)`: the training rows that are support vectors.
    pub fn support_idx(&self) -> &[usize] {
        &self.support_idx
    }

    /// `(n_classes - 1, n_support)`: the coefficients, laid out as LIBSVM's `sv_coef`.
    pub fn dual_coefficients(&self) -> Array2<f64> {
        let n_classes = self.classes.len();
        let mut all = Array2::zeros((n_classes - 1, self.support_idx.len()));
        for (machine, (i, j)) in self.machines.iter().zip(pairs(n_classes)) {
            let [first, second] = machine.support.clone();
            let rows = first.map(|sv| (j - 1, sv)).chain(second.map(|sv| (i, sv)));
            rows.zip(&machine.coefficients).for_each(|(at, c)| all[at] = *c);
        }
        all
    }

    /// `(n_pairs,)`: the offset that each pair's decision value subtracts.
    pub fn rho(&self) -> Vec<f64> {
        self.machines.iter().map(|m| m.rho).collect()
    }

    /// Fits the sigmoids of `SVC(probability=True, random_state=seed)`. The kernel matrix has to be one
    /// [for probabilities](Gram::for_probabilities).
    ///
    /// # Errors
    /// [`FitError::NotConverged`], which the steps of earlier calibrations count towards.
    pub fn calibrate(&self, seed: u32) -> Result<Calibration, FitError> {
        let mut shuffler = Shuffler::new(libsvm_seed(seed));
        let t = &self.training;
        let sigmoids = t
            .pairs()
            .map(|(pair, _)| {
                let kernels = (t.gram.rounded(), t.gram.exact());
                calibrate(t.limits, &t.row_steps, &pair, kernels, &mut shuffler)
            })
            .collect::<Result<_, _>>()?;
        Ok(Calibration { sigmoids })
    }

    /// Decision values of every pair of classes; positive means the first.
    ///
    /// # Shapes and units
    /// `rows`: `(n_rows, n_features)` of finite values. Returns `(n_rows, n_pairs)`.
    ///
    /// # Panics
    /// If the number of features is not that of the training set.
    pub fn decision(&self, rows: ArrayView2<f64>) -> Array2<f64> {
        self.in_blocks(rows, self.machines.len(), |decisions, out| {
            out.copy_from_slice(decisions);
        })
    }

    /// The class of each row that most pairs of classes vote for, `(n_rows,)`; the first among equal ones. This is LIBSVM's
    /// prediction without probabilities.
    ///
    /// # Panics
    /// If the number of features is not that of the training set.
    ///
    /// # Source
    /// scikit-learn 1.2.2, `sklearn/svm/src/libsvm/svm.cpp` (`svm_predict_values`).
    pub fn predict(&self, rows: ArrayView2<f64>) -> Vec<usize> {
        let n_classes = self.classes.len();
        let votes = self.in_blocks(rows, n_classes, |decisions, votes| {
            votes.fill(0.0);
            let pairs = pairs(n_classes).zip(decisions.chunks_exact(BLOCK_ROWS));
            for ((first, second), decisions) in pairs {
                for (row, &decision) in decisions.iter().enumerate() {
                    let class = if decision > 0.0 { first } else { second };
                    votes[class * BLOCK_ROWS + row] += 1.0;
                }
            }
        });
        let most = |votes: ndarray::ArrayView1<f64>| {
            (1..n_classes).fold(
                0,
                |best, class| if votes[class] > votes[best] { class } else { best },
            )
        };
        votes
            .outer_iter()
            .map(|votes| self.classes[most(votes)])
            .collect()
    }

    /// Class probabilities under one seed's calibration.
    ///
    /// # Shapes and units
    /// `rows`: `(n_rows, n_features)` of finite values. Returns `(n_rows, n_classes)`.
    ///
    /// # Panics
    /// If the number of features is not that of the training set.
    pub fn predict_proba(&self, rows: ArrayView2<f64>, calibration: &Calibration) -> Array2<f64> {
        self.in_blocks(rows, self.classes.len(), |decisions, out| {
            let coupling = CoupleBlock {
                svc: self,
                calibration,
                decisions,
                out,
                pairwise: &mut vec![0.0; decisions.len()],
            };
            Arch::new().dispatch(coupling);
        })
    }

    /// Runs `finish` on the decision values of each block of rows and collects what it writes.
    fn in_blocks(
        &self,
        rows: ArrayView2<f64>,
        n_columns: usize,
        finish: impl Fn(&[f64], &mut [f64]) + Sync,
    ) -> Array2<f64> {
        assert_eq!(
            rows.ncols(),
            self.support.ncols(),
            "features of the rows and the training set"
        );
        let mut all = Array2::zeros((rows.nrows(), n_columns));
        let rows = rows.axis_chunks_iter(Axis(0), BLOCK_ROWS).into_par_iter();
        rows.zip(all.axis_chunks_iter_mut(Axis(0), BLOCK_ROWS))
            .for_each_init(
                || {
                    let block = |n: usize| vec![0.0; n * BLOCK_ROWS];
                    (
                        block(self.support_idx.len()),
                        block(self.machines.len()),
                        block(n_columns),
                    )
                },
                |(kernel, decisions, finished), (rows, mut out)| {
                    let rows = rows.as_standard_layout();
                    Arch::new().dispatch(KernelBlock {
                        svc: self,
                        rows: rows.view(),
                        kernel,
                    });
                    self.decide_block(kernel, decisions);
                    finish(decisions, finished);
                    for ((row, column), out) in out.indexed_iter_mut() {
                        *out = finished[column * BLOCK_ROWS + row];
                    }
                },
            );
        all
    }

    /// Decision values of a block: `kernel` is `(n_support, BLOCK_ROWS)`, `decisions` is
    /// `(n_pairs, BLOCK_ROWS)`.
    #[inline(always)]
    pub(crate) fn decide_block(&self, kernel: &[f64], decisions: &mut [f64]) {
        for (machine, decisions) in self.machines.iter().zip(decisions.chunks_exact_mut(BLOCK_ROWS)) {
            let mut sums = [0.0; BLOCK_ROWS];
            let support = machine.support.clone().into_iter().flatten();
            for (sv, coefficient) in support.zip(&machine.coefficients) {
                let values = &kernel[sv * BLOCK_ROWS..][..BLOCK_ROWS];
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum = coefficient.mul_add(*value, *sum);
                }
            }
            for (decision, sum) in decisions.iter_mut().zip(&sums) {
                *decision = sum - machine.rho;
            }
        }
    }

    /// Class probabilities of a block: `decisions` is `(n_pairs, BLOCK_ROWS)`, `probabilities` is
    /// `(n_classes, BLOCK_ROWS)`, `pairwise` working memory of the size of `decisions`.
    #[inline(always)]
    pub(crate) fn couple_block<S: Simd>(
        &self,
        simd: S,
        calibration: &Calibration,
        decisions: &[f64],
        pairwise: &mut [f64],
        probabilities: &mut [f64],
    ) {
        let blocks = decisions
            .chunks_exact(BLOCK_ROWS)
            .zip(pairwise.chunks_exact_mut(BLOCK_ROWS));
        for (sigmoid, (decisions, pairwise)) in calibration.sigmoids.iter().zip(blocks) {
            for (decision, probability) in decisions.iter().zip(pairwise) {
                let z = decision * sigmoid.a + sigmoid.b;
                let e = exp(-z.abs());
                let p = (if z >= 0.0 { e } else { 1.0 }) / (1.0 + e);
                *probability = p.clamp(MIN_PROBABILITY, 1.0 - MIN_PROBABILITY);
            }
        }
        Coupling::new(self.classes.len()).solve(simd, pairwise, probabilities);
    }
}

impl Training {
    /// The pairs of classes with their training rows, in LIBSVM's order.
    fn pairs(&self) -> impl Iterator<Item = (Pair, [usize; 2])> {
        pairs(self.groups.len()).map(|(i, j)| {
            let rows = |class: usize| &self.grouped_idx[self.groups[class].clone()];
            let pair = Pair {
                rows: [rows(i), rows(j)].concat(),
                n_positive: self.groups[i].len(),
            };
            (pair, [i, j])
        })
    }
}

/// The pairs (0, 1), (0, 2), ..., (1, 2), ... of `n` classes.
fn pairs(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).flat_map(move |i| (i + 1..n).map(move |j| (i, j)))
}

/// The rows by class, in input order within each, and the range of each class.
fn group(labels: &Labels) -> (Vec<usize>, Vec<Range<usize>>) {
    let mut grouped_idx: Vec<usize> = (0..labels.local_idx.len()).collect();
    grouped_idx.sort_by_key(|&row| labels.local_idx[row]);
    let bound = |class| grouped_idx.partition_point(|&row| labels.local_idx[row] < class);
    let groups = (0..labels.classes.len())
        .map(|class| bound(class)..bound(class + 1))
        .collect();
    (grouped_idx, groups)
}

/// [`Svc::couple_block`] as an operation to dispatch.
struct CoupleBlock<'a> {
    svc: &'a Svc,
    calibration: &'a Calibration,
    decisions: &'a [f64],
    pairwise: &'a mut [f64],
    out: &'a mut [f64],
}

impl WithSimd for CoupleBlock<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            svc,
            calibration,
            decisions,
            pairwise,
            out,
        } = self;
        svc.couple_block(simd, calibration, decisions, pairwise, out);
    }
}

/// The kernel of up to [`BLOCK_ROWS`] rows with every support vector, `(n_support, BLOCK_ROWS)`.
struct KernelBlock<'a> {
    svc: &'a Svc,
    rows: ArrayView2<'a, f64>,
    kernel: &'a mut [f64],
}

impl WithSimd for KernelBlock<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { svc, rows, kernel } = self;
        for (sv, values) in svc.support.outer_iter().zip(kernel.chunks_exact_mut(BLOCK_ROWS)) {
            for (row, value) in rows.outer_iter().zip(values) {
                let (row, sv) = (row.to_slice(), sv.to_slice());
                let (row, sv) = (row.unwrap_or_default(), sv.unwrap_or_default());
                *value = match svc.kernel() {
                    Kernel::Rbf => exp(-svc.gamma() * squared_distance(simd, row, sv)),
                    Kernel::Linear => dot(simd, row, sv),
                };
            }
        }
    }
}
