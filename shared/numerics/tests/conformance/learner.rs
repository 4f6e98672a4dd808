//! The models with parameters, and the metrics of own data.

use dataperf_numerics::learner::Learner;
use dataperf_numerics::metrics::{ItemWeights, balanced_accuracy, macro_f1_of_classes, worst_group_accuracy};
use ndarray::Array2;
use serde::Deserialize;

#[derive(Deserialize)]
struct Vectors {
    problems: Vec<Problem>,
    metrics: Vec<Metrics>,
}

#[derive(Deserialize)]
struct Problem {
    n_features: usize,
    x_64ths: Vec<i32>,
    labels: Vec<usize>,
    items_64ths: Vec<i32>,
    seeds: Vec<u32>,
    fitted: Vec<Fitted>,
}

#[derive(Deserialize)]
struct Fitted {
    learner: Learner,
    /// `(n_seeds, n_items)`
    predicted: Vec<Vec<u8>>,
}

#[derive(Deserialize)]
struct Metrics {
    n_classes: usize,
    truth: Vec<usize>,
    predicted: Vec<usize>,
    weights: Vec<u32>,
    groups: Vec<usize>,
    balanced_accuracy: f64,
    macro_f1: f64,
    worst_group_accuracy: f64,
}

fn vectors() -> Vectors {
    super::vectors(include_str!("fixtures/learner.json"))
}

fn matrix(values_64ths: &[i32], n_features: usize) -> Array2<f64> {
    let values = values_64ths
        .iter()
        .map(|&value| f64::from(value) / 64.0)
        .collect();
    Array2::from_shape_vec((values_64ths.len() / n_features, n_features), values).unwrap()
}

#[test]
fn predictions_are_the_libraries() {
    let mut n_fits = 0;
    for (at, problem) in vectors().problems.iter().enumerate() {
        let x = matrix(&problem.x_64ths, problem.n_features);
        let items = matrix(&problem.items_64ths, problem.n_features);
        for Fitted { learner, predicted } in &problem.fitted {
            learner.check(x.nrows(), x.ncols(), 2).unwrap();
            let prepared = learner.prepare(x.view(), items.view()).unwrap();
            let ours = prepared.predict_seeds(&problem.labels, &problem.seeds).unwrap();
            assert_eq!(&ours, predicted, "problem {at}, {learner:?}");
            n_fits += 1;
        }
    }
    assert_eq!(n_fits, 4 * 11 + 3);
}

#[test]
fn metrics_are_scikit_learns() {
    for case in vectors().metrics {
        let weights = ItemWeights::Each(&case.weights);
        let (truth, predicted) = (&case.truth, &case.predicted);
        let ours = [
            balanced_accuracy(truth, predicted, weights),
            macro_f1_of_classes(truth, predicted, case.n_classes, weights),
            worst_group_accuracy(truth, predicted, &case.groups, weights),
        ];
        let theirs = [case.balanced_accuracy, case.macro_f1, case.worst_group_accuracy];
        assert_eq!(
            ours.map(f64::to_bits),
            theirs.map(f64::to_bits),
            "{ours:?} {theirs:?}"
        );
    }
}

#[test]
fn without_items_metrics_are_zero() {
    let none = ItemWeights::Each(&[0, 0]);
    assert!(balanced_accuracy::<u8>(&[1, 0], &[1, 0], none) == 0.0);
    assert!(worst_group_accuracy(&[1, 0], &[1, 0], &[0, 3], none) == 0.0);
    assert!(macro_f1_of_classes::<u8>(&[], &[], 0, ItemWeights::Ones) == 0.0);
}
