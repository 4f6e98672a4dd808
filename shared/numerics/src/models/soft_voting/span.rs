//! Logistic regression in the span of its training rows.
//!
//! A fit that starts at zero never leaves the span of its training rows, and neither the loss nor L-BFGS changes when
//! the axes turn. So a fit to few long rows can be done in as many coordinates as there are rows; its product with any
//! row then follows from the training rows' products, which the support vectors need anyway. Only the last digits
//! differ from a fit in the rows' own coordinates.

use ndarray::Array2;

use crate::models::FitError;
use crate::models::logistic_regression::{LogisticRegression, LogisticSettings};
use crate::numbers::Numbers;
use crate::simd::vector::{add_scaled, dot, max_abs};

/// A row counts as dependent on the rows before it if its squared distance from their span is below this share of its squared
/// length.
const MIN_PIVOT: f64 = 1e-6;

/// The span of independent rows, with the orthonormal basis of Gram and Schmidt.
pub(super) struct Span<'a> {
    rows: Vec<&'a [f64]>,
    /// `(n_rows, n_rows)`: the rows' coordinates, lower triangular. It is the Cholesky factor of their inner products.
    coordinates: Array2<f64>,
}

impl<'a> Span<'a> {
    /// The span of the rows of `x`, `(n_rows, n_features)`; `None` if they are dependent, or nearly so.
    pub(super) fn new(x: &'a Array2<f64>) -> Option<Self> {
        let rows: Vec<&[f64]> = x.outer_iter().map(|row| row.to_slice()).collect::<Option<_>>()?;
        let n = rows.len();
        let mut coordinates = Array2::<f64>::zeros((n, n));
        for i in 0..n {
            for j in 0..=i {
                let product = dot(rows[i], rows[j]);
                let (known, earlier) = (coordinates.row(i), coordinates.row(j));
                let known: f64 = (0..j).map(|k| known[k] * earlier[k]).sum();
                let left = product - known;
                if i != j {
                    coordinates[[i, j]] = left / coordinates[[j, j]];
                } else if left > MIN_PIVOT * product {
                    coordinates[[i, i]] = left.sqrt();
                } else {
                    return None;
                }
            }
        }
        Some(Self { rows, coordinates })
    }

    /// Fits the model; gives it with weights in the rows' own coordinates, and the factors `(n_vectors, n_rows)` with
    /// which the rows add up to those weights.
    pub(super) fn fit(&self, class_idx: &[usize]) -> Result<(LogisticRegression, Array2<f64>), FitError> {
        let n = self.rows.len();
        let settings = LogisticSettings::default();
        let limit = settings.tol;
        let is_flat = |gradient: &[f64]| {
            let mut vectors = gradient.chunks_exact(n + 1);
            vectors.all(|of_vector| of_vector[n].abs() <= limit && self.is_within(&of_vector[..n], limit))
        };
        let numbers = Numbers::F64(self.coordinates.as_slice().unwrap_or_default());
        let turned = LogisticRegression::fit_until(is_flat, settings, numbers, n, class_idx)?;
        let n_features = self.rows.first().map_or(0, |row| row.len());
        let n_vectors = turned.intercepts().len();
        let mut factors = Array2::zeros((n_vectors, n));
        let mut weights = Array2::zeros((n_vectors, n_features));
        for (v, vector) in turned.coefficients().outer_iter().enumerate() {
            let of_vector = self.factors(vector.to_slice().unwrap_or_default());
            weights.row_mut(v).assign(&ndarray::aview1(&self.sum(&of_vector)));
            factors.row_mut(v).assign(&ndarray::aview1(&of_vector));
        }
        Ok((turned.with_coefficients(weights), factors))
    }

    /// Whether no component of a vector, given by its coordinates, is larger than `limit` in the rows' own coordinates.
    fn is_within(&self, coordinates: &[f64], limit: f64) -> bool {
        let length = dot(coordinates, coordinates).sqrt();
        let n_features = self.rows.first().map_or(0, |row| row.len());
        // the largest component of a vector lies between its length over the root of their number, and its length
        if length <= limit || length > limit * (n_features as f64).sqrt() {
            return length <= limit;
        }
        max_abs(&self.sum(&self.factors(coordinates))) <= limit
    }

    /// The factors by which the rows add up to a vector.
    fn factors(&self, coordinates: &[f64]) -> Vec<f64> {
        let mut factors = coordinates.to_vec();
        for i in (0..factors.len()).rev() {
            let row = self.coordinates.row(i);
            factors[i] /= row[i];
            let (before, from) = factors.split_at_mut(i);
            before
                .iter_mut()
                .zip(row)
                .for_each(|(left, known)| *left -= from[0] * known);
        }
        factors
    }

    /// The sum of the rows, each multiplied by its factor.
    fn sum(&self, factors: &[f64]) -> Vec<f64> {
        let mut sum = vec![0.0; self.rows.first().map_or(0, |row| row.len())];
        for (row, &factor) in self.rows.iter().zip(factors) {
            add_scaled(&mut sum, factor, row);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use ndarray::s;

    use super::*;

    fn rows(n: usize, n_features: usize) -> Array2<f64> {
        Array2::from_shape_fn((n, n_features), |(i, k)| {
            ((i * 7919 + k * 104_729 + i * k * 31) % 1009) as f64 / 500.0 - 1.0 + (i % 3) as f64 * 0.2
        })
    }

    #[test]
    fn the_fit_matches_the_rows_own_coordinates() {
        for (n, n_features, n_classes) in [(20, 60, 3), (31, 139, 5), (12, 40, 2), (60, 256, 6)] {
            let x = rows(n, n_features);
            let labels: Vec<usize> = (0..n).map(|row| row % n_classes).collect();
            let expected = LogisticRegression::fit(x.view(), &labels).unwrap();
            let (fitted, factors) = Span::new(&x).unwrap().fit(&labels).unwrap();
            assert_eq!(fitted.n_iter(), expected.n_iter(), "{n} x {n_features}");
            assert_eq!(fitted.classes(), expected.classes());
            let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-7, "{a} instead of {b}");
            for (&fitted, &expected) in fitted.coefficients().iter().zip(expected.coefficients()) {
                close(fitted, expected);
            }
            for (&fitted, &expected) in fitted.intercepts().iter().zip(expected.intercepts()) {
                close(fitted, expected);
            }
            for (&sum, &weight) in factors.dot(&x).iter().zip(fitted.coefficients()) {
                close(sum, weight);
            }
        }
    }

    #[test]
    fn dependent_rows_have_no_basis() {
        let x = rows(8, 20);
        assert!(Span::new(&x).is_some());
        let mut twice = x.clone();
        twice.row_mut(5).assign(&x.slice(s![1, ..]));
        assert!(Span::new(&twice).is_none());
        assert!(Span::new(&rows(9, 5)).is_none(), "more rows than features");
    }
}
