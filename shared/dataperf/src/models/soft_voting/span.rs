//! Weights as sums of training rows.
//!
//! A logistic regression that starts at zero never leaves the span of its training rows, so its product with any row
//! follows from the training rows' products, which the support vectors need anyway.

use ndarray::{Array2, ArrayView2};

use crate::simd::vector::{add_scaled, dot};

/// A pivot that is this small beside its row's squared length means that the rows depend on each other.
const MIN_PIVOT: f64 = 1e-9;
/// The largest error of the sums, beside the largest weight.
const MAX_ERROR: f64 = 1e-11;

/// The coefficients `(n_vectors, n_rows)` with which the rows of `x`, `(n_rows, n_features)`, add up to `weights`,
/// `(n_vectors, n_features)`. `None` when the rows depend on each other or don't span the weights.
pub(super) fn coefficients(x: ArrayView2<f64>, weights: ArrayView2<f64>) -> Option<Array2<f64>> {
    let rows: Vec<&[f64]> = x.outer_iter().map(|row| row.to_slice()).collect::<Option<_>>()?;
    let factor = cholesky(&rows)?;
    let n = rows.len();
    let mut all = Array2::zeros((weights.nrows(), n));
    for (w, mut coefficients) in weights.outer_iter().zip(all.outer_iter_mut()) {
        let w = w.to_slice()?;
        let mut solution: Vec<f64> = rows.iter().map(|row| dot(row, w)).collect();
        for i in 0..n {
            let known: f64 = (0..i).map(|k| factor[[i, k]] * solution[k]).sum();
            solution[i] = (solution[i] - known) / factor[[i, i]];
        }
        for i in (0..n).rev() {
            let known: f64 = (i + 1..n).map(|k| factor[[k, i]] * solution[k]).sum();
            solution[i] = (solution[i] - known) / factor[[i, i]];
        }
        let mut left = w.to_vec();
        for (row, coefficient) in rows.iter().zip(&solution) {
            add_scaled(&mut left, -coefficient, row);
        }
        let largest = |values: &[f64]| values.iter().fold(0.0, |max: f64, value| max.max(value.abs()));
        if largest(&left) > MAX_ERROR * largest(w) {
            return None;
        }
        coefficients.assign(&ndarray::aview1(&solution));
    }
    Some(all)
}

/// The lower Cholesky factor of the rows' inner products.
fn cholesky(rows: &[&[f64]]) -> Option<Array2<f64>> {
    let n = rows.len();
    let mut factor = Array2::zeros((n, n));
    for i in 0..n {
        for j in 0..=i {
            let product = dot(rows[i], rows[j]);
            let known: f64 = (0..j).map(|k| factor[[i, k]] * factor[[j, k]]).sum();
            let rest = product - known;
            if i != j {
                factor[[i, j]] = rest / factor[[j, j]];
            } else if rest > MIN_PIVOT * product {
                factor[[i, i]] = rest.sqrt();
            } else {
                return None;
            }
        }
    }
    Some(factor)
}

#[cfg(test)]
mod tests {
    use ndarray::{array, s};

    use super::*;

    #[test]
    fn sums_are_found_where_there_are_any() {
        let x = Array2::from_shape_fn((6, 20), |(i, k)| ((i * 31 + k * 17 + i * i * k) % 23) as f64);
        let wanted = array![[0.5, -1.0, 2.0, 0.0, 0.25, 3.0], [1.0, 0.0, 0.0, -2.0, 0.0, 0.0]];
        let found = coefficients(x.view(), wanted.dot(&x).view()).unwrap();
        for (found, wanted) in found.iter().zip(&wanted) {
            assert!((found - wanted).abs() < 1e-9, "{found} instead of {wanted}");
        }
        let mut outside = wanted.dot(&x);
        outside[[0, 3]] += 1.0;
        assert!(coefficients(x.view(), outside.view()).is_none());
        let mut twice = x.clone();
        twice.row_mut(4).assign(&x.slice(s![1, ..]));
        assert!(coefficients(twice.view(), wanted.dot(&x).view()).is_none());
    }
}
