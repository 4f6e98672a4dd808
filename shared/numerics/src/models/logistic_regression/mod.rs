//! Logistic regression: scikit-learn 1.2.2's `LogisticRegression(C, max_iter, tol)`.
//!
//! Two classes share one weight vector; more have one each under a softmax. The penalty is
//! `|w|^2 / 2C`, the intercept goes free, and the fit stops where L-BFGS stops there.

mod objective;
mod sparse;

pub use sparse::SparseLogistic;

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use self::objective::{Objective, Point};
use super::lbfgs::{Minimizer, Stopping};
use super::{FitError, Labels, check_finite, check_labels};
use crate::numbers::Numbers;
use crate::simd::vector::max_abs;
use crate::simd::{exp, vector};

/// The number of fits that go on side by side: the weights and gradients in use stay in the first-level cache together with a few
/// rows.
const SIDE_BY_SIDE: usize = 4;

/// The parameters of the fit, under scikit-learn's names.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogisticSettings {
    /// The inverse of the penalty's strength, above 0.
    #[serde(rename = "C")]
    pub c: f64,
    /// The most iterations.
    pub max_iter: usize,
    /// The fit stops when no component of the gradient is larger than this.
    pub tol: f64,
}

impl Default for LogisticSettings {
    fn default() -> Self {
        let stopping = Stopping::default();
        Self {
            c: 1.0,
            max_iter: stopping.max_iterations,
            tol: stopping.gradient_tolerance,
        }
    }
}

impl LogisticSettings {
    fn stopping(self) -> Stopping {
        Stopping {
            max_iterations: self.max_iter,
            gradient_tolerance: self.tol,
            ..Stopping::default()
        }
    }
}

/// A fitted logistic regression.
///
/// # Examples
/// ```
/// use dataperf_numerics::models::logistic_regression::LogisticRegression;
/// use ndarray::array;
/// let x = array![[-1.0], [-0.5], [0.5], [1.0]];
/// let model = LogisticRegression::fit(x.view(), &[0, 0, 1, 1])?;
/// assert_eq!(model.predict(array![[-2.0], [2.0]].view()), [0, 1]);
/// # Ok::<(), dataperf_numerics::models::FitError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LogisticRegression {
    classes: Vec<usize>,
    coefficients: Array2<f64>,
    intercepts: Vec<f64>,
    n_iter: usize,
}

impl LogisticRegression {
    /// Fits the model with scikit-learn's default parameters.
    ///
    /// # Shapes and units
    /// `x`: `(n_rows, n_features)`; `class_idx`: `(n_rows,)`, any labels.
    ///
    /// # Errors
    /// [`FitError`] if a value is not finite, if there are fewer than two classes, or if the shapes
    /// don't fit each other.
    ///
    /// # Source
    /// scikit-learn 1.2.2, `sklearn/linear_model/_logistic.py`, `_linear_loss.py` and
    /// `sklearn/_loss/_loss.pyx.tp`.
    pub fn fit(x: ArrayView2<f64>, class_idx: &[usize]) -> Result<Self, FitError> {
        Self::fit_with(LogisticSettings::default(), x, class_idx)
    }

    /// [`fit`](Self::fit) with parameters.
    ///
    /// # Errors
    /// As [`fit`](Self::fit).
    pub fn fit_with(
        settings: LogisticSettings,
        x: ArrayView2<f64>,
        class_idx: &[usize],
    ) -> Result<Self, FitError> {
        let standard = x.as_standard_layout();
        let numbers = Numbers::F64(standard.as_slice().unwrap_or_default());
        let is_flat = |gradient: &[f64]| max_abs(gradient) <= settings.tol;
        Self::fit_until(is_flat, settings, numbers, x.ncols(), class_idx)
    }

    /// Fits the model to rows of `n_features` numbers in stored form. The result is the same: for floats to the last bit, for
    /// decimals up to rounding.
    ///
    /// # Shapes and units
    /// `x`: `(n_rows, n_features)`, row after row; `class_idx`: `(n_rows,)`, any labels.
    ///
    /// # Errors
    /// As [`fit`](Self::fit).
    pub fn fit_stored(x: Numbers<'_>, n_features: usize, class_idx: &[usize]) -> Result<Self, FitError> {
        let settings = LogisticSettings::default();
        let is_flat = |gradient: &[f64]| max_abs(gradient) <= settings.tol;
        Self::fit_until(is_flat, settings, x, n_features, class_idx)
    }

    /// [`fit_stored`](Self::fit_stored) with `is_flat`, which says whether the fit stops at a gradient. A gradient is stored vector
    /// after vector, with the intercept's component last in each.
    pub(super) fn fit_until(
        is_flat: impl Fn(&[f64]) -> bool,
        settings: LogisticSettings,
        x: Numbers<'_>,
        n_features: usize,
        class_idx: &[usize],
    ) -> Result<Self, FitError> {
        let labels = check_labels(x.len() / n_features.max(1), n_features, class_idx)?;
        check_finite(x, n_features)?;
        let mut fitted = fit_side_by_side(&is_flat, settings, x, n_features, vec![labels]);
        fitted.pop().ok_or(FitError::TooFewClasses { n_classes: 0 })
    }

    /// Fits a model to each of several label vectors for the same rows. Each model equals that of [`fit_with`](Self::fit_with) to
    /// the last bit; fitting them together takes less time, since rows are read once for several.
    ///
    /// # Shapes and units
    /// `x`: `(n_rows, n_features)`; `labels`: label vectors, each `(n_rows,)`.
    ///
    /// # Errors
    /// As [`fit_with`](Self::fit_with), for the first label vector that can't be fitted.
    pub fn fit_all(
        settings: LogisticSettings,
        x: ArrayView2<f64>,
        labels: &[&[usize]],
    ) -> Result<Vec<Self>, FitError> {
        let (n_rows, n_features) = x.dim();
        let standard = x.as_standard_layout();
        let numbers = Numbers::F64(standard.as_slice().unwrap_or_default());
        let checked = labels
            .iter()
            .map(|labels| check_labels(n_rows, n_features, labels));
        let mut checked: Vec<Labels> = checked.collect::<Result<_, _>>()?;
        check_finite(numbers, n_features)?;
        let is_flat = |gradient: &[f64]| max_abs(gradient) <= settings.tol;
        let mut fitted = Vec::with_capacity(checked.len());
        while !checked.is_empty() {
            // label vectors next to each other that need the same number of weight vectors are fitted together
            let n = n_vectors(&checked[0]);
            let n_alike = checked.iter().take_while(|labels| n_vectors(labels) == n).count();
            let alike = checked.drain(..n_alike).collect();
            fitted.extend(fit_side_by_side(&is_flat, settings, numbers, n_features, alike));
        }
        Ok(fitted)
    }

    /// The model for rows in other coordinates, in which its weights are `coefficients`.
    pub(super) fn with_coefficients(self, coefficients: Array2<f64>) -> Self {
        Self { coefficients, ..self }
    }

    /// The classes, ascending.
    pub fn classes(&self) -> &[usize] {
        &self.classes
    }

    /// `(1, n_features)` for two classes, else `(n_classes, n_features)`.
    pub fn coefficients(&self) -> ArrayView2<'_, f64> {
        self.coefficients.view()
    }

    /// `(1,)` for two classes, else `(n_classes,)`.
    pub fn intercepts(&self) -> &[f64] {
        &self.intercepts
    }

    /// The number of iterations that the fit took.
    pub fn n_iter(&self) -> usize {
        self.n_iter
    }

    /// Linear scores: `(n_rows, 1)`, positive for the second class, or `(n_rows, n_classes)`.
    ///
    /// # Panics
    /// If the number of features is not that of the training set.
    pub fn decision(&self, rows: ArrayView2<f64>) -> Array2<f64> {
        assert_eq!(
            rows.ncols(),
            self.coefficients.ncols(),
            "features of rows and training set"
        );
        let rows = rows.as_standard_layout();
        Array2::from_shape_fn((rows.nrows(), self.intercepts.len()), |(row, v)| {
            let (row, weights) = (rows.row(row), self.coefficients.row(v));
            let (row, weights) = (row.to_slice(), weights.to_slice());
            vector::dot(row.unwrap_or_default(), weights.unwrap_or_default()) + self.intercepts[v]
        })
    }

    /// Class probabilities, `(n_rows, n_classes)`.
    ///
    /// # Panics
    /// If the number of features is not that of the training set.
    pub fn predict_proba(&self, rows: ArrayView2<f64>) -> Array2<f64> {
        let scores = self.decision(rows);
        let n_classes = self.classes.len();
        let mut all = Array2::zeros((scores.nrows(), n_classes));
        let (mut from, mut to) = (vec![0.0; scores.ncols()], vec![0.0; n_classes]);
        for (scores, mut probabilities) in scores.outer_iter().zip(all.outer_iter_mut()) {
            from.iter_mut().zip(scores).for_each(|(to, from)| *to = *from);
            probabilities_of(&from, &mut to, 1);
            probabilities
                .iter_mut()
                .zip(&to)
                .for_each(|(to, from)| *to = *from);
        }
        all
    }

    /// The most probable class of each row, `(n_rows,)`; the first one of equals.
    ///
    /// # Panics
    /// If the number of features is not that of the training set.
    pub fn predict(&self, rows: ArrayView2<f64>) -> Vec<usize> {
        let scores = self.decision(rows);
        let best = |scores: ndarray::ArrayView1<f64>| match scores.len() {
            1 => usize::from(scores[0] > 0.0),
            _ => (1..scores.len()).fold(0, |best, c| if scores[c] > scores[best] { c } else { best }),
        };
        scores
            .outer_iter()
            .map(|scores| self.classes[best(scores)])
            .collect()
    }
}

/// The number of weight vectors that the classes of these labels need.
fn n_vectors(labels: &Labels) -> usize {
    match labels.classes.len() {
        2 => 1,
        n_classes => n_classes,
    }
}

/// A fit in progress.
struct Fit<F> {
    /// The fit's place among all fits.
    nth: usize,
    labels: Labels,
    minimizer: Minimizer<F>,
    gradient: Vec<f64>,
}

/// Fits models to label vectors that need the same number of weight vectors, [`SIDE_BY_SIDE`] at a time.
fn fit_side_by_side<F: Fn(&[f64]) -> bool>(
    is_flat: &F,
    settings: LogisticSettings,
    x: Numbers<'_>,
    n_features: usize,
    all: Vec<Labels>,
) -> Vec<LogisticRegression> {
    let n_vectors = all.first().map_or(0, n_vectors);
    let objective = Objective {
        features: x,
        n_features,
        n_vectors,
        penalty: 1.0 / settings.c,
    };
    let n_parameters = n_vectors * (n_features + 1);
    let mut waiting = all.into_iter().enumerate();
    let (mut going, mut fitted) = (Vec::new(), Vec::new());
    loop {
        let next = waiting.by_ref().take(SIDE_BY_SIDE - going.len());
        going.extend(next.map(|(nth, labels)| Fit {
            nth,
            labels,
            minimizer: Minimizer::new(is_flat, vec![0.0; n_parameters], settings.stopping()),
            gradient: vec![0.0; n_parameters],
        }));
        if going.is_empty() {
            break;
        }
        let mut points: Vec<Point> = going.iter_mut().map(Fit::point).collect();
        objective.evaluate(&mut points);
        let values: Vec<f64> = points.iter().map(|point| point.value).collect();
        let mut values = values.into_iter();
        let ended = going.extract_if(.., |fit| {
            let value = values.next().unwrap_or(f64::NAN);
            fit.minimizer.advance(value, &fit.gradient)
        });
        fitted.extend(ended.map(|fit| (fit.nth, fit.fitted(n_features))));
    }
    fitted.sort_by_key(|(nth, _)| *nth);
    fitted.into_iter().map(|(_, fitted)| fitted).collect()
}

impl<F: Fn(&[f64]) -> bool> Fit<F> {
    fn point(&mut self) -> Point<'_> {
        Point {
            targets: &self.labels.local_idx,
            w: self.minimizer.point(),
            gradient: &mut self.gradient,
            value: 0.0,
        }
    }

    fn fitted(self, n_features: usize) -> LogisticRegression {
        let minimum = self.minimizer.end();
        let stride = n_features + 1;
        let coefficients = Array2::from_shape_fn((minimum.x.len() / stride, n_features), |(v, k)| {
            minimum.x[v * stride + k]
        });
        LogisticRegression {
            classes: self.labels.classes,
            coefficients,
            intercepts: minimum.x.chunks_exact(stride).map(|w| w[n_features]).collect(),
            n_iter: minimum.n_iter,
        }
    }
}

/// Turns linear scores into class probabilities, `n_rows` side by side.
///
/// `scores`: `(n_vectors, n_rows)`; `probabilities`: `(n_classes, n_rows)`.
#[inline(always)]
pub(crate) fn probabilities_of(scores: &[f64], probabilities: &mut [f64], n_rows: usize) {
    if scores.len() == n_rows {
        let (first, second) = probabilities.split_at_mut(n_rows);
        for ((score, first), second) in scores.iter().zip(first).zip(second) {
            *second = 1.0 / (1.0 + exp(-score));
            *first = 1.0 - *second;
        }
        return;
    }
    probabilities.copy_from_slice(scores);
    let n_classes = scores.len() / n_rows;
    for row in 0..n_rows {
        let mut largest = f64::NEG_INFINITY;
        for class in 0..n_classes {
            largest = largest.max(scores[class * n_rows + row]);
        }
        let mut sum = 0.0;
        for class in 0..n_classes {
            let e = exp(scores[class * n_rows + row] - largest);
            probabilities[class * n_rows + row] = e;
            sum += e;
        }
        for class in 0..n_classes {
            probabilities[class * n_rows + row] /= sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::mt19937::Mt19937;
    use crate::numbers::{Decimals, Stored};

    /// Rows of two classes that a line nearly separates, in decimals with `n_decimals` digits, and their labels.
    fn decimals(n_decimals: u32, n_features: usize) -> (Stored, Vec<usize>) {
        let mut generator = Mt19937::new(n_decimals + 1);
        let (mut whole, mut labels) = (Vec::new(), Vec::new());
        for _ in 0..90 {
            let row: Vec<i32> = (0..n_features)
                .map(|_| generator.below(2 * 10u32.pow(n_decimals)).cast_signed() - 10i32.pow(n_decimals))
                .collect();
            labels.push(usize::from(row[0] > row[1] || generator.below(9) == 0));
            whole.extend(row);
        }
        (
            Stored::Decimals(whole, Decimals::new(n_decimals).expect("few enough")),
            labels,
        )
    }

    /// The labels have two or three classes, of which some are missing, and some fits end before others.
    #[test]
    fn fits_side_by_side_are_those_alone() {
        let mut generator = Mt19937::new(5);
        for (n_rows, n_features) in [(6, 1), (70, 3), (203, 40)] {
            let x = Array2::from_shape_fn((n_rows, n_features), |_| f64::from(generator.below(1000)) / 300.0);
            let vectors: Vec<Vec<usize>> = (0..13)
                .map(|nth| {
                    let n_classes = if nth % 5 < 3 { 2 } else { 3 };
                    let drawn = (2..n_rows).map(|_| generator.below(n_classes) as usize);
                    [0, 1].into_iter().chain(drawn).collect()
                })
                .collect();
            let vectors: Vec<&[usize]> = vectors.iter().map(Vec::as_slice).collect();
            let settings = LogisticSettings {
                c: 3.0,
                ..LogisticSettings::default()
            };
            let alone = vectors
                .iter()
                .map(|labels| LogisticRegression::fit_with(settings, x.view(), labels));
            let alone: Vec<_> = alone.collect::<Result<_, _>>().expect("two classes");
            let together = LogisticRegression::fit_all(settings, x.view(), &vectors).expect("two classes");
            assert_eq!(together, alone, "{n_rows} x {n_features}");
        }
    }

    #[test]
    fn decimals_fit_as_the_floats_they_stand_for() {
        for n_features in [2, 7, 40, 77] {
            for n_decimals in [0, 1, 4, 8, 9] {
                let (stored, labels) = decimals(n_decimals, n_features);
                let floats = stored.view().to_f64();
                let fit = |x| LogisticRegression::fit_stored(x, n_features, &labels).expect("two classes");
                let (ours, theirs) = (fit(stored.view()), fit(Numbers::F64(&floats)));
                assert_eq!(ours.n_iter(), theirs.n_iter(), "{n_decimals} decimals");
                let scale = max_abs(theirs.coefficients().as_slice().expect("in order"));
                for (a, b) in ours.coefficients().iter().zip(theirs.coefficients()) {
                    assert!((a - b).abs() <= 1e-9 * scale, "{n_decimals} decimals: {a} {b}");
                }
                assert!((ours.intercepts()[0] - theirs.intercepts()[0]).abs() <= 1e-9 * scale);
            }
        }
    }
}
