//! The two baselines that take longest, at the paper's size, on numbers that look like embeddings. Run with
//! `cargo bench -p dataperf-baselines`.
#![allow(missing_docs)]

use dataperf::progress::Silent;
use dataperf_baselines::speech::{Clips, nested_cross_fold};
use dataperf_baselines::vision::farthest_points;
use dataperf_numerics::models::mt19937::Mt19937;
use divan::{Bencher, black_box};
use ndarray::Array2;

const N_TARGETS: usize = 3_932;
const N_CLIPS: usize = 13_932;
const N_OTHER_WORDS: usize = 100;
const N_POOL: usize = 100_000;

fn main() {
    divan::main();
}

/// Rows around their words' centres in a latent space, spread over `n_features` numbers.
fn rows(words: &[usize], n_latent: usize, n_features: usize) -> Array2<f32> {
    let mut generator = Mt19937::new(1);
    // the sum of four uniform words is near enough to a normal one
    let mut normal = || {
        let uniform = (0..4).map(|_| generator.next_u32() as f32 / u32::MAX as f32 - 0.5);
        uniform.sum::<f32>() * 3f32.sqrt()
    };
    let n_words = words.iter().max().map_or(0, |last| last + 1);
    let mixing = Array2::from_shape_simple_fn((n_latent, n_features), &mut normal) / (n_latent as f32).sqrt();
    let centres = Array2::from_shape_simple_fn((n_words, n_latent), &mut normal);
    let latent = Array2::from_shape_fn((words.len(), n_latent), |(row, k)| {
        0.6 * centres[[words[row], k]] + 0.8 * normal()
    });
    latent.dot(&mixing).mapv(|value| value + 0.3 * normal())
}

/// A hundred fits for `en-60`, each tried on 13,872 clips.
#[divan::bench(sample_count = 5)]
fn nested_cross_fold_en_60(bencher: Bencher) {
    let word = |row: usize| {
        if row < N_TARGETS {
            row % 5
        } else {
            5 + row % N_OTHER_WORDS
        }
    };
    let words: Vec<usize> = (0..N_CLIPS).map(word).collect();
    let classes: Vec<usize> = words
        .iter()
        .map(|&word| if word < 5 { word + 1 } else { 0 })
        .collect();
    let x = rows(&words, 64, 1024);
    let clips = Clips {
        x: x.view(),
        classes: &classes,
        n_classes: 6,
        max_clips: 60,
    };
    bencher.bench(|| nested_cross_fold::select(black_box(&clips), 1, &Silent));
}

#[divan::bench(sample_count = 5)]
fn farthest_points_of_100_000(bencher: Bencher) {
    let x = rows(&vec![0; N_POOL], 40, 256);
    bencher.bench(|| farthest_points::sample(black_box(x.view()), farthest_points::N_POINTS, 0, &Silent));
}
