//! How often the intervals of shares hold the truth, by simulation: of items that come in clusters, and of wrong labels.
//!
//! The tests make few runs. `SHARE_RUNS=20000 cargo test --workspace --test simulations shares -- --nocapture` makes the tables of
//! docs/statistics.md.

use dataperf_numerics::agreement::{Stratum, clustered_share_interval, share_interval, stratified_share};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::random::{normal, uniform};

fn n_runs(few: u64) -> (u64, bool) {
    let many = std::env::var("SHARE_RUNS")
        .ok()
        .and_then(|runs| runs.parse().ok());
    (many.unwrap_or(few), many.is_some())
}

/// The share of items that annotators of different skill get wrong: `[Wilson's interval, that of clusters]`, how often each holds it.
fn of_clusters(n_clusters: usize, n_items: usize, spread: f64, n_runs: u64) -> [f64; 2] {
    let share_of = |skill: f64| 1.0 / (1.0 + (1.0 - spread * skill).exp());
    let points = (-600..=600).map(|point| f64::from(point) / 100.0);
    let density = |x: f64| (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt() / 100.0;
    let truth: f64 = points.map(|x| share_of(x) * density(x)).sum();
    let mut held = [0_u32; 2];
    for seed in 0..n_runs {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let cluster = |random: &mut Xoshiro256PlusPlus| {
            let share = share_of(normal(random));
            let n = n_items / 2 + (uniform(random) * n_items as f64) as usize;
            ((0..n).filter(|_| uniform(random) < share).count(), n)
        };
        let clusters: Vec<(usize, usize)> = (0..n_clusters).map(|_| cluster(&mut random)).collect();
        let (n_found, n) = clusters
            .iter()
            .fold((0, 0), |sum, cluster| (sum.0 + cluster.0, sum.1 + cluster.1));
        let intervals = [share_interval(n_found, n), clustered_share_interval(&clusters)];
        for (held, interval) in held.iter_mut().zip(intervals) {
            let (low, high) = interval.unwrap();
            *held += u32::from(low <= truth && truth <= high);
        }
    }
    held.map(|held| f64::from(held) / n_runs as f64)
}

#[test]
fn intervals_of_shares_hold_for_clusters() {
    let (n_runs, is_table) = n_runs(400);
    if !is_table {
        let [items, clusters] = of_clusters(10, 20, 1.0, n_runs);
        // four Monte Carlo errors of .95 are .044
        assert!(clusters >= 0.906 && items < 0.9, "{items} {clusters}");
        return;
    }
    println!("| clusters x items | spread, logits | Wilson | clusters |\n|---|---|---|---|");
    for (n_clusters, n_items) in [(5, 20), (10, 20), (20, 20), (20, 50), (50, 20)] {
        for spread in [0.0, 0.5, 1.0] {
            let [items, clusters] = of_clusters(n_clusters, n_items, spread, n_runs);
            println!("| {n_clusters} x {n_items} | {spread} | {items:.3} | {clusters:.3} |");
        }
    }
}

/// A finite test set whose wrong labels are found with some probability: how often Wilson's interval of what was flagged and wrong holds
/// the share of wrong labels, how often the stratified one does, and the mean width of the latter.
fn of_labels(n_items: usize, share: f64, recall: f64, n_control: usize, n_runs: u64) -> [f64; 3] {
    let n_wrong = (share * n_items as f64).round() as usize;
    let truth = n_wrong as f64 / n_items as f64;
    let (mut flags, mut strata, mut width) = (0_u32, 0_u32, 0.0);
    for seed in 0..n_runs {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let n_right = (0..n_wrong).filter(|_| uniform(&mut random) < recall).count();
        let n_flagged = n_right + n_right / 2; // two of three flags are right
        let (n_missed, n_others) = (n_wrong - n_right, n_items - n_flagged);
        // without replacement
        let (mut n_found, mut left) = (0, n_missed);
        for drawn in 0..n_control.min(n_others) {
            if uniform(&mut random) * ((n_others - drawn) as f64) < left as f64 {
                (n_found, left) = (n_found + 1, left - 1);
            }
        }
        let stratum = |n_items, n_decided, n_found| Stratum {
            n_items,
            n_decided,
            n_found,
        };
        let holds = |(low, high): (f64, f64)| low <= truth && truth <= high;
        flags += u32::from(holds(share_interval(n_right, n_items).unwrap()));
        let (_, interval) = stratified_share(
            stratum(n_flagged, n_flagged, n_right),
            stratum(n_others, n_control.min(n_others), n_found),
        )
        .unwrap();
        strata += u32::from(holds(interval));
        width += interval.1 - interval.0;
    }
    [f64::from(flags), f64::from(strata), width].map(|sum| sum / n_runs as f64)
}

#[test]
fn error_rates_take_a_control_sample() {
    let (n_runs, is_table) = n_runs(400);
    if !is_table {
        let [flags, strata, _] = of_labels(285, 0.049, 0.26, 100, n_runs);
        assert!(strata >= 0.95 && flags < 0.5, "{flags} {strata}");
        return;
    }
    println!(
        "| items, wrong, found by flags | control sample | flags alone | stratified | its width |\n|---|---|---|---|---|"
    );
    for (n_items, share, recall) in [
        (285, 0.049, 0.26),
        (897, 0.05, 0.57),
        (897, 0.05, 0.93),
        (5_000, 0.05, 0.26),
        (5_000, 0.01, 0.5),
    ] {
        for n_control in [50, 100, 300] {
            let [flags, strata, width] = of_labels(n_items, share, recall, n_control, n_runs);
            println!(
                "| {n_items}, {:.1} %, {:.0} % | {n_control} | {flags:.3} | {strata:.3} | {width:.3} |",
                100.0 * share,
                100.0 * recall
            );
        }
    }
}
