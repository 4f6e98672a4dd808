//! Logistic regression for sparse rows.

use rayon::prelude::*;

use super::objective::{binary_loss, binary_slope, multinomial_loss};
use super::{Fit, LogisticSettings, Minimizer, n_vectors, probabilities_of};
use crate::models::{FitError, check_labels};
use crate::simd::vector::{self, max_abs, pairwise_sum};
use crate::sparse::SparseRows;

/// The number of rows or columns that are worth another thread.
const MIN_PER_THREAD: usize = 256;

/// A logistic regression that was fitted to sparse rows: scikit-learn 1.2.2's `LogisticRegression(C, max_iter, tol)` for the same rows.
/// Predictions are equal but where rounding decides. Probabilities differ by less than 1e-5 where both fits stop after as many iterations, and by
/// less than 1e-3 where rounding decides in which iteration the gradient is small enough.
///
/// Columns that no training row keeps have the weight 0, as in scikit-learn's fit, and are not stored.
///
/// # Examples
/// ```
/// use dataperf_numerics::models::logistic_regression::{LogisticSettings, SparseLogistic};
/// use dataperf_numerics::sparse::SparseRows;
/// let mut x = SparseRows::new(1000);
/// x.push([(3, 1.0)]);
/// x.push([(700, 1.0)]);
/// let model = SparseLogistic::fit(LogisticSettings::default(), &x, &[0, 1])?;
/// assert_eq!(model.predict(&x), [0, 1]);
/// # Ok::<(), dataperf_numerics::models::FitError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SparseLogistic {
    classes: Vec<usize>,
    columns: Vec<u32>,
    /// `(n_columns, n_vectors)`
    coefficients: Vec<f64>,
    /// `(n_vectors,)`
    intercepts: Vec<f64>,
    n_iter: usize,
}

impl SparseLogistic {
    /// Fits the model. The same bits come out on any number of threads.
    ///
    /// # Shapes and units
    /// `class_idx`: `(n_rows,)`, any labels.
    ///
    /// # Errors
    /// [`FitError`] if a value is not finite, if there are fewer than two classes, or if there is not one label a row.
    pub fn fit(settings: LogisticSettings, x: &SparseRows, class_idx: &[usize]) -> Result<Self, FitError> {
        let labels = check_labels(x.n_rows(), x.n_features(), class_idx)?;
        if let Some((row_idx, feature_idx, value)) = x.first_not_finite() {
            return Err(FitError::NotFinite {
                row_idx,
                feature_idx,
                value,
            });
        }
        let (columns, by_column) = x.by_column();
        let objective = Objective::new(x, &columns, by_column, n_vectors(&labels), 1.0 / settings.c);
        let n_parameters = objective.n_vectors * (columns.len() + 1);
        let is_flat = |gradient: &[f64]| max_abs(gradient) <= settings.tol;
        let mut fit = Fit {
            nth: 0,
            labels,
            minimizer: Minimizer::new(is_flat, vec![0.0; n_parameters], settings.stopping()),
            gradient: vec![0.0; n_parameters],
        };
        loop {
            let targets = &fit.labels.local_idx;
            let value = objective.evaluate(targets, fit.minimizer.point(), &mut fit.gradient);
            if fit.minimizer.advance(value, &fit.gradient) {
                break;
            }
        }
        let minimum = fit.minimizer.end();
        let (coefficients, intercepts) = minimum.x.split_at(objective.n_vectors * columns.len());
        Ok(Self {
            classes: fit.labels.classes,
            coefficients: coefficients.to_vec(),
            intercepts: intercepts.to_vec(),
            columns,
            n_iter: minimum.n_iter,
        })
    }

    /// A model from stored numbers, with classes numbered from 0. `None` if they are no valid model: fewer than two classes,
    /// columns that do not ascend, lengths that do not fit, or a number that is not finite.
    ///
    /// # Shapes and units
    /// `columns`: `(n_columns,)`; `coefficients`: `(n_columns, n_vectors)`; `intercepts`: `(n_vectors,)`. There is one vector for
    /// two classes, else one for each class.
    pub fn of_parts(
        n_classes: usize,
        columns: Vec<u32>,
        coefficients: Vec<f64>,
        intercepts: Vec<f64>,
    ) -> Option<Self> {
        let n_vectors = if n_classes == 2 { 1 } else { n_classes };
        let is_whole = n_classes >= 2
            && intercepts.len() == n_vectors
            && columns.len().checked_mul(n_vectors) == Some(coefficients.len())
            && columns.is_sorted_by(|a, b| a < b)
            && coefficients.iter().chain(&intercepts).all(|w| w.is_finite());
        is_whole.then(|| Self {
            classes: (0..n_classes).collect(),
            columns,
            coefficients,
            intercepts,
            n_iter: 0,
        })
    }

    /// The classes, ascending.
    pub fn classes(&self) -> &[usize] {
        &self.classes
    }

    /// The columns that have weights, ascending.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// The weights of the columns, `(n_columns, n_vectors)`, row after row: one vector for two classes, else one for each class.
    pub fn coefficients(&self) -> &[f64] {
        &self.coefficients
    }

    /// `(n_vectors,)`
    pub fn intercepts(&self) -> &[f64] {
        &self.intercepts
    }

    /// The number of iterations that the fit took.
    pub fn n_iter(&self) -> usize {
        self.n_iter
    }

    /// The linear scores of one row, `(n_vectors,)`.
    pub fn decision(&self, row: impl IntoIterator<Item = (u32, f64)>) -> Vec<f64> {
        let n_vectors = self.intercepts.len();
        let mut scores = vec![0.0; n_vectors];
        for (column, value) in row {
            if let Ok(at) = self.columns.binary_search(&column) {
                let weights = &self.coefficients[at * n_vectors..][..n_vectors];
                scores
                    .iter_mut()
                    .zip(weights)
                    .for_each(|(score, w)| *score += value * w);
            }
        }
        scores
            .iter_mut()
            .zip(&self.intercepts)
            .for_each(|(score, intercept)| *score += intercept);
        scores
    }

    /// The class probabilities of one row, `(n_classes,)`.
    pub fn probabilities(&self, row: impl IntoIterator<Item = (u32, f64)>) -> Vec<f64> {
        let mut probabilities = vec![0.0; self.classes.len()];
        probabilities_of(&self.decision(row), &mut probabilities, 1);
        probabilities
    }

    /// The most probable class of each row, `(n_rows,)`; the first one of equals.
    pub fn predict(&self, rows: &SparseRows) -> Vec<usize> {
        let class = |row| match self.decision(rows.row(row))[..] {
            [score] => usize::from(score > 0.0),
            ref scores => {
                (1..scores.len()).fold(0, |best, c| if scores[c] > scores[best] { c } else { best })
            }
        };
        (0..rows.n_rows()).map(|row| self.classes[class(row)]).collect()
    }
}

/// The penalised loss of sparse rows, and its gradient. Parameters are stored column after column, with one number for each vector,
/// and the intercepts last.
struct Objective {
    n_vectors: usize,
    n_columns: usize,
    penalty: f64,
    /// For each row the places of its columns, ascending, and their values.
    rows: Vec<Vec<(u32, f64)>>,
    by_column: Vec<Vec<(u32, f64)>>,
}

impl Objective {
    fn new(
        x: &SparseRows,
        columns: &[u32],
        by_column: Vec<Vec<(u32, f64)>>,
        n_vectors: usize,
        penalty: f64,
    ) -> Self {
        let place = |column| columns.partition_point(|&known| known < column) as u32;
        let placed = |row| x.row(row).map(|(column, value)| (place(column), value)).collect();
        Self {
            n_vectors,
            n_columns: columns.len(),
            penalty,
            rows: (0..x.n_rows()).map(placed).collect(),
            by_column,
        }
    }

    /// The loss at `w`; overwrites the gradient. Each number of both is added up in a fixed order by one thread.
    fn evaluate(&self, targets: &[usize], w: &[f64], gradient: &mut [f64]) -> f64 {
        let n_vectors = self.n_vectors;
        let (weights, intercepts) = w.split_at(n_vectors * self.n_columns);
        let rows = self.rows.par_iter().zip(targets).with_min_len(MIN_PER_THREAD);
        let of_rows: Vec<(f64, Vec<f64>)> = rows
            .map(|(row, &target)| {
                let mut scores = vec![0.0; n_vectors];
                for &(place, value) in row {
                    let weights = &weights[place as usize * n_vectors..][..n_vectors];
                    scores
                        .iter_mut()
                        .zip(weights)
                        .for_each(|(score, w)| *score += value * w);
                }
                scores
                    .iter_mut()
                    .zip(intercepts)
                    .for_each(|(score, intercept)| *score += intercept);
                let loss = loss_and_slopes(&mut scores, target);
                (loss, scores)
            })
            .collect();
        let (of_weights, of_intercepts) = gradient.split_at_mut(n_vectors * self.n_columns);
        let columns = of_weights
            .par_chunks_exact_mut(n_vectors)
            .zip(&self.by_column)
            .zip(weights.par_chunks_exact(n_vectors));
        columns
            .with_min_len(MIN_PER_THREAD)
            .for_each(|((sums, entries), weights)| {
                sums.fill(0.0);
                for &(row, value) in entries {
                    let slopes = &of_rows[row as usize].1;
                    sums.iter_mut()
                        .zip(slopes)
                        .for_each(|(sum, slope)| *sum += value * slope);
                }
                sums.iter_mut()
                    .zip(weights)
                    .for_each(|(sum, w)| *sum += self.penalty * w);
            });
        of_intercepts.fill(0.0);
        for (_, slopes) in &of_rows {
            of_intercepts
                .iter_mut()
                .zip(slopes)
                .for_each(|(sum, slope)| *sum += slope);
        }
        let losses: Vec<f64> = of_rows.iter().map(|(loss, _)| *loss).collect();
        pairwise_sum(&losses) + 0.5 * self.penalty * vector::dot(weights, weights)
    }
}

/// The log loss of one row; replaces the scores by its derivatives by them.
fn loss_and_slopes(scores: &mut [f64], target: usize) -> f64 {
    match scores {
        [score] => {
            let (loss, target) = (binary_loss(*score, target as f64), target as f64);
            *score = binary_slope(*score, target);
            loss
        }
        scores => multinomial_loss(scores, target),
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::models::logistic_regression::LogisticRegression;
    use crate::models::mt19937::Mt19937;

    /// Rows in which most numbers are 0, in sparse and in full form.
    fn rows(n_rows: usize, n_features: usize, n_classes: u32) -> (SparseRows, Array2<f64>, Vec<usize>) {
        let mut generator = Mt19937::new(7);
        let (mut sparse, mut whole) = (SparseRows::new(n_features), Array2::zeros((n_rows, n_features)));
        let mut labels = Vec::new();
        for row in 0..n_rows {
            for column in 0..n_features {
                if generator.below(5) == 0 && column % 7 != 3 {
                    whole[(row, column)] = f64::from(generator.below(100)) / 40.0;
                }
            }
            let entries = (0..n_features).filter(|&column| whole[(row, column)] != 0.0);
            sparse.push(entries.map(|column| (column as u32, whole[(row, column)])));
            labels.push(generator.below(n_classes) as usize);
        }
        (sparse, whole, labels)
    }

    #[test]
    fn it_is_the_regression_of_whole_rows() {
        for n_classes in [2, 4] {
            let (sparse, whole, labels) = rows(300, 40, n_classes);
            let settings = LogisticSettings::default();
            let ours = SparseLogistic::fit(settings, &sparse, &labels).expect("classes");
            let dense = LogisticRegression::fit_with(settings, whole.view(), &labels).expect("classes");
            assert_eq!(ours.n_iter(), dense.n_iter());
            assert_eq!(ours.predict(&sparse), dense.predict(whole.view()));
            let theirs = dense.predict_proba(whole.view());
            for row in 0..300 {
                let ours = ours.probabilities(sparse.row(row));
                for (a, b) in ours.iter().zip(theirs.row(row)) {
                    assert!((a - b).abs() < 1e-9, "{a} {b}");
                }
            }
            assert!(ours.columns().iter().all(|column| column % 7 != 3));
        }
    }

    #[test]
    fn threads_change_no_bit() {
        let (sparse, _, labels) = rows(2000, 700, 3);
        let fitted = |n_threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build();
            pool.expect("threads")
                .install(|| SparseLogistic::fit(LogisticSettings::default(), &sparse, &labels))
        };
        assert_eq!(fitted(1), fitted(3));
    }

    #[test]
    fn unusable_training_data_are_refused() {
        let mut x = SparseRows::new(3);
        x.push([(0, 1.0), (2, f64::NAN)]);
        x.push([]);
        let fit = |labels: &[usize]| SparseLogistic::fit(LogisticSettings::default(), &x, labels);
        assert!(matches!(
            fit(&[0, 1]),
            Err(FitError::NotFinite {
                row_idx: 0,
                feature_idx: 2,
                ..
            })
        ));
        assert!(matches!(
            fit(&[1, 1]),
            Err(FitError::TooFewClasses { n_classes: 1 })
        ));
        assert!(matches!(
            fit(&[0]),
            Err(FitError::LabelCount {
                n_rows: 2,
                n_labels: 1
            })
        ));
    }
}
