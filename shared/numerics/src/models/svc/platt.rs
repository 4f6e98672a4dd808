//! Platt scaling: a sigmoid from decision values to probabilities, fitted on held-out decisions.

use pulp::{Arch, Simd, WithSimd};

use super::solver::{Limits, RoundedKernel, RowSteps, solve};
use crate::models::FitError;
use crate::models::mt19937::Mt19937;
use crate::simd::exp;

/// Folds of the cross-validation that makes the held-out decision values.
const N_FOLDS: usize = 5;

/// The sigmoid `1 / (1 + exp(a f + b))` of a decision value `f`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sigmoid {
    /// Slope; negative where larger decision values mean the first class.
    pub a: f64,
    /// Offset.
    pub b: f64,
}

/// The training rows of one pair of classes, those of the positive class first.
pub(crate) struct Pair {
    /// Rows of the kernel matrices.
    pub(crate) rows: Vec<usize>,
    /// How many of them, from the front, are of the positive class.
    pub(crate) n_positive: usize,
}

/// The shuffles' generator: every sub-training inside LIBSVM seeds it anew.
pub(crate) struct Shuffler {
    fresh: Mt19937,
    current: Mt19937,
}

impl Shuffler {
    /// Starts at the seed that LIBSVM is given.
    pub(crate) fn new(libsvm_seed: u32) -> Self {
        let fresh = Mt19937::new(libsvm_seed);
        Self {
            current: fresh.clone(),
            fresh,
        }
    }

    fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut permutation: Vec<usize> = (0..n).collect();
        for i in 0..n {
            let j = i + self.current.below((n - i) as u32) as usize;
            permutation.swap(i, j);
        }
        permutation
    }

    fn restart(&mut self) {
        self.current.clone_from(&self.fresh);
    }
}

/// Fits the sigmoid of one pair of classes on five-fold held-out decision values.
///
/// `kernel` is the one training sees; `prediction_kernel`, row-major over the same rows, is the one
/// that decision values are made of.
///
/// # Errors
/// [`FitError::NotConverged`].
///
/// # Source
/// scikit-learn 1.2.2, `sklearn/svm/src/libsvm/svm.cpp` (`svm_binary_svc_probability`).
pub(crate) fn calibrate(
    limits: Limits,
    row_steps: &RowSteps,
    pair: &Pair,
    (kernel, prediction_kernel): (&RoundedKernel, &[f64]),
    shuffler: &mut Shuffler,
) -> Result<Sigmoid, FitError> {
    let n = pair.rows.len();
    let permutation = shuffler.permutation(n);
    let mut decisions = vec![0.0; n];
    for fold in 0..N_FOLDS {
        let (begin, end) = (fold * n / N_FOLDS, (fold + 1) * n / N_FOLDS);
        let held_out = &permutation[begin..end];
        let kept = || permutation[..begin].iter().chain(&permutation[end..]).copied();
        // the sub-model sorts its labels, so the negative rows come first and act as positive
        let (negative, positive): (Vec<usize>, Vec<usize>) = kept().partition(|&k| k >= pair.n_positive);
        if negative.is_empty() || positive.is_empty() {
            let side = match (negative.is_empty(), positive.is_empty()) {
                (true, false) => 1.0,
                (false, true) => -1.0,
                _ => 0.0,
            };
            for &k in held_out {
                decisions[k] = side;
            }
            continue;
        }
        let rows: Vec<usize> = negative.iter().chain(&positive).map(|&k| pair.rows[k]).collect();
        let first_class: Vec<bool> = (0..rows.len()).map(|k| k < negative.len()).collect();
        let solution = solve(limits, row_steps, kernel, &rows, &first_class)?;
        shuffler.restart();
        for &k in held_out {
            let values = &prediction_kernel[pair.rows[k] * kernel.n..][..kernel.n];
            let sum = rows
                .iter()
                .zip(&solution.signed_alpha)
                .fold(0.0, |sum, (&row, alpha)| sum + alpha * values[row]);
            decisions[k] = -(sum - solution.rho);
        }
    }
    Ok(Arch::new().dispatch(FitSigmoid {
        decisions: &decisions,
        n_positive: pair.n_positive,
    }))
}

/// The sums of one Newton step: Hessian and gradient of the negative log likelihood.
struct NewtonSums {
    h11: f64,
    h22: f64,
    h21: f64,
    g1: f64,
    g2: f64,
}

/// The fit of one sigmoid, dispatched because the exponential is slow without fused operations.
struct FitSigmoid<'a> {
    decisions: &'a [f64],
    n_positive: usize,
}

impl WithSimd for FitSigmoid<'_> {
    type Output = Sigmoid;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Sigmoid {
        fit_sigmoid(self.decisions, self.n_positive)
    }
}

/// Fits the sigmoid by Newton's method with backtracking; the first `n_positive` are positive.
///
/// # Source
/// Lin, Lin and Weng, "A note on Platt's probabilistic outputs for support vector machines",
/// Machine Learning 68 (2007), algorithm 1, with the constants of LIBSVM.
#[inline(always)]
fn fit_sigmoid(decisions: &[f64], n_positive: usize) -> Sigmoid {
    const MAX_ITERATIONS: usize = 100;
    const MIN_STEP: f64 = 1e-10;
    const GRADIENT_TOLERANCE: f64 = 1e-5;
    let positives = n_positive as f64;
    let negatives = (decisions.len() - n_positive) as f64;
    let high = (positives + 1.0) / (positives + 2.0);
    let low = 1.0 / (negatives + 2.0);
    let target = |k: usize| if k < n_positive { high } else { low };
    let loss = |s: Sigmoid| {
        decisions.iter().enumerate().fold(0.0, |sum, (k, f)| {
            let z = f * s.a + s.b;
            let slope = if z >= 0.0 { target(k) } else { target(k) - 1.0 };
            sum + (slope * z + libm::log(1.0 + exp(-z.abs())))
        })
    };

    let mut sigmoid = Sigmoid {
        a: 0.0,
        b: libm::log((negatives + 1.0) / (positives + 1.0)),
    };
    let mut value = loss(sigmoid);
    for _ in 0..MAX_ITERATIONS {
        let sums = newton_sums(decisions, sigmoid, target);
        if sums.g1.abs() < GRADIENT_TOLERANCE && sums.g2.abs() < GRADIENT_TOLERANCE {
            break;
        }
        let NewtonSums {
            h11,
            h22,
            h21,
            g1,
            g2,
        } = sums;
        let determinant = h11 * h22 - h21 * h21;
        let da = -(h22 * g1 - h21 * g2) / determinant;
        let db = -(-h21 * g1 + h11 * g2) / determinant;
        let descent = g1 * da + g2 * db;
        let mut step = 1.0;
        while step >= MIN_STEP {
            let trial = Sigmoid {
                a: sigmoid.a + step * da,
                b: sigmoid.b + step * db,
            };
            let trial_value = loss(trial);
            if trial_value < value + 0.0001 * step * descent {
                (sigmoid, value) = (trial, trial_value);
                break;
            }
            step /= 2.0;
        }
        if step < MIN_STEP {
            break;
        }
    }
    sigmoid
}

#[inline(always)]
fn newton_sums(decisions: &[f64], s: Sigmoid, target: impl Fn(usize) -> f64) -> NewtonSums {
    /// Keeps the Hessian positive definite.
    const RIDGE: f64 = 1e-12;
    let mut sums = NewtonSums {
        h11: RIDGE,
        h22: RIDGE,
        h21: 0.0,
        g1: 0.0,
        g2: 0.0,
    };
    for (k, &f) in decisions.iter().enumerate() {
        let z = f * s.a + s.b;
        let e = exp(-z.abs());
        let (small, large) = (e / (1.0 + e), 1.0 / (1.0 + e));
        let (p, q) = if z >= 0.0 { (small, large) } else { (large, small) };
        let weight = p * q;
        let residual = target(k) - p;
        sums.h11 += f * f * weight;
        sums.h22 += weight;
        sums.h21 += f * weight;
        sums.g1 += f * residual;
        sums.g2 += residual;
    }
    sums
}
