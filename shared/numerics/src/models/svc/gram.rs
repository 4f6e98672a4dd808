//! The kernel matrix of a training set, which all fits to the same rows share.

use ndarray::ArrayView2;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::Kernel;
use super::solver::RoundedKernel;
use crate::models::{FitError, check_finite};
use crate::numbers::Numbers;
use crate::sharing::items_of_a_thread;
use crate::simd::exp;
use crate::simd::vector::inline::{dot, squared_distance};
use crate::simd::vector::pairwise_sum;

/// The kernel of every pair of rows of a training set.
#[derive(Debug)]
pub struct Gram {
    kernel: Kernel,
    gamma: f64,
    rounded: RoundedKernel,
    /// `(n_rows, n_rows)`, computed by the formula of prediction; empty unless probabilities are wanted.
    exact: Vec<f64>,
}

impl Gram {
    /// The matrix for a classifier that predicts by votes. It takes 4 bytes for each pair of rows.
    ///
    /// # Shapes and units
    /// `x`: `(n_rows, n_features)`.
    ///
    /// # Errors
    /// [`FitError`] if there are no features, or a value is not finite.
    pub fn for_votes(kernel: Kernel, x: ArrayView2<f64>) -> Result<Self, FitError> {
        Self::new(kernel, x, false)
    }

    /// The matrix for a classifier that gives probabilities as well. It takes 12 bytes for each pair of rows.
    ///
    /// # Errors
    /// As [`for_votes`](Self::for_votes).
    pub fn for_probabilities(kernel: Kernel, x: ArrayView2<f64>) -> Result<Self, FitError> {
        Self::new(kernel, x, true)
    }

    fn new(kernel: Kernel, x: ArrayView2<f64>, is_exact: bool) -> Result<Self, FitError> {
        let (n_rows, n_features) = x.dim();
        if n_features == 0 {
            return Err(FitError::NoFeatures);
        }
        let x = x.as_standard_layout();
        let features = x.as_slice().unwrap_or_default();
        check_finite(Numbers::F64(features), n_features)?;
        let gamma = scale_gamma(features, n_features);
        let rows: Vec<&[f64]> = features.chunks_exact(n_features).collect();
        let arch = Arch::new();
        let squares: Vec<f64> = arch.dispatch(Squares { rows: &rows });
        let row = |i: usize| Row {
            kernel,
            gamma,
            rows: &rows,
            squares: &squares,
            i,
        };
        let mut values = vec![0.0; n_rows * n_rows];
        let of_a_thread = items_of_a_thread(n_rows * n_features);
        let by_row = values.par_chunks_mut(n_rows.max(1)).enumerate();
        by_row
            .with_min_len(of_a_thread)
            .for_each(|(i, out)| arch.dispatch(Rounded { row: row(i), out }));
        let mut exact = vec![0.0; if is_exact { n_rows * n_rows } else { 0 }];
        let by_row = exact.par_chunks_mut(n_rows.max(1)).enumerate();
        by_row
            .with_min_len(of_a_thread)
            .for_each(|(i, out)| arch.dispatch(Exact { row: row(i), out }));
        mirror(&mut values, n_rows);
        if is_exact {
            mirror(&mut exact, n_rows);
        }
        let diagonal = match kernel {
            Kernel::Rbf => vec![1.0; n_rows],
            Kernel::Linear => squares,
        };
        Ok(Self {
            kernel,
            gamma,
            rounded: RoundedKernel {
                values,
                diagonal,
                n: n_rows,
            },
            exact,
        })
    }

    /// The number of rows of the training set.
    pub fn n_rows(&self) -> usize {
        self.rounded.n
    }

    pub(super) fn kernel(&self) -> Kernel {
        self.kernel
    }

    pub(super) fn gamma(&self) -> f64 {
        self.gamma
    }

    pub(super) fn rounded(&self) -> &RoundedKernel {
        &self.rounded
    }

    pub(super) fn exact(&self) -> &[f64] {
        &self.exact
    }
}

/// Copies the part to the left of the diagonal of a square matrix to the part to its right.
fn mirror<T: Copy>(values: &mut [T], n: usize) {
    for i in 0..n {
        for j in 0..i {
            values[j * n + i] = values[i * n + j];
        }
    }
}

/// `gamma="scale"`: one over the number of features times the variance of the whole matrix, or 1
/// if nothing varies.
fn scale_gamma(features: &[f64], n_features: usize) -> f64 {
    let n = features.len() as f64;
    let mean = pairwise_sum(features) / n;
    let squares: Vec<f64> = features.iter().map(|v| (v - mean) * (v - mean)).collect();
    let variance = pairwise_sum(&squares) / n;
    if variance == 0.0 {
        1.0
    } else {
        1.0 / (n_features as f64 * variance)
    }
}

/// The squared norm of each row.
struct Squares<'a> {
    rows: &'a [&'a [f64]],
}

impl WithSimd for Squares<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<f64> {
        let mut squares = vec![0.0; self.rows.len()];
        for (square, row) in squares.iter_mut().zip(self.rows) {
            *square = dot(simd, row, row);
        }
        squares
    }
}

/// A row of the matrix to be computed, up to the diagonal.
struct Row<'a> {
    kernel: Kernel,
    gamma: f64,
    rows: &'a [&'a [f64]],
    squares: &'a [f64],
    i: usize,
}

/// Computes a row by the formula of training, rounded.
struct Rounded<'a> {
    row: Row<'a>,
    out: &'a mut [f32],
}

impl WithSimd for Rounded<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Row {
            kernel,
            gamma,
            rows,
            squares,
            i,
        } = self.row;
        for (j, out) in self.out[..=i].iter_mut().enumerate() {
            let product = dot(simd, rows[i], rows[j]);
            let value = match kernel {
                Kernel::Rbf => exp(-gamma * (squares[i] + squares[j] - 2.0 * product)),
                Kernel::Linear => product,
            };
            *out = value as f32;
        }
    }
}

/// Computes a row by the formula of prediction.
struct Exact<'a> {
    row: Row<'a>,
    out: &'a mut [f64],
}

impl WithSimd for Exact<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Row {
            kernel,
            gamma,
            rows,
            i,
            ..
        } = self.row;
        for (j, out) in self.out[..=i].iter_mut().enumerate() {
            *out = match kernel {
                Kernel::Rbf => exp(-gamma * squared_distance(simd, rows[i], rows[j])),
                Kernel::Linear => dot(simd, rows[i], rows[j]),
            };
        }
    }
}
