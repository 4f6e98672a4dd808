//! How often bounds of the agreement of boards hold the true agreement, by simulation.
//!
//! The test makes few runs. `ACROSS_RUNS=1000 cargo test --workspace --test simulations across -- --nocapture` makes the table of docs/statistics.md.

use dataperf_numerics::agreement::{Method, Orders, combine, kendalls_w, tau_b, tau_interval, w_interval};
use dataperf_numerics::ranks::{Entry, joint_orders};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use crate::random::normal;

const N_BOARDS: usize = 3;
const N_DRAWS: usize = 500;

/// What is held, and how wide the intervals are, of tau-b of two boards, W of all and tau-b of the order by mean ranks without a board.
type Held = [(bool, f64); 3];

/// How often an interval of two standard deviations of the draws holds tau-b, as others make them, and what bounds hold.
type Run = (bool, Held);

/// A run with entries whose scores have one part on all boards and one of each board, in standard errors.
fn run(seed: u64, n: usize, (common, own): (f64, f64)) -> Run {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let parts: Vec<f64> = (0..n).map(|_| common * normal(&mut random)).collect();
    let truths: Vec<Vec<f64>> = (0..N_BOARDS)
        .map(|_| {
            parts
                .iter()
                .map(|part| part + own * normal(&mut random))
                .collect()
        })
        .collect();
    let mut scores: Vec<Vec<f64>> = Vec::new();
    let mut draws: Vec<Vec<Vec<f32>>> = Vec::new();
    for truth in &truths {
        scores.push(truth.iter().map(|truth| truth + normal(&mut random)).collect());
        let of_entry = |_| (0..N_DRAWS).map(|_| normal(&mut random) as f32).collect();
        draws.push((0..n).map(of_entry).collect());
    }
    let confidence = 1.0 - 0.05 / N_BOARDS as f64;
    let orders: Vec<Orders> = scores
        .iter()
        .zip(&draws)
        .map(|(scores, draws)| {
            let entries = scores.iter().zip(draws).map(|(&score, deviations)| Entry {
                score,
                is_ranked: true,
                deviations,
            });
            Orders::new(
                n,
                joint_orders(&entries.collect::<Vec<_>>(), &|_, _, _| usize::MAX, confidence),
            )
        })
        .collect();
    let all: Vec<&Orders> = orders.iter().collect();
    let of_truths = |boards: &[Vec<f64>]| -> Vec<f64> {
        combine(boards, Method::MeanRank)
            .values
            .iter()
            .map(|rank| -rank)
            .collect()
    };
    // mean ranks may all be equal, and then there is no tau-b to be held
    let held = |truth: Option<f64>, interval: Option<(f64, f64)>| {
        let (low, high) = interval.expect("entries");
        let is_held = truth.is_none_or(|truth| low - 1e-9 <= truth && truth <= high + 1e-9);
        (is_held, high - low)
    };
    let (whole, without) = (of_truths(&truths), of_truths(&truths[1..]));
    let drawn = |draw: usize| {
        let at = |board: usize| -> Vec<f64> {
            let of_board = scores[board].iter().zip(&draws[board]);
            of_board
                .map(|(score, draws)| score + f64::from(draws[draw]))
                .collect()
        };
        tau_b(&at(0), &at(1)).expect("no ties")
    };
    let taus: Vec<f64> = (0..100).map(drawn).collect();
    let mean = taus.iter().sum::<f64>() / 100.0;
    let spread = (taus.iter().map(|tau| (tau - mean).powi(2)).sum::<f64>() / 99.0).sqrt();
    let (truth, value) = (tau_b(&truths[0], &truths[1]), tau_b(&scores[0], &scores[1]));
    let is_near = truth
        .zip(value)
        .is_some_and(|(truth, value)| (truth - value).abs() <= 1.96 * spread);
    let boards: Vec<&[f64]> = truths.iter().map(Vec::as_slice).collect();
    (
        is_near,
        [
            held(truth, tau_interval(&orders[0], &orders[1])),
            held(kendalls_w(&boards), w_interval(&all)),
            held(
                tau_b(&whole, &without),
                tau_interval(&Orders::of_mean_ranks(&all), &Orders::of_mean_ranks(&all[1..])),
            ),
        ],
    )
}

fn coverage(n: usize, spread: (f64, f64), n_runs: u64) -> (f64, [(f64, f64); 3]) {
    let runs: Vec<Run> = (0..n_runs)
        .into_par_iter()
        .map(|seed| run(seed, n, spread))
        .collect();
    let share = |n: usize| n as f64 / n_runs as f64;
    let covered = |figure: usize| {
        let n_held = runs.iter().filter(|(_, figures)| figures[figure].0).count();
        let width: f64 = runs.iter().map(|(_, figures)| figures[figure].1).sum();
        (share(n_held), width / n_runs as f64)
    };
    (
        share(runs.iter().filter(|(is_near, _)| *is_near).count()),
        [0, 1, 2].map(covered),
    )
}

#[test]
fn bounds_hold_the_true_agreement_of_boards() {
    let n_runs = std::env::var("ACROSS_RUNS")
        .ok()
        .and_then(|runs| runs.parse().ok());
    let Some(n_runs) = n_runs else {
        let (_, held) = coverage(8, (3.0, 0.0), 50);
        for (held, width) in held {
            // four Monte Carlo errors below .95 in 50 runs
            assert!(held >= 0.827, "{held}");
            assert!(width < 1.9, "bounds of everything say nothing: {width}");
        }
        return;
    };
    println!(
        "| submitters | spread on all boards, on each | tau-b: draws | tau-b: held, width | W | without a board |\n|--:|---|---|---|---|---|"
    );
    for n in [5, 10, 20] {
        for spread in [(1.0, 0.0), (4.0, 0.0), (4.0, 3.0), (10.0, 10.0)] {
            let (near, held) = coverage(n, spread, n_runs);
            let [tau, w, without] = held.map(|(held, width)| format!("{held:.3}, {width:.2}"));
            println!(
                "| {n} | {}, {} | {near:.3} | {tau} | {w} | {without} |",
                spread.0, spread.1
            );
        }
    }
}
