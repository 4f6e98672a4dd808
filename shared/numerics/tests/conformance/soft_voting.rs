use dataperf_numerics::models::FitError;
use dataperf_numerics::models::logistic_regression::LogisticRegression;
use dataperf_numerics::models::soft_voting::SoftVoting;
use ndarray::{Array2, array, concatenate, s};
use serde::Deserialize;

use super::assert_close;

#[derive(Deserialize)]
struct Case {
    name: String,
    n_features: usize,
    x_64ths: Vec<f32>,
    class_idx: Vec<usize>,
    rows_64ths: Vec<f32>,
    seeds: Vec<u32>,
    gamma: f64,
    support_idx: Vec<usize>,
    dual_coefficients: Vec<f64>,
    rho: Vec<f64>,
    sigmoids: Vec<Vec<[f64; 2]>>,
    svc_probabilities: Vec<f64>,
    coefficients: Vec<f64>,
    intercepts: Vec<f64>,
    n_iter: usize,
    logistic_probabilities: Vec<f64>,
    logistic_predicted: Vec<usize>,
    predicted: Vec<Vec<u8>>,
}

impl Case {
    fn x(&self) -> Array2<f32> {
        matrix(&self.x_64ths, self.n_features)
    }

    fn rows(&self) -> Array2<f32> {
        matrix(&self.rows_64ths, self.n_features)
    }

    fn fit(&self) -> SoftVoting {
        SoftVoting::fit(self.x().view(), &self.class_idx, 6, &self.seeds).unwrap()
    }
}

fn matrix(in_64ths: &[f32], n_features: usize) -> Array2<f32> {
    let values = in_64ths.iter().map(|v| v / 64.0).collect();
    Array2::from_shape_vec((in_64ths.len() / n_features, n_features), values).unwrap()
}

fn cases() -> Vec<Case> {
    super::vectors(include_str!("fixtures/soft_voting.json"))
}

#[test]
fn support_vector_machines() {
    for case in cases() {
        let vote = case.fit();
        let (svc, name) = (vote.svc(), &case.name);
        assert_close([svc.gamma()], &[case.gamma], case.gamma * 1e-15, name);
        assert_eq!(svc.support_idx(), case.support_idx, "{name}");
        assert_close(svc.dual_coefficients(), &case.dual_coefficients, 1e-14, name);
        assert_close(svc.rho(), &case.rho, 1e-14, name);
    }
}

#[test]
fn sigmoids_and_probabilities() {
    for case in cases() {
        let (vote, name) = (case.fit(), &case.name);
        // if nothing separates the classes, the slope is undetermined and rounding decides it
        let tolerance = if case.n_features <= 3 { 1e-6 } else { 1e-11 };
        for (calibration, expected) in vote.calibrations().iter().zip(&case.sigmoids) {
            let ours = calibration.sigmoids.iter().flat_map(|s| [s.a, s.b]);
            assert_close(ours, expected.as_flattened(), tolerance, name);
        }
        let rows = case.rows().mapv(f64::from);
        let ours = vote.svc().predict_proba(rows.view(), &vote.calibrations()[0]);
        let tolerance = if case.n_features <= 3 { 1e-7 } else { 1e-12 };
        assert_close(ours, &case.svc_probabilities, tolerance, name);
    }
}

#[test]
fn logistic_regressions() {
    for case in cases() {
        let (vote, name) = (case.fit(), &case.name);
        let rows = case.rows().mapv(f64::from);
        let model = vote.logistic();
        assert_eq!(model.n_iter(), case.n_iter, "{name}");
        assert_close(
            model.coefficients().iter().copied(),
            &case.coefficients,
            1e-8,
            name,
        );
        assert_close(model.intercepts().iter().copied(), &case.intercepts, 1e-8, name);
        assert_close(
            model.predict_proba(rows.view()),
            &case.logistic_probabilities,
            1e-8,
            name,
        );
        assert_eq!(model.predict(rows.view()), case.logistic_predicted, "{name}");
    }
}

#[test]
fn votes() {
    for case in cases() {
        let predicted = case.fit().predict(case.rows().view());
        for (ours, expected) in predicted.outer_iter().zip(&case.predicted) {
            assert_eq!(ours.to_vec(), *expected, "{}", case.name);
        }
    }
}

#[test]
fn the_fast_path_averages_both_parts() {
    for case in cases() {
        let (vote, rows) = (case.fit(), case.rows());
        let wide = rows.mapv(f64::from);
        let together = vote.predict_proba(rows.view());
        for (seed, calibration) in vote.calibrations().iter().enumerate() {
            let svc = vote.svc().predict_proba(wide.view(), calibration);
            let mean = (svc + vote.logistic().predict_proba(wide.view())) / 2.0;
            let ours = together
                .slice(s![seed, .., ..])
                .iter()
                .copied()
                .collect::<Vec<_>>();
            assert_close(ours, mean.as_slice().unwrap(), 1e-13, &case.name);
        }
    }
}

#[test]
fn a_prediction_ignores_other_rows_and_thread_count() {
    let case = &cases()[0];
    let (vote, rows) = (case.fit(), case.rows());
    let all = vote.predict_proba(rows.view());
    let repeated = concatenate![ndarray::Axis(0), rows, rows, rows, rows, rows, rows, rows];
    for n_threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(n_threads)
            .build()
            .unwrap();
        let (again, refitted) = pool.install(|| (vote.predict_proba(repeated.view()), case.fit()));
        for (row, offset) in (0..7 * rows.nrows()).map(|k| (k, k % rows.nrows())) {
            assert_eq!(
                again.slice(s![.., row, ..]),
                all.slice(s![.., offset, ..]),
                "row {row}"
            );
        }
        assert_eq!(refitted.predict_proba(rows.view()), all);
        assert_eq!(
            vote.predict_proba(rows.slice(s![3..4, ..])),
            all.slice(s![.., 3..4, ..])
        );
    }
}

#[test]
fn a_large_fit_is_independent_of_thread_count() {
    let x = Array2::from_shape_fn((500, 20), |(i, k)| ((i * 31 + k * 17) % 101) as f64 / 50.0 - 1.0);
    let labels: Vec<usize> = (0..500).map(|i| (i * 7 / 3) % 2).collect();
    let fit = |n| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
        pool.install(|| LogisticRegression::fit(x.view(), &labels).unwrap())
    };
    assert_eq!(fit(1), fit(4));
}

#[test]
fn rows_in_any_memory_order() {
    let case = &cases()[0];
    let (vote, rows) = (case.fit(), case.rows());
    let transposed = rows.t().as_standard_layout().into_owned();
    assert_eq!(vote.predict(transposed.t()), vote.predict(rows.view()));
}

#[test]
fn refusals_name_the_place() {
    let x = array![[0.0f32, 1.0], [2.0, f32::NAN], [3.0, 4.0]];
    let fit = |x: &Array2<f32>, labels: &[usize], n| SoftVoting::fit(x.view(), labels, n, &[1]).unwrap_err();
    let refusal = fit(&x, &[0, 1, 1], 2);
    assert_eq!(
        refusal.to_string(),
        "feature 1 of row 1 is `NaN`; every feature must be finite"
    );
    let x = x.mapv(|v| if v.is_nan() { 0.0 } else { v });
    assert_eq!(fit(&x, &[1, 1, 1], 2), FitError::TooFewClasses { n_classes: 1 });
    assert_eq!(
        fit(&x, &[0, 1], 2),
        FitError::LabelCount {
            n_rows: 3,
            n_labels: 2
        }
    );
    let out_of_range = FitError::ClassOutOfRange {
        row_idx: 2,
        class_idx: 5,
        n_classes_total: 2,
    };
    assert_eq!(fit(&x, &[0, 1, 5], 2), out_of_range);
    assert_eq!(
        fit(&x, &[0, 1, 1], 300),
        FitError::TooManyClasses { n_classes_total: 300 }
    );
    assert_eq!(fit(&Array2::zeros((2, 0)), &[0, 1], 2), FitError::NoFeatures);
}
