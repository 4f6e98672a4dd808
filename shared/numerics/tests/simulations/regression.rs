//! How often the corrected regression of new scores on old ones holds the true line, by simulation.
//!
//! The test makes few runs. `REGRESSION_RUNS=2000 cargo test --workspace --test simulations regression -- --nocapture` makes the table of
//! docs/statistics.md.

use dataperf_numerics::agreement::{corrected_line, fitted_line, probit};
use dataperf_numerics::bootstrap::{Answers, ItemMetric, LANES, N_BATCHES, Resampler, draws_of};
use dataperf_numerics::metrics::{ItemWeights, mean};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use crate::random::{expected, normal, sigmoid, uniform};

const ABILITIES: [f64; 10] = [2.0, 1.8, 1.6, 1.5, 1.4, 1.2, 1.0, 0.9, 0.7, 0.4];
/// By how much items of the new test set are harder.
const HARDER: f64 = 0.3;

/// The accuracies on a test set of two classes, `(n,)`, and under all draws, `(n, n_draws)`.
fn measured(
    random: &mut Xoshiro256PlusPlus,
    items_of_class: usize,
    harder: f64,
) -> (Vec<f64>, Vec<Vec<f64>>) {
    let n_items = 2 * items_of_class;
    let truth: Vec<u8> = (0..n_items).map(|item| (item % 2) as u8).collect();
    let difficulties: Vec<f64> = (0..n_items).map(|_| normal(random) + harder).collect();
    let mut seed = [0; 32];
    random.fill_bytes(&mut seed);
    let resampler = Resampler::of_items(&truth, None, seed);
    let answers: Vec<Vec<u8>> = ABILITIES
        .iter()
        .map(|ability| {
            let items = truth.iter().zip(&difficulties);
            let answer = |(truth, difficulty): (&u8, &f64)| {
                truth ^ u8::from(uniform(random) >= sigmoid(ability - difficulty))
            };
            items.map(answer).collect()
        })
        .collect();
    let score = |answers: &Vec<u8>| ItemMetric::Accuracy.value(&truth, answers, ItemWeights::Ones);
    let scores: Vec<f64> = answers.iter().map(score).collect();
    let ready = Answers::new(ItemMetric::Accuracy, &truth, answers.iter().map(Vec::as_slice));
    let mut drawn = vec![Vec::new(); ABILITIES.len()];
    for batch in 0..N_BATCHES {
        let values: Vec<[f64; LANES]> = ready.values(&resampler.batch(batch));
        for ((drawn, values), score) in drawn.iter_mut().zip(values).zip(&scores) {
            let values = values[..draws_of(batch).len()].iter();
            drawn.extend(values.map(|value| score + resampler.widening() * (value - score)));
        }
    }
    (scores, drawn)
}

/// What one run says of each of the four figures: slope and intercept of shares, then on probit axes. The estimate, whether the interval
/// holds the truth, and the estimate of plain least squares.
fn run(seed: u64, before: usize, after: usize, truths: &[f64; 4]) -> [(Option<f64>, Option<bool>, f64); 4] {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (x, drawn_x) = measured(&mut random, before, 0.0);
    let (y, drawn_y) = measured(&mut random, after, HARDER);
    let probits = |values: &[f64], items_of_class: usize| -> Vec<f64> {
        let least = 0.25 / items_of_class as f64;
        values
            .iter()
            .map(|value| probit(value.clamp(least, 1.0 - least)))
            .collect()
    };
    let of_all = |drawn: &[Vec<f64>], n: usize| -> Vec<Vec<f64>> {
        drawn.iter().map(|drawn| probits(drawn, n)).collect()
    };
    let on_probit = (
        (probits(&x, before), of_all(&drawn_x, before)),
        (probits(&y, after), of_all(&drawn_y, after)),
    );
    let mut figures = Vec::new();
    for ((x, drawn_x), (y, drawn_y)) in [((x, drawn_x), (y, drawn_y)), on_probit] {
        let plain = fitted_line(&x, &y).unwrap();
        let corrected = corrected_line(&x, &y, &drawn_x, &drawn_y);
        figures.push((corrected.map(|line| line.slope), plain.slope));
        figures.push((corrected.map(|line| line.intercept), plain.intercept));
    }
    std::array::from_fn(|nth| {
        let (fitted, plain) = figures[nth];
        // an interval that is open holds everything
        let holds = fitted.map(|fitted| {
            fitted
                .interval
                .is_none_or(|(low, high)| low <= truths[nth] && truths[nth] <= high)
        });
        (fitted.map(|fitted| fitted.value), holds, plain)
    })
}

struct Figure {
    /// The median of the corrected and of the plain estimates.
    medians: [f64; 2],
    coverage: f64,
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn figures(n_runs: u64, before: usize, after: usize) -> ([f64; 4], Vec<Figure>) {
    let (old, new): (Vec<f64>, Vec<f64>) = ABILITIES
        .iter()
        .map(|ability| (expected(*ability), expected(ability - HARDER)))
        .unzip();
    let probits = |values: &[f64]| values.iter().map(|value| probit(*value)).collect::<Vec<f64>>();
    let (line, on_probit) = (
        fitted_line(&old, &new).unwrap(),
        fitted_line(&probits(&old), &probits(&new)).unwrap(),
    );
    let truths = [line.slope, line.intercept, on_probit.slope, on_probit.intercept];
    let runs: Vec<_> = (0..n_runs)
        .into_par_iter()
        .map(|seed| run(seed, before, after, &truths))
        .collect();
    let figure = |nth: usize| {
        let all = || runs.iter().map(move |run| run[nth]);
        let held: Vec<f64> = all()
            .filter_map(|(_, holds, _)| holds.map(|holds| f64::from(u8::from(holds))))
            .collect();
        Figure {
            medians: [
                median(all().filter_map(|(value, ..)| value).collect()),
                median(all().map(|(_, _, plain)| plain).collect()),
            ],
            coverage: mean(&held),
        }
    };
    (truths, (0..4).map(figure).collect())
}

#[test]
fn the_corrected_slope_is_not_drawn_towards_zero() {
    let n_runs = std::env::var("REGRESSION_RUNS")
        .ok()
        .and_then(|runs| runs.parse().ok());
    let Some(n_runs) = n_runs else {
        let (truths, figures) = figures(100, 50, 50);
        for (truth, figure) in truths.iter().zip(&figures) {
            // four Monte Carlo errors of .95 are .087
            assert!(figure.coverage >= 0.863, "{}", figure.coverage);
            let [corrected, plain] = figure.medians.map(|median| (median - truth).abs());
            assert!(corrected < plain, "{corrected} {plain}");
        }
        assert!((figures[0].medians[0] - truths[0]).abs() < 0.1);
        return;
    };
    println!(
        "| items a class, old and new | slope: plain, corrected | coverage | intercept | on probit axes: plain, corrected | coverage | intercept |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (before, after) in [
        (20, 20),
        (50, 50),
        (100, 100),
        (250, 250),
        (250, 50),
        (1000, 1000),
    ] {
        let (truths, coverage) = figures(n_runs, before, after);
        let cells = |slope: &Figure, intercept: &Figure| {
            let [corrected, plain] = slope.medians;
            format!(
                "{plain:.2}, {corrected:.2} | {:.3} | {:.3}",
                slope.coverage, intercept.coverage
            )
        };
        println!(
            "| {before}, {after} | {} | {} | (true: {:.3}, {:.3})",
            cells(&coverage[0], &coverage[1]),
            cells(&coverage[2], &coverage[3]),
            truths[0],
            truths[2]
        );
    }
}
