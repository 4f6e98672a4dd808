//! One task of Debugging for Vision at its size: a curve's models, on numbers that look like embeddings after a
//! rectifier. Run with `cargo bench -p dataperf-numerics --bench boosted_trees`.
#![allow(missing_docs, clippy::expect_used)]

use std::ops::ControlFlow;

use dataperf_numerics::models::boosted_trees::{BoostedTrees, Columns, TrainingFeatures, fit_each};
use dataperf_numerics::models::mt19937::Mt19937;
use divan::{Bencher, black_box};
use ndarray::Array2;

const N_TRAIN: usize = 300;
const N_TEST: usize = 500;
const N_FEATURES: usize = 2048;
const N_LATENT: usize = 80;
/// Labels that are wrong before any fix: as many fits, and one more.
const N_WRONG: usize = 90;

fn main() {
    divan::main();
}

struct Task {
    features: TrainingFeatures,
    tests: Columns,
    label_sets: Vec<Vec<bool>>,
}

/// Two classes 3 apart along a direction of a latent space, seen through a random layer with rectifiers.
fn task() -> Task {
    let mut generator = Mt19937::new(1);
    // the sum of four uniform words is near enough to a normal one
    let mut normal = || {
        let uniform = (0..4).map(|_| generator.next_u32() as f32 / u32::MAX as f32 - 0.5);
        uniform.sum::<f32>() * 3f32.sqrt()
    };
    let layer = Array2::from_shape_simple_fn((N_LATENT, N_FEATURES), || normal() / (N_LATENT as f32).sqrt());
    let mut latent = Array2::from_shape_simple_fn((N_TRAIN + N_TEST, N_LATENT), &mut normal);
    let truth: Vec<bool> = (0..N_TRAIN + N_TEST).map(|row| row % 2 == 0).collect();
    for (mut row, &truth) in latent.rows_mut().into_iter().zip(&truth) {
        row[0] += if truth { 1.5 } else { -1.5 };
    }
    let x = latent
        .dot(&layer)
        .mapv(|value| (value - 0.25 + 0.25 * normal()).max(0.0));
    let (train, test) = x.view().split_at(ndarray::Axis(0), N_TRAIN);
    let labels = |n_fixed: usize| {
        let wrong = |row: usize| row * 3 / 10 < (row + 1) * 3 / 10 && row * 3 / 10 >= n_fixed;
        (0..N_TRAIN).map(|row| truth[row] ^ wrong(row)).collect()
    };
    Task {
        features: TrainingFeatures::new(Columns::new(train)).expect("finite numbers"),
        tests: Columns::new(test),
        label_sets: (0..=N_WRONG).map(labels).collect(),
    }
}

/// All models of one curve on one core, and their predictions.
#[divan::bench(sample_count = 5)]
fn curve(bencher: Bencher) {
    let task = task();
    bencher.bench_local(|| {
        let mut n_positive = 0;
        fit_each(&task.features, &task.label_sets, |_, model| {
            n_positive += model
                .predict(&task.tests)
                .iter()
                .filter(|&&positive| positive)
                .count();
            ControlFlow::Continue(())
        })
        .expect("labels for each row");
        black_box(n_positive)
    });
}

/// One model alone, which leaves most lanes empty.
#[divan::bench(sample_count = 5)]
fn one_model(bencher: Bencher) {
    let task = task();
    bencher
        .bench_local(|| BoostedTrees::fit(&task.features, &task.label_sets[0]).expect("labels for each row"));
}

/// Sorting, once a data set.
#[divan::bench(sample_count = 5)]
fn sorting(bencher: Bencher) {
    let task = task();
    bencher
        .with_inputs(|| task.features.columns().clone())
        .bench_local_values(TrainingFeatures::new);
}
