//! The speech benchmark's model at the size of its largest leaderboard, on numbers that look like
//! embeddings. Run with `cargo bench -p dataperf-numerics --bench soft_voting`.
#![allow(missing_docs)]

use dataperf_numerics::models::logistic_regression::LogisticRegression;
use dataperf_numerics::models::mt19937::Mt19937;
use dataperf_numerics::models::soft_voting::SoftVoting;
use dataperf_numerics::models::svc::Svc;
use divan::{Bencher, black_box};
use ndarray::Array2;

const N_CLASSES: usize = 6;
const N_TRAIN: usize = 60;
const N_EVAL: usize = 30_733;
const N_FEATURES: usize = 1024;
const SEEDS: [u32; 10] = [5, 69, 98, 70, 95, 64, 37, 11, 4, 32];

fn main() {
    divan::main();
}

/// Rows around one centre a class, and the classes.
fn rows(n: usize, n_classes: usize, n_features: usize, seed: u32) -> (Array2<f32>, Vec<usize>) {
    let mut centres = Mt19937::new(1);
    let mut noise = Mt19937::new(seed);
    // the sum of four uniform words is near enough to a normal one
    let normal = |g: &mut Mt19937| {
        (0..4)
            .map(|_| g.next_u32() as f32 / u32::MAX as f32 - 0.5)
            .sum::<f32>()
    };
    let centres = Array2::from_shape_simple_fn((n_classes, n_features), || 0.5 * normal(&mut centres));
    let classes: Vec<usize> = (0..n).map(|_| noise.below(n_classes as u32) as usize).collect();
    let x = Array2::from_shape_fn((n, n_features), |(row, k)| {
        centres[(classes[row], k)] + normal(&mut noise)
    });
    (x, classes)
}

#[divan::bench(sample_count = 20)]
fn fit_all_seeds(bencher: Bencher) {
    let (x, classes) = rows(N_TRAIN, N_CLASSES, N_FEATURES, 2);
    bencher.bench(|| SoftVoting::fit(black_box(x.view()), &classes, N_CLASSES, &SEEDS));
}

#[divan::bench(sample_count = 20)]
fn predict_all_seeds(bencher: Bencher) {
    let (x, classes) = rows(N_TRAIN, N_CLASSES, N_FEATURES, 2);
    let (eval, _) = rows(N_EVAL, N_CLASSES, N_FEATURES, 3);
    let Ok(vote) = SoftVoting::fit(x.view(), &classes, N_CLASSES, &SEEDS) else {
        return;
    };
    bencher.bench(|| vote.predict(black_box(eval.view())));
}

#[divan::bench(sample_count = 20)]
fn fit_support_vectors(bencher: Bencher) {
    let (x, classes) = rows(N_TRAIN, N_CLASSES, N_FEATURES, 2);
    let x = x.mapv(f64::from);
    bencher.bench(|| Svc::fit(black_box(x.view()), &classes));
}

#[divan::bench(sample_count = 20)]
fn calibrate_one_seed(bencher: Bencher) {
    let (x, classes) = rows(N_TRAIN, N_CLASSES, N_FEATURES, 2);
    let Ok(svc) = Svc::fit(x.mapv(f64::from).view(), &classes) else {
        return;
    };
    bencher.bench(|| svc.calibrate(black_box(5)));
}

/// Six classes of a speech submission, and two of a market's purchase.
#[divan::bench(args = [(N_TRAIN, N_CLASSES, N_FEATURES), (3000, 2, 768)], sample_count = 20)]
fn fit_logistic_regression(bencher: Bencher, (n, n_classes, n_features): (usize, usize, usize)) {
    let (x, classes) = rows(n, n_classes, n_features, 2);
    let x = x.mapv(f64::from);
    bencher.bench(|| LogisticRegression::fit(black_box(x.view()), &classes));
}
