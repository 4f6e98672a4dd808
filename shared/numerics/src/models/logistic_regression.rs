//! Logistic regression: scikit-learn 1.2.2's `LogisticRegression(C, max_iter, tol)`.
//!
//! Two classes share one weight vector; more have one each under a softmax. The penalty is
//! `|w|^2 / 2C`, the intercept goes free, and the fit stops where L-BFGS stops there.

use ndarray::{Array2, ArrayView2};
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::lbfgs::{Stopping, minimize_until};
use super::{FitError, check_finite, check_labels};
use crate::numbers::Numbers;
use crate::simd::aligned::Aligned;
use crate::simd::vector::inline::{add_scaled_rows, dot_rows};
use crate::simd::vector::{max_abs, pairwise_sum};
use crate::simd::{exp, vector};

/// Rows whose loss and gradient are added up by one task; fixed, so that the number of threads
/// changes no bit.
const CHUNK_ROWS: usize = 64;
/// Chunks that are worth another thread.
const MIN_CHUNKS: usize = 4;
/// Rows that are multiplied together: of the features there are mostly, they stay in the first-level cache.
const ROWS_AT_ONCE: usize = 4;

/// The parameters of the fit, by the names that scikit-learn has for them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogisticSettings {
    /// The inverse of the penalty's strength, above 0.
    #[serde(rename = "C")]
    pub c: f64,
    /// Iterations at most.
    pub max_iter: usize,
    /// Stop when no component of the gradient is larger.
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

    /// As [`fit`](Self::fit), with parameters.
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

    /// Fits the model to rows of `n_features` as they are stored, with the same result: of floats to the last bit, of decimals
    /// but for rounding.
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

    /// As [`fit_stored`](Self::fit_stored), but `is_flat` says whether a gradient is small enough to stop at. It is laid
    /// out vector after vector, the intercept's component last in each.
    pub(super) fn fit_until(
        is_flat: impl Fn(&[f64]) -> bool,
        settings: LogisticSettings,
        x: Numbers<'_>,
        n_features: usize,
        class_idx: &[usize],
    ) -> Result<Self, FitError> {
        let labels = check_labels(x.len() / n_features.max(1), n_features, class_idx)?;
        check_finite(x, n_features)?;
        let n_vectors = if labels.classes.len() == 2 {
            1
        } else {
            labels.classes.len()
        };
        let objective = Objective {
            features: x,
            n_features,
            targets: &labels.local_idx,
            n_vectors,
            penalty: 1.0 / settings.c,
        };
        let start = vec![0.0; n_vectors * (n_features + 1)];
        let minimum = minimize_until(is_flat, start, settings.stopping(), |w, gradient| {
            objective.evaluate(w, gradient)
        });
        let vectors = minimum.x.chunks_exact(n_features + 1);
        let coefficients = Array2::from_shape_fn((n_vectors, n_features), |(v, k)| {
            minimum.x[v * (n_features + 1) + k]
        });
        let intercepts = vectors.map(|w| w[n_features]).collect();
        Ok(Self {
            classes: labels.classes,
            coefficients,
            intercepts,
            n_iter: minimum.n_iter,
        })
    }

    /// The same model for rows in other coordinates, in which its weights are `coefficients`.
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

    /// Iterations that the fit took.
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

/// The penalised loss and its gradient.
///
/// Parameters are vector after vector, the intercept last in each.
struct Objective<'a> {
    /// `(n_rows, n_features)`
    features: Numbers<'a>,
    n_features: usize,
    targets: &'a [usize],
    n_vectors: usize,
    /// The factor of the penalty, 1/C.
    penalty: f64,
}

impl Objective<'_> {
    fn evaluate(&self, w: &[f64], gradient: &mut [f64]) -> f64 {
        let chunks = self
            .targets
            .par_chunks(CHUNK_ROWS)
            .with_min_len(MIN_CHUNKS)
            .enumerate();
        let stride = self.n_features + 1;
        // Decimals go into the sums as the whole numbers they are stored as. To multiply the weights by their unit, and the
        // gradient, is the same up to rounding, which the order of a sum touches as well.
        let unit = self.features.unit();
        let mut w_copy = Aligned::copy_of(w);
        for w in w_copy.chunks_exact_mut(stride) {
            w[..self.n_features].iter_mut().for_each(|w| *w *= unit);
        }
        let partial: Vec<(Vec<f64>, Aligned)> = chunks
            .map(|(chunk, targets)| {
                let first_row = chunk * CHUNK_ROWS;
                Arch::new().dispatch(Chunk {
                    objective: self,
                    w: &w_copy,
                    first_row,
                    targets,
                })
            })
            .collect();
        gradient.fill(0.0);
        let mut losses = Vec::with_capacity(self.targets.len());
        for (chunk_losses, chunk_gradient) in &partial {
            losses.extend_from_slice(chunk_losses);
            gradient
                .iter_mut()
                .zip(chunk_gradient.iter())
                .for_each(|(sum, g)| *sum += g);
        }
        let mut squared_norm = 0.0;
        for (w, gradient) in w.chunks_exact(stride).zip(gradient.chunks_exact_mut(stride)) {
            let w = &w[..self.n_features];
            squared_norm += vector::dot(w, w);
            gradient
                .iter_mut()
                .zip(w)
                .for_each(|(g, w)| *g = *g * unit + self.penalty * w);
        }
        pairwise_sum(&losses) + 0.5 * self.penalty * squared_norm
    }
}

/// Some rows, whose losses and sum of gradients are wanted, without the penalty.
struct Chunk<'a> {
    objective: &'a Objective<'a>,
    w: &'a [f64],
    first_row: usize,
    targets: &'a [usize],
}

impl WithSimd for Chunk<'_> {
    type Output = (Vec<f64>, Aligned);

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let mut sums = Sums {
            gradient: Aligned::zeros(self.w.len()),
            losses: Vec::with_capacity(self.targets.len()),
            scores: vec![0.0; ROWS_AT_ONCE * self.objective.n_vectors],
        };
        let n_whole = self.targets.len() - self.targets.len() % ROWS_AT_ONCE;
        for row in (0..n_whole).step_by(ROWS_AT_ONCE) {
            self.add::<S, ROWS_AT_ONCE>(simd, row, &mut sums);
        }
        for row in n_whole..self.targets.len() {
            self.add::<S, 1>(simd, row, &mut sums);
        }
        if self.objective.n_vectors == 1 {
            // all at once, since nothing waits for them
            for (score, &target) in sums.losses.iter_mut().zip(self.targets) {
                *score = binary_loss(*score, target as f64);
            }
        }
        (sums.losses, sums.gradient)
    }
}

/// What a chunk adds up, and its working memory.
struct Sums {
    gradient: Aligned,
    losses: Vec<f64>,
    /// `(N, n_vectors)`
    scores: Vec<f64>,
}

impl Chunk<'_> {
    /// Adds `N` rows from the chunk's `row` on.
    #[inline(always)]
    fn add<S: Simd, const N: usize>(&self, simd: S, row: usize, sums: &mut Sums) {
        let n_features = self.objective.n_features;
        let first = (self.first_row + row) * n_features;
        match self.objective.features.part(first, N * n_features) {
            Numbers::F64(all) => self.add_numbers::<S, f64, N>(simd, row, all, sums),
            Numbers::F32(all) => self.add_numbers::<S, f32, N>(simd, row, all, sums),
            Numbers::Decimals(all, _) => self.add_numbers::<S, i32, N>(simd, row, all, sums),
        }
    }

    /// As [`add`](Self::add), for rows that are stored as `T`. They come from memory once, and the weights and the gradient from the
    /// cache once for all of them; each row's sums are those of a row on its own.
    #[inline(always)]
    fn add_numbers<S: Simd, T: Copy + Into<f64>, const N: usize>(
        &self,
        simd: S,
        row: usize,
        features: &[T],
        sums: &mut Sums,
    ) {
        let Objective {
            n_features,
            n_vectors,
            ..
        } = *self.objective;
        let stride = n_features + 1;
        let rows: [&[T]; N] = std::array::from_fn(|r| &features[r * n_features..][..n_features]);
        for (v, w) in self.w.chunks_exact(stride).enumerate() {
            let products = dot_rows(simd, rows, &w[..n_features]);
            for (r, product) in products.into_iter().enumerate() {
                sums.scores[r * n_vectors + v] = product + w[n_features];
            }
        }
        // the scores become the gradients by the scores
        let targets = &self.targets[row..row + N];
        if n_vectors == 1 {
            sums.losses.extend_from_slice(&sums.scores[..N]); // see `with_simd`
            for (score, &target) in sums.scores.iter_mut().zip(targets) {
                *score = binary_slope(*score, target as f64);
            }
        } else {
            for (scores, &target) in sums.scores.chunks_exact_mut(n_vectors).zip(targets) {
                sums.losses.push(multinomial_loss(scores, target));
            }
        }
        for (v, gradient) in sums.gradient.chunks_exact_mut(stride).enumerate() {
            let slopes: [f64; N] = std::array::from_fn(|r| sums.scores[r * n_vectors + v]);
            add_scaled_rows(simd, &mut gradient[..n_features], slopes, rows);
            for slope in slopes {
                gradient[n_features] += slope;
            }
        }
    }
}

/// The log loss of one row of two classes with the score `z`, without a branch.
#[inline(always)]
fn binary_loss(z: f64, target: f64) -> f64 {
    let e = exp(-z.abs());
    // log(1 + e) is e itself where the library treats it so
    let log_term = if z <= -37.0 || z > 18.0 { e } else { log1p(e) };
    if z <= 0.0 {
        log_term - target * z
    } else {
        log_term + (1.0 - target) * z
    }
}

/// The derivative of [`binary_loss`] by the score, without a branch.
#[inline(always)]
fn binary_slope(z: f64, target: f64) -> f64 {
    let e = exp(-z.abs());
    let (of_one, of_e) = if z <= 0.0 {
        (-target, 1.0 - target)
    } else {
        (1.0 - target, -target)
    };
    (of_one + of_e * e) / (1.0 + e)
}

/// `log(1 + e)` for `e` from 0 to 1, within a few units in the last place, without a branch.
///
/// With `s = e / (2 + e)` it is `2 atanh(s)`, whose series in `s^2 <= 1/9` needs 17 terms for 53 bits.
#[inline(always)]
fn log1p(e: f64) -> f64 {
    const N_TERMS: usize = 17;
    const TERMS: [f64; N_TERMS] = {
        let mut terms = [0.0; N_TERMS];
        let mut k = 0;
        while k < N_TERMS {
            terms[k] = 2.0 / (2 * k + 3) as f64;
            k += 1;
        }
        terms
    };
    let s = e / (2.0 + e);
    let square = s * s;
    // even and odd terms are two chains, half as long
    let fourth = square * square;
    let (mut even, mut odd) = (TERMS[N_TERMS - 1], 0.0f64);
    for pair in TERMS[..N_TERMS - 1].as_chunks::<2>().0.iter().rev() {
        odd = odd.mul_add(fourth, pair[1]);
        even = even.mul_add(fourth, pair[0]);
    }
    2.0f64.mul_add(s, s * square * odd.mul_add(square, even))
}

/// The log loss of one row of more classes; replaces the scores by the gradient.
#[inline(always)]
fn multinomial_loss(scores: &mut [f64], target: usize) -> f64 {
    let largest = scores.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
    let target_score = scores[target];
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        *score = exp(*score - largest);
        sum += *score;
    }
    for score in scores.iter_mut() {
        *score /= sum;
    }
    scores[target] -= 1.0;
    libm::log(sum) + largest - target_score
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::mt19937::Mt19937;
    use crate::numbers::{Decimals, Stored};

    /// Rows that a line nearly parts, in numbers of `n_decimals`, and their labels.
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
