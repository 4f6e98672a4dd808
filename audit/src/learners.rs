//! The two learners, and what they say of rows that they have not seen.

use linfa::prelude::{DatasetBase, Fit};
use linfa_logistic::MultiLogisticRegression;
use ndarray::{Array1, Array2, ArrayView2, Axis};
use rayon::prelude::*;
use serde::Serialize;
use smartcore::algorithm::neighbour::KNNAlgorithmName;
use smartcore::linalg::basic::matrix::DenseMatrix;
use smartcore::metrics::distance::euclidian::Euclidian;
use smartcore::neighbors::KNNWeightFunction;
use smartcore::neighbors::knn_classifier::{KNNClassifier, KNNClassifierParameters};

/// The number of nearest neighbours that decide on a row.
const N_NEIGHBOURS: usize = 10;
/// Rows for which one task looks up the neighbours.
const ROWS_AT_ONCE: usize = 64;
/// Steps of the logistic regression's optimizer.
const MAX_ITERATIONS: u64 = 100;

/// A learner with its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Learner {
    /// linfa-logistic's multinomial regression, with its default penalty.
    Logistic,
    /// smartcore's ten nearest neighbours, weighted by the inverse of their distance.
    Neighbours,
}

/// Both.
pub const LEARNERS: [Learner; 2] = [Learner::Logistic, Learner::Neighbours];

impl Learner {
    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Logistic => "logistic",
            Self::Neighbours => "neighbours",
        }
    }

    /// Its out-of-fold probabilities for each row: `(n_rows, n_classes)`, each row of which sums to
    /// 1.
    ///
    /// # Shapes and units
    /// `rows`: `(n_rows, n_features)`, finite; `labels`: `(n_rows,)`, below `n_classes`; `folds`: `(n_rows,)`.
    ///
    /// # Errors
    /// The library's error.
    pub(crate) fn out_of_sample(
        self,
        rows: ArrayView2<f64>,
        labels: &[usize],
        n_classes: usize,
        folds: &[usize],
    ) -> Result<Array2<f64>, String> {
        let n_folds = folds.iter().max().map_or(0, |last| last + 1);
        let of_fold = |fold: usize| {
            let places = |is_tested: bool| -> Vec<usize> {
                (0..labels.len())
                    .filter(|&row| (folds[row] == fold) == is_tested)
                    .collect()
            };
            let (train, test) = (places(false), places(true));
            let own: Vec<usize> = train.iter().map(|&row| labels[row]).collect();
            let seen = rows.select(Axis(0), &train);
            let scale = Scale::fit(&seen);
            let x = scale.apply(seen);
            let of_rows =
                self.probabilities(&x, &own, &scale.apply(rows.select(Axis(0), &test)), n_classes)?;
            Ok((test, of_rows))
        };
        let folds: Vec<(Vec<usize>, Array2<f64>)> = (0..n_folds)
            .into_par_iter()
            .map(of_fold)
            .collect::<Result<_, String>>()?;
        let mut all = Array2::zeros((labels.len(), n_classes));
        for (test, of_rows) in folds {
            for (row, probabilities) in test.into_iter().zip(of_rows.outer_iter()) {
                all.row_mut(row).assign(&probabilities);
            }
        }
        Ok(all)
    }

    /// Learns from `x` with `labels`, and gives the probabilities of `rows`, `(n_rows, n_classes)`; 0 for classes that no label has.
    fn probabilities(
        self,
        x: &Array2<f64>,
        labels: &[usize],
        rows: &Array2<f64>,
        n_classes: usize,
    ) -> Result<Array2<f64>, String> {
        let mut known: Vec<usize> = labels.to_vec();
        known.sort_unstable();
        known.dedup();
        let of_known = match (known.len(), self) {
            (0, _) => return Err("the data set has no rows".into()),
            (1, _) => Array2::ones((rows.nrows(), 1)),
            (_, Self::Logistic) => logistic(x, labels, rows, &known)?,
            (_, Self::Neighbours) => neighbours(x, labels, rows, &known)?,
        };
        if of_known.iter().any(|probability| !probability.is_finite()) {
            return Err(format!(
                "the {} learner gave a probability that is not finite",
                self.name()
            ));
        }
        let mut all = Array2::zeros((rows.nrows(), n_classes));
        for (column, &class) in known.iter().enumerate() {
            all.column_mut(class).assign(&of_known.column(column));
        }
        Ok(all)
    }
}

/// The mean and the spread of each column.
struct Scale {
    mean: Array1<f64>,
    deviation: Array1<f64>,
}

impl Scale {
    fn fit(rows: &Array2<f64>) -> Self {
        let mean = rows
            .mean_axis(Axis(0))
            .unwrap_or_else(|| Array1::zeros(rows.ncols()));
        let deviation = rows.std_axis(Axis(0), 0.0);
        Self { mean, deviation }
    }

    /// Columns of mean 0 and deviation 1; what does not vary is 0.
    fn apply(&self, mut rows: Array2<f64>) -> Array2<f64> {
        rows -= &self.mean;
        let inverse = self
            .deviation
            .mapv(|deviation| if deviation > 0.0 { 1.0 / deviation } else { 0.0 });
        rows *= &inverse;
        rows
    }
}

/// `(n_rows, n_known)`, by linfa-logistic.
fn logistic(
    x: &Array2<f64>,
    labels: &[usize],
    rows: &Array2<f64>,
    known: &[usize],
) -> Result<Array2<f64>, String> {
    let data = DatasetBase::new(x.clone(), Array1::from(labels.to_vec()));
    let model = MultiLogisticRegression::default()
        .max_iterations(MAX_ITERATIONS)
        .fit(&data);
    let model = model.map_err(|error| error.to_string())?;
    let predicted = model.predict_probabilities(rows);
    let columns: Vec<usize> = known
        .iter()
        .filter_map(|class| model.classes().iter().position(|of_model| of_model == class))
        .collect();
    Ok(predicted.select(Axis(1), &columns))
}

/// `(n_rows, n_known)`, by smartcore's neighbours.
fn neighbours(
    x: &Array2<f64>,
    labels: &[usize],
    rows: &Array2<f64>,
    known: &[usize],
) -> Result<Array2<f64>, String> {
    // smartcore numbers the classes in ascending order
    let of_known: Vec<u32> = labels
        .iter()
        .filter_map(|label| known.binary_search(label).ok())
        .map(|n| n as u32)
        .collect();
    let parameters = KNNClassifierParameters::default()
        .with_k(N_NEIGHBOURS.min(labels.len()))
        .with_algorithm(KNNAlgorithmName::LinearSearch)
        .with_weight(KNNWeightFunction::Distance)
        .with_distance(Euclidian::new());
    let model =
        KNNClassifier::fit(&dense(x.view())?, &of_known, parameters).map_err(|error| error.to_string())?;
    let chunks: Vec<ArrayView2<f64>> = rows.axis_chunks_iter(Axis(0), ROWS_AT_ONCE).collect();
    let predicted: Vec<Vec<Vec<f64>>> = chunks
        .into_par_iter()
        .map(|chunk| {
            model
                .predict_proba(&dense(chunk)?)
                .map_err(|error| error.to_string())
        })
        .collect::<Result<_, String>>()?;
    let predicted: Vec<f64> = predicted.into_iter().flatten().flatten().collect();
    Array2::from_shape_vec((rows.nrows(), known.len()), predicted).map_err(|error| error.to_string())
}

fn dense(x: ArrayView2<f64>) -> Result<DenseMatrix<f64>, String> {
    let (n_rows, n_columns) = x.dim();
    let values: Array2<f64> = x.as_standard_layout().into_owned();
    let dense = DenseMatrix::new(n_rows, n_columns, values.into_raw_vec_and_offset().0, false);
    dense.map_err(|error| error.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use ndarray::array;

    /// Two groups of rows far from each other, of classes 2 and 0; class 1 does not occur.
    #[test]
    fn both_learners_classify_separated_groups() {
        let x = Array2::from_shape_fn((20, 3), |(row, column)| {
            let side = if row % 2 == 0 { 5.0 } else { -5.0 };
            side + ((row * 7 + column * 3) % 5) as f64 / 10.0
        });
        let labels: Vec<usize> = (0..20).map(|row| if row % 2 == 0 { 2 } else { 0 }).collect();
        let folds: Vec<usize> = (0..20).map(|row| (row / 2) % 5).collect();
        for learner in LEARNERS {
            let predicted = learner.out_of_sample(x.view(), &labels, 3, &folds).unwrap();
            for (row, &label) in predicted.outer_iter().zip(&labels) {
                assert!(row[label] > 0.9, "{learner:?} {row}");
                assert!(row[1].abs() < 1e-12 && (row.sum() - 1.0).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn equal_rows_and_single_class_are_accepted() {
        let x = array![[1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0]];
        for learner in LEARNERS {
            let predicted = learner
                .out_of_sample(x.view(), &[0, 1, 0, 1], 2, &[0, 0, 1, 1])
                .unwrap();
            assert!(
                predicted
                    .iter()
                    .all(|probability| (probability - 0.5).abs() < 1e-6),
                "{predicted}"
            );
            let one = learner
                .out_of_sample(x.view(), &[0, 0, 0, 0], 2, &[0, 0, 1, 1])
                .unwrap();
            assert!(
                one.column(0)
                    .iter()
                    .all(|&probability| (probability - 1.0).abs() < 1e-12)
            );
        }
    }
}
