//! The models that a buyer of data may train, besides the logistic regression.

use dataperf_numerics::models::FitError;
use dataperf_numerics::models::boosted_stumps::BoostedStumps;
use dataperf_numerics::models::k_nearest::KNearest;
use ndarray::{Array2, array};
use serde::Deserialize;

use crate::vectors;

#[derive(Deserialize)]
struct Case {
    x: Vec<Vec<f64>>,
    y: Vec<usize>,
    rows: Vec<Vec<f64>>,
    k_nearest: Vec<usize>,
    boosted_stumps: Vec<usize>,
}

fn matrix(rows: &[Vec<f64>]) -> Array2<f64> {
    Array2::from_shape_vec((rows.len(), rows[0].len()), rows.concat()).unwrap()
}

#[test]
fn predictions_are_scikit_learns() {
    for case in vectors::<Vec<Case>>(include_str!("fixtures/buyer_models.json")) {
        let (x, rows) = (matrix(&case.x), matrix(&case.rows));
        let nearest = KNearest::fit(x.view(), &case.y, 9).unwrap();
        assert_eq!(nearest.predict(rows.view()), case.k_nearest);
        let stumps = BoostedStumps::fit(x.view(), &case.y, 100).unwrap();
        assert_eq!(stumps.predict(rows.view()), case.boosted_stumps);
    }
}

#[test]
fn unusable_training_data_are_refused() {
    let x = array![[0.0], [1.0], [2.0]];
    let too_few = FitError::TooFewRows {
        n_rows: 3,
        n_needed: 9,
    };
    assert_eq!(KNearest::fit(x.view(), &[0, 1, 1], 9).unwrap_err(), too_few);
    let one_class = FitError::TooFewClasses { n_classes: 1 };
    assert_eq!(KNearest::fit(x.view(), &[1, 1, 1], 1).unwrap_err(), one_class);
    assert_eq!(
        BoostedStumps::fit(x.view(), &[1, 1, 1], 5).unwrap_err(),
        one_class
    );
}

#[test]
fn constant_features_are_never_split() {
    let x = array![[7.0, 0.0], [7.0, 1.0], [7.0, 2.0]];
    let stumps = BoostedStumps::fit(x.view(), &[0, 0, 1], 3).unwrap();
    assert_eq!(stumps.predict(array![[-9.0, 1.0], [9.0, 2.0]].view()), [0, 1]);
    let constant = BoostedStumps::fit(array![[7.0], [7.0], [7.0]].view(), &[0, 0, 1], 3).unwrap();
    assert_eq!(constant.predict(array![[7.0], [0.0]].view()), [0, 0]);
}
