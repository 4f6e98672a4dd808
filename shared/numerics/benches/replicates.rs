//! What a score's 1,000 draws and a board's rank intervals take, at the sizes of the benchmarks. Run with
//! `cargo bench -p dataperf-numerics --bench replicates`; `tests/peers/replicates_speed.py` is the same in `NumPy`.
#![allow(missing_docs)]

use dataperf_numerics::bootstrap::{
    Answers, Course, ItemMetric, LANES, N_BATCHES, N_DRAWS, Resampler, Trials, draws_of,
};
use dataperf_numerics::models::mt19937::Mt19937;
use dataperf_numerics::ranks::{Entry, compare};
use divan::{Bencher, black_box};
use rayon::prelude::*;

fn main() {
    divan::main();
}

/// Right classes and the answers of models, of which 15 % are wrong.
fn answers(n_items: usize, n_classes: u32, n_models: usize) -> (Vec<u8>, Vec<Vec<u8>>) {
    let mut random = Mt19937::new(1);
    let truth: Vec<u8> = (0..n_items).map(|_| random.below(n_classes) as u8).collect();
    let model = |random: &mut Mt19937| {
        let answer = |&class: &u8| {
            if random.below(100) < 15 {
                random.below(n_classes) as u8
            } else {
                class
            }
        };
        truth.iter().map(answer).collect()
    };
    let models = (0..n_models).map(|_| model(&mut random)).collect();
    (truth, models)
}

/// The scores under all draws: the draws' weights too, as a function makes them anew for each submission.
fn replicates(
    bencher: Bencher<'_, '_>,
    metric: ItemMetric<'_>,
    n_items: usize,
    n_classes: u32,
    n_models: usize,
) {
    let (truth, models) = answers(n_items, n_classes, n_models);
    bencher.bench_local(|| {
        let resampler = Resampler::of_items(&truth, None, [1; 32]);
        let answers = Answers::new(metric, &truth, models.iter().map(Vec::as_slice));
        let scores: Vec<Vec<[f64; LANES]>> = (0..N_BATCHES)
            .into_par_iter()
            .map(|batch| answers.values(&resampler.batch(batch)))
            .collect();
        black_box(scores)
    });
}

/// `speech-selection` `en-60`: ten seeds.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn speech(bencher: Bencher<'_, '_>) {
    replicates(bencher, ItemMetric::MacroF1, 30_733, 6, 10);
}

/// `speech-selection` of the demo.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn speech_of_the_demo(bencher: Bencher<'_, '_>) {
    replicates(bencher, ItemMetric::MacroF1, 400, 6, 10);
}

/// One concept of `vision-selection` is a tenth of this.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn vision(bencher: Bencher<'_, '_>) {
    replicates(bencher, ItemMetric::F1(1), 1_000, 2, 1);
}

/// Own data: the largest number of classes.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn macro_f1_of_100_classes(bencher: Bencher<'_, '_>) {
    replicates(bencher, ItemMetric::MacroF1, 10_000, 100, 1);
}

/// `data-acquisition`: five markets, ten trials each, whose draws are taken as well.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn acquisition(bencher: Bencher<'_, '_>) {
    const N_TRIALS: usize = 10;
    let (truth, models) = answers(1_000, 2, N_TRIALS);
    bencher.bench_local(|| {
        for market in 0..5 {
            let resampler = Resampler::of_items(&truth, None, [market; 32]);
            let trials = Trials::new(N_TRIALS, [market; 32]);
            let answers = Answers::new(ItemMetric::Accuracy, &truth, models.iter().map(Vec::as_slice));
            let of_batch = |batch: usize| {
                let values = answers.values(&resampler.batch(batch));
                let of_lane =
                    |lane: usize| values.iter().map(|of_model| of_model[lane]).collect::<Vec<f64>>();
                let draws = draws_of(batch);
                draws
                    .clone()
                    .map(|draw| trials.mean(draw, &of_lane(draw - draws.start)))
                    .collect::<Vec<f64>>()
            };
            let drawn: Vec<Vec<f64>> = (0..N_BATCHES).into_par_iter().map(of_batch).collect();
            black_box(drawn);
        }
    });
}

/// The models after each of 300 fixes, the last one right throughout: three in ten change, and then so many answers.
fn course(truth: &[u8], n_changed: u32) -> Vec<Vec<u8>> {
    let mut random = Mt19937::new(2);
    let mut model: Vec<u8> = truth.to_vec();
    let of_step = |_| {
        if random.below(10) < 3 {
            for _ in 0..n_changed {
                let item = random.below(truth.len() as u32) as usize;
                model[item] = 1 - model[item];
            }
        }
        model.clone()
    };
    let mut models: Vec<Vec<u8>> = (0..300).map(of_step).collect();
    models.reverse();
    models
}

/// `vision-debugging`: whole curves of eight tasks, 300 images each.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn curves_of_eight_tasks(bencher: Bencher<'_, '_>) {
    curves(bencher, 8, 300);
}

/// `debugging` on own data: the curve of one task with 500 items.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn curve_of_own_data(bencher: Bencher<'_, '_>) {
    curves(bencher, 1, 500);
}

fn curves(bencher: Bencher<'_, '_>, n_tasks: u8, n_items: usize) {
    let (truth, _) = answers(n_items, 2, 0);
    let models = course(&truth, 9);
    bencher.bench_local(|| {
        for task in 0..n_tasks {
            let resampler = Resampler::of_items(&truth, None, [task; 32]);
            let course = Course::new(&truth, models.iter().map(Vec::as_slice));
            let of_batch = |batch: usize| {
                let (n_right, _) = course.n_right(&resampler.batch(batch));
                let target = n_right[n_right.len() - 1].map(|n| 0.95 * f64::from(n));
                let first = |lane: usize| {
                    n_right
                        .iter()
                        .position(|counts| f64::from(counts[lane]) >= target[lane])
                };
                (0..LANES).map(first).collect::<Vec<Option<usize>>>()
            };
            let drawn: Vec<Vec<Option<usize>>> = (0..N_BATCHES).into_par_iter().map(of_batch).collect();
            black_box(drawn);
        }
    });
}

/// `curation`: 520 images, ten classes, one model.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn curation(bencher: Bencher<'_, '_>) {
    replicates(bencher, ItemMetric::Accuracy, 520, 10, 1);
}

/// Rank intervals of a board whose rows are nearly equal, the hardest case.
#[divan::bench(args = [20, 200, 1_000, 10_000], sample_count = 3, sample_size = 1)]
fn board(bencher: Bencher<'_, '_>, n_rows: usize) {
    let mut random = Mt19937::new(1);
    let mut uniform = || random.next_u32() as f32 / u32::MAX as f32 - 0.5;
    let common: Vec<f32> = (0..N_DRAWS).map(|_| uniform()).collect();
    let deviations: Vec<Vec<f32>> = (0..n_rows)
        .map(|_| common.iter().map(|&common| 0.01 * (common + uniform())).collect())
        .collect();
    let entries: Vec<Entry<'_>> = deviations
        .iter()
        .enumerate()
        .map(|(row, deviations)| Entry {
            score: 0.9 - 0.05 * row as f64 / n_rows as f64,
            is_ranked: true,
            deviations,
        })
        .collect();
    bencher.bench_local(|| compare(black_box(&entries), &|_, _, _| 1_000));
}
