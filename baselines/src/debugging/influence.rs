//! Influence functions: how the validation loss of a logistic regression would change without a training row.

use dataperf_numerics::models::logistic_regression::LogisticRegression;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, s};

use super::{Task, ascending};
use crate::BaselineError;

/// The most harmful rows first: those without which the validation loss would fall most.
///
/// # Errors
/// [`BaselineError::Fit`] when the training set can't be fitted.
///
/// # Source
/// Koh and Liang, "Understanding black-box predictions via influence functions", ICML (2017); the public challenge's
/// `app/baselines/influence_function.py` approximates the same by stochastic recursion.
pub fn order(task: &Task) -> Result<Vec<usize>, BaselineError> {
    // leaving out a harmful row lowers the loss: the lowest change comes first
    Ok(ascending(&loss_changes(task)?))
}

/// The change of the mean validation loss when a training row is left out, to first order, `(n_train,)`: its gradient
/// times the inverse Hessian of the training loss times the gradient of the validation loss.
///
/// The model is the frozen logistic regression: C = 1, the intercept free of penalty.
///
/// # Errors
/// [`BaselineError::Fit`] when the training set can't be fitted.
pub fn loss_changes(task: &Task) -> Result<Vec<f64>, BaselineError> {
    let model = LogisticRegression::fit(task.x, task.labels)?;
    let (train, validation) = (with_ones(task.x), with_ones(task.validation_x));
    let positive = |rows| model.predict_proba(rows).column(1).to_owned();
    let (p, validation_p) = (positive(task.x), positive(task.validation_x));
    let residuals = |p: &Array1<f64>, labels: &[usize]| {
        let pairs = p.iter().zip(labels);
        pairs.map(|(p, &label)| p - label as f64).collect::<Array1<f64>>()
    };
    let of_validation = residuals(&validation_p, task.validation_labels) / validation_p.len() as f64;
    let gradient = transposed_product(validation.view(), of_validation.view());
    let curvature = p.mapv(|p| p * (1.0 - p));
    let hessian = |v: &Array1<f64>| {
        let scores = product(train.view(), v.view()) * &curvature;
        let mut out = transposed_product(train.view(), scores.view());
        let n_features = v.len() - 1;
        for feature in 0..n_features {
            out[feature] += v[feature];
        }
        out
    };
    let direction = conjugate_gradient(hessian, &gradient);
    let slopes = product(train.view(), direction.view());
    Ok((residuals(&p, task.labels) * slopes).to_vec())
}

/// A column of ones behind the features, for the intercept.
fn with_ones(x: ArrayView2<f64>) -> Array2<f64> {
    let mut with_ones = Array2::ones((x.nrows(), x.ncols() + 1));
    with_ones.slice_mut(s![.., ..x.ncols()]).assign(&x);
    with_ones
}

/// Adds in plain order, to get the same bits on every processor, which matrix libraries do not promise.
fn dot(a: ArrayView1<f64>, b: ArrayView1<f64>) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn product(x: ArrayView2<f64>, v: ArrayView1<f64>) -> Array1<f64> {
    x.outer_iter().map(|row| dot(row, v)).collect()
}

fn transposed_product(x: ArrayView2<f64>, v: ArrayView1<f64>) -> Array1<f64> {
    let mut sum = Array1::zeros(x.ncols());
    for (row, &factor) in x.outer_iter().zip(v) {
        sum.scaled_add(factor, &row);
    }
    sum
}

/// Solves `hessian(v) = target` for a positive definite `hessian`, to 12 digits.
fn conjugate_gradient(hessian: impl Fn(&Array1<f64>) -> Array1<f64>, target: &Array1<f64>) -> Array1<f64> {
    let mut solution = Array1::zeros(target.len());
    let mut residual = target.clone();
    let mut step = residual.clone();
    let mut norm = dot(residual.view(), residual.view());
    let enough = norm * 1e-24;
    for _ in 0..10 * target.len() {
        if norm <= enough {
            break;
        }
        let image = hessian(&step);
        let length = norm / dot(step.view(), image.view());
        solution.scaled_add(length, &step);
        residual.scaled_add(-length, &image);
        let next = dot(residual.view(), residual.view());
        step = &residual + &(step * (next / norm));
        norm = next;
    }
    solution
}

#[cfg(test)]
mod tests {
    use ndarray::Axis;

    use super::*;

    #[test]
    fn influence_matches_leaving_a_row_out() {
        let x = Array2::from_shape_fn((40, 3), |(i, k)| {
            ((i * 37 + k * 101 + i * i) % 61) as f64 / 30.0 - 1.0
        });
        let validation_x =
            Array2::from_shape_fn((30, 3), |(i, k)| ((i * 43 + k * 11) % 59) as f64 / 30.0 - 1.0);
        let label = |row: ArrayView1<f64>| usize::from(row[0] + 0.5 * row[1] > 0.1);
        let mut labels: Vec<usize> = x.outer_iter().map(label).collect();
        labels[7] = 1 - labels[7];
        let validation_labels: Vec<usize> = validation_x.outer_iter().map(label).collect();
        let loss = |rows: &[usize]| {
            let of_rows: Vec<usize> = rows.iter().map(|&row| labels[row]).collect();
            let model = LogisticRegression::fit(x.select(Axis(0), rows).view(), &of_rows).unwrap();
            let p = model.predict_proba(validation_x.view());
            let losses = validation_labels
                .iter()
                .zip(p.outer_iter())
                .map(|(&label, p)| -p[label].ln());
            losses.sum::<f64>() / validation_labels.len() as f64
        };
        let task = Task {
            x: x.view(),
            labels: &labels,
            validation_x: validation_x.view(),
            validation_labels: &validation_labels,
        };
        let changes = loss_changes(&task).unwrap();
        let all: Vec<usize> = (0..40).collect();
        let before = loss(&all);
        for left_out in [0, 7, 20] {
            let rest: Vec<usize> = all.iter().copied().filter(|&row| row != left_out).collect();
            let actual = loss(&rest) - before;
            let error = (changes[left_out] - actual).abs();
            assert!(
                error < 0.15 * actual.abs() + 1e-4,
                "{left_out}: {} instead of {actual}",
                changes[left_out]
            );
        }
        assert_eq!(
            order(&task).unwrap()[0],
            7,
            "the flipped label is the most harmful"
        );
    }
}
