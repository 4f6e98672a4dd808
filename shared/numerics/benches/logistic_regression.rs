//! Trials of Data Acquisition and a concept of Selection for Vision, at their sizes. Run with `cargo bench -p dataperf-numerics --bench logistic_regression`.
#![allow(missing_docs, clippy::expect_used)]

use dataperf_numerics::models::logistic_regression::LogisticRegression;
use dataperf_numerics::models::mt19937::Mt19937;
use dataperf_numerics::numbers::{Decimals, Stored};
use divan::{Bencher, black_box};
use rayon::prelude::*;

/// Rows and features of a trial, and of a concept.
const TRIAL: (usize, usize) = (4_400, 768);
const CONCEPT: (usize, usize) = (300, 256);
const N_LATENT: usize = 48;
/// As sellers write them.
const N_DECIMALS: u32 = 8;

fn main() {
    divan::main();
}

/// Rows that are mixtures of a few numbers, and noisy labels.
fn training_set((n_rows, n_features): (usize, usize)) -> (Vec<f64>, Vec<usize>) {
    let mut generator = Mt19937::new(1);
    // the sum of four uniform words is near enough to a normal one
    let mut normal = || {
        let uniform = (0..4).map(|_| f64::from(generator.next_u32()) / f64::from(u32::MAX) - 0.5);
        uniform.sum::<f64>() * 3f64.sqrt()
    };
    let layer: Vec<f64> = (0..N_LATENT * n_features)
        .map(|_| normal() / (N_LATENT as f64).sqrt())
        .collect();
    let (mut x, mut labels) = (Vec::new(), Vec::new());
    for _ in 0..n_rows {
        let latent: Vec<f64> = (0..N_LATENT).map(|_| normal()).collect();
        labels.push(usize::from(latent[0] + latent[1] + normal() > 0.0));
        x.extend((0..n_features).map(|feature| {
            let mixed: f64 = (0..N_LATENT)
                .map(|k| latent[k] * layer[k * n_features + feature])
                .sum();
            (mixed + 0.15 * normal()) * 0.05
        }));
    }
    (x, labels)
}

/// Ten trials, as one market has, on all cores; `decimals` are as they are stored.
#[divan::bench(sample_count = 9, args = ["f64", "decimals"])]
fn ten_trials(bencher: Bencher, kind: &str) {
    let (x, labels) = training_set(TRIAL);
    let decimals = Decimals::new(N_DECIMALS).expect("few enough");
    let trials: Vec<Stored> = (0..10)
        .map(|_| {
            if kind == "f64" {
                return Stored::F64(x.clone());
            }
            let whole = x.iter().map(|x| (x * 1e8).round_ties_even() as i32);
            Stored::Decimals(whole.collect(), decimals)
        })
        .collect();
    bencher.bench_local(|| {
        let fit = |x: &Stored| LogisticRegression::fit_stored(x.view(), TRIAL.1, &labels);
        trials
            .par_iter()
            .for_each(|x| drop(black_box(fit(x).expect("two classes"))));
    });
}

/// One concept, on one core.
#[divan::bench(sample_count = 99)]
fn concept(bencher: Bencher) {
    let (x, labels) = training_set(CONCEPT);
    let x = Stored::F32(x.iter().map(|&x| x as f32).collect());
    let fit = || LogisticRegression::fit_stored(x.view(), CONCEPT.1, &labels).expect("two classes");
    bencher.bench_local(|| black_box(fit()));
}
