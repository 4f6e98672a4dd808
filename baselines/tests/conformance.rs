//! Compares with the results of other libraries for the same numbers; `make_vectors.py` computed
//! them.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use dataperf_baselines::debugging::{Task, influence, shapley};
use ndarray::Array2;
use serde::Deserialize;

#[derive(Deserialize)]
struct Vectors {
    x: Vec<Vec<f64>>,
    labels: Vec<usize>,
    validation_x: Vec<Vec<f64>>,
    validation_labels: Vec<usize>,
    shapley: Vec<f64>,
    influence: Vec<f64>,
}

fn matrix(rows: &[Vec<f64>]) -> Array2<f64> {
    Array2::from_shape_vec((rows.len(), rows[0].len()), rows.concat()).unwrap()
}

fn close(ours: &[f64], theirs: &[f64], tolerance: f64) {
    assert_eq!(ours.len(), theirs.len());
    for (row, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        assert!(
            (ours - theirs).abs() <= tolerance,
            "row {row}: {ours} instead of {theirs}"
        );
    }
}

#[test]
fn debugging_values_are_those_of_datascope_and_numpy() {
    let vectors: Vectors = serde_json::from_str(include_str!("fixtures/debugging.json")).unwrap();
    let (x, validation_x) = (matrix(&vectors.x), matrix(&vectors.validation_x));
    let task = Task {
        x: x.view(),
        labels: &vectors.labels,
        validation_x: validation_x.view(),
        validation_labels: &vectors.validation_labels,
    };
    close(&shapley::values(&task, 1), &vectors.shapley, 1e-6);
    // ours stops where the frozen model stops, theirs converges further
    close(&influence::loss_changes(&task).unwrap(), &vectors.influence, 1e-5);
}
