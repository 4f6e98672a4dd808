//! How often the report's intervals hold the truth, by simulation. The table of docs/statistics.md is printed by
//! `RETIREMENT_RUNS=2000 cargo test --workspace --lib -- --nocapture gaps_and_slopes`.
//!
//! Ten submissions of different ability answer items of different difficulty. Each run draws both
//! test sets again; items of the second are harder. The true gaps, slope and intercept are those
//! over all items. tau-b depends on the sizes of the test sets: its true value is the average over
//! such test sets, estimated from all runs.

use std::sync::Arc;

use dataperf_numerics::agreement::fitted_line;
use dataperf_numerics::bootstrap::{Answers, ItemMetric, N_BATCHES, Resampler, draws_of};
use dataperf_numerics::metrics::ItemWeights;
use rayon::prelude::*;

use super::tests::{on_both, report};
use super::*;

const ABILITIES: [f64; 10] = [2.0, 1.8, 1.6, 1.5, 1.4, 1.2, 1.0, 0.9, 0.7, 0.4];
const N_CLASSES: usize = 2;
/// By how much items of the second test set are harder.
const HARDER: f64 = 0.3;

/// Random numbers (`SplitMix64`).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.uniform()).ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// The accuracy over all items there are: their difficulties are standard normal.
fn expected(ability: f64) -> f64 {
    let points = (-600..=600).map(|point| f64::from(point) / 100.0);
    let density = |x: f64| (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt() / 100.0;
    points.map(|x| sigmoid(ability - x) * density(x)).sum()
}

/// The accuracy of each submission on a test set drawn for this run, with its draws.
fn scored(random: &mut Random, name: &str, items_of_class: usize, harder: f64) -> Vec<Arc<Replicates>> {
    let n_items = N_CLASSES * items_of_class;
    let truth: Vec<u8> = (0..n_items).map(|item| (item % N_CLASSES) as u8).collect();
    let difficulties: Vec<f64> = (0..n_items).map(|_| random.normal() + harder).collect();
    let seed = std::array::from_fn(|_| random.next() as u8);
    let resampler = Resampler::of_items(&truth, None, seed);
    let of_submission = |ability: &f64| {
        let answers: Vec<u8> = truth
            .iter()
            .zip(&difficulties)
            .map(|(truth, difficulty)| {
                let is_right = random.uniform() < sigmoid(ability - difficulty);
                if is_right { *truth } else { 1 - *truth }
            })
            .collect();
        let score = ItemMetric::Accuracy.value(&truth, &answers, ItemWeights::Ones);
        (score, answers)
    };
    let answered: Vec<(f64, Vec<u8>)> = ABILITIES.iter().map(of_submission).collect();
    let ready = Answers::new(
        ItemMetric::Accuracy,
        &truth,
        answered.iter().map(|(_, answers)| &answers[..]),
    );
    let mut deviations = vec![Vec::with_capacity(N_DRAWS); ABILITIES.len()];
    for batch in 0..N_BATCHES {
        let drawn = ready.values(&resampler.batch(batch));
        for (submission, (score, _)) in answered.iter().enumerate() {
            let values = drawn[submission][..draws_of(batch).len()].iter();
            deviations[submission]
                .extend(values.map(|value| (resampler.widening() * (value - score)) as f32));
        }
    }
    let replicates = answered
        .into_iter()
        .zip(deviations)
        .map(|((score, _), deviations)| {
            Arc::new(Replicates {
                deviations,
                ..Replicates::of_test(score, items_of_class, n_items).of_test_with(name)
            })
        });
    replicates.collect()
}

fn one_run(seed: u64, before: usize, after: usize) -> RetirementReport {
    let mut random = Random(seed);
    let (before, after) = (
        scored(&mut random, "old", before, 0.0),
        scored(&mut random, "new", after, HARDER),
    );
    let of_both = before
        .into_iter()
        .zip(after)
        .enumerate()
        .map(|(place, (before, after))| {
            let name = char::from(b'a' + place as u8).to_string();
            let mut both = on_both(&name, before.header.score, Some(after.header.score), 0.0);
            (both.before, both.after) = (Some(before), Some(after));
            both
        });
    report(of_both.collect(), Direction::HigherIsBetter)
}

/// How often intervals hold their truth: of the mean gap, of the submissions' own gaps, of slope and intercept, and of tau-b at these sizes.
fn coverage(n_runs: usize, before: usize, after: usize) -> [f64; 5] {
    let runs: Vec<RetirementReport> = (0..n_runs)
        .into_par_iter()
        .map(|run| one_run((1000 * (before + after) + run) as u64, before, after))
        .collect();
    let old: Vec<f64> = ABILITIES.iter().map(|ability| expected(*ability)).collect();
    let new: Vec<f64> = ABILITIES
        .iter()
        .map(|ability| expected(ability - HARDER))
        .collect();
    let gaps: Vec<f64> = old.iter().zip(&new).map(|(old, new)| old - new).collect();
    let mean_gap = gaps.iter().sum::<f64>() / gaps.len() as f64;
    // where noise leaves no line, or an end of the interval open, nothing is claimed
    let holds = |estimate: &Option<Estimate>, truth: f64| {
        let interval = estimate.and_then(|estimate| estimate.interval);
        interval.is_none_or(|(low, high)| low <= truth && truth <= high)
    };
    let share = |is_held: &dyn Fn(&RetirementReport) -> bool| {
        runs.iter().filter(|run| is_held(run)).count() as f64 / n_runs as f64
    };
    let on_average = |figure: fn(&RetirementReport) -> Option<Estimate>| {
        let mean = runs.iter().map(|run| figure(run).unwrap().value).sum::<f64>() / n_runs as f64;
        share(&|run| holds(&figure(run), mean))
    };
    let own = ABILITIES.iter().enumerate().map(|(place, _)| {
        let name = char::from(b'a' + place as u8).to_string();
        share(&|run| {
            let line = run.lines.iter().find(|line| line.submitter == name).unwrap();
            holds(&line.gap, gaps[place])
        })
    });
    let line = fitted_line(&old, &new).unwrap();
    [
        share(&|run| holds(&run.gap, mean_gap)),
        own.sum::<f64>() / ABILITIES.len() as f64,
        share(&|run| holds(&run.slope, line.slope)),
        share(&|run| holds(&run.intercept, line.intercept)),
        on_average(|run| run.tau_b),
    ]
}

/// The sizes of docs/statistics.md: items of a class in the old test set, and in the new one.
const SIZES: [(usize, usize); 6] = [
    (100, 100),
    (20, 20),
    (50, 50),
    (250, 250),
    (250, 50),
    (1000, 1000),
];

#[test]
fn gaps_and_slopes_are_held_by_their_intervals() {
    let by_hand = std::env::var("RETIREMENT_RUNS").ok();
    let sizes = if by_hand.is_some() {
        &SIZES[..]
    } else {
        &SIZES[..1]
    };
    let n_runs = by_hand.map_or(200, |n| n.parse().unwrap()); // four Monte Carlo errors of .95 are .062
    for &(before, after) in sizes {
        let covered = coverage(n_runs, before, after);
        println!("{before}, {after}: mean gap, own gaps, slope, intercept, tau-b {covered:.3?}");
        let [gap, own, slope, intercept, ..] = covered;
        for (figure, covered) in [
            ("gap", gap),
            ("own gaps", own),
            ("slope", slope),
            ("intercept", intercept),
        ] {
            assert!(covered >= 0.888, "{figure}: {covered}");
        }
    }
    // an interval that holds everything says nothing: each gap has two proportions of 200 items behind it
    let (low, high) = one_run(1, 100, 100).gap.unwrap().interval.unwrap();
    assert!(high - low < 4.0 * (2.0 * 0.25_f64 / 200.0).sqrt(), "{low} {high}");
}
