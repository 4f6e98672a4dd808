//! How often rank intervals hold the true rank and score intervals the true score, by simulation: `cargo run --release -p
//! dataperf-numerics --example coverage`.
//!
//! Each run draws a new test set, whose items differ in difficulty, and scores a number of entries on it. An
//! interval holds the truth when all ranks that an entry shares with others of the same true score are within it. The table says how
//! often that is for the entry for which it is rarest, and for all together, beside the ranks that percentiles of bootstrapped ranks
//! give; and for score intervals, before their ends are moved outward. With `--dump DIR` the scores and the covariances of each
//! scenario's first 200 runs are written as JSON, for `tests/peers/rank_widths.py`.
//!
//! Arguments: the number of runs (2000), and a word that the scenarios' names have to contain.

#![allow(
    clippy::print_stdout,
    clippy::too_many_lines,
    clippy::type_complexity,
    clippy::unused_self,
    reason = "a program that prints a table, run by hand"
)]

mod scenario;

use std::io::Write as _;
use std::path::PathBuf;

use dataperf_numerics::bootstrap::N_DRAWS;
use dataperf_numerics::metrics::mean;
use dataperf_numerics::ranks::{Entry, compare, degrees_of_freedom, rank_percentiles, score_interval};
use rayon::prelude::*;

use scenario::{Field, Scenario, Score, Scored};

/// Runs of a scenario of which the scores are written.
const DUMPED: usize = 200;

/// What one run came to: for each entry whether its interval holds its ranks, and its width; the same of percentiles; whether its score's
/// interval holds its true score.
struct Judged {
    ranks: Vec<(bool, u32)>,
    percentiles: Vec<(bool, u32)>,
    scores: Vec<bool>,
}

/// The scores and covariances of one run as JSON.
fn dumped(scored: &[Scored], widths: &[u32]) -> String {
    let numbers = |scored: &Scored| {
        scored
            .deviations
            .iter()
            .map(|&d| f64::from(d))
            .collect::<Vec<f64>>()
    };
    let deviations: Vec<Vec<f64>> = scored.iter().map(numbers).collect();
    let means: Vec<f64> = deviations.iter().map(|numbers| mean(numbers)).collect();
    let covariance = |a: usize, b: usize| {
        let products = deviations[a].iter().zip(&deviations[b]);
        products
            .map(|(x, y)| (x - means[a]) * (y - means[b]))
            .sum::<f64>()
            / (N_DRAWS - 1) as f64
    };
    let row = |a: usize| (0..scored.len()).map(|b| covariance(a, b)).collect();
    let rows: Vec<Vec<f64>> = (0..scored.len()).map(row).collect();
    let scores: Vec<f64> = scored.iter().map(|numbers| numbers.score).collect();
    format!("{{\"scores\":{scores:?},\"covariance\":{rows:?},\"widths\":{widths:?}}}")
}

fn judged(scenario: &Scenario, scored: &[Scored]) -> Judged {
    let truth = scenario.truth();
    let mut order: Vec<usize> = (0..scored.len()).collect();
    order.sort_by(|&a, &b| scored[b].score.total_cmp(&scored[a].score));
    let entry = |&entry: &usize| Entry {
        score: scored[entry].score,
        is_ranked: true,
        deviations: &scored[entry].deviations,
    };
    let entries: Vec<Entry<'_>> = order.iter().map(entry).collect();
    let degrees = |one: usize, other: usize, _: f64| {
        let (one, other) = (&scored[order[one]].n_right, &scored[order[other]].n_right);
        let n_different = one.iter().zip(other).filter(|(a, b)| a != b).count();
        degrees_of_freedom(n_different, scenario.n_clusters)
    };
    let compared = compare(&entries, &degrees);
    let by_percentiles = rank_percentiles(&entries);
    let mut ranks = vec![(false, 0); scored.len()];
    let mut percentiles = ranks.clone();
    for (place, &entry) in order.iter().enumerate() {
        let n_better = truth.iter().filter(|other| **other > truth[entry] + 1e-12);
        let n_worse = truth.iter().filter(|other| **other < truth[entry] - 1e-12);
        let (best, worst) = (
            1 + n_better.count() as u32,
            (truth.len() - n_worse.count()) as u32,
        );
        let covers = |first: u32, last: u32| (first <= best && worst <= last, last - first + 1);
        ranks[entry] = covers(compared[place].first, compared[place].last);
        percentiles[entry] = covers(by_percentiles[place].0, by_percentiles[place].1);
    }
    let holds = |(scored, truth): (&Scored, &f64)| {
        let interval = score_interval(scored.score, &scored.deviations, scenario.smallest());
        interval.is_some_and(|(low, high)| low - 1e-9 <= *truth && *truth <= high + 1e-9)
    };
    Judged {
        ranks,
        percentiles,
        scores: scored.iter().zip(&truth).map(holds).collect(),
    }
}

fn scenarios() -> Vec<Scenario> {
    let mut scenarios = Vec::new();
    let mut add = |score, fields: &[Field], sizes: &[(usize, usize, usize)], clusters: &[Option<usize>]| {
        for &field in fields {
            for &n_clusters in clusters {
                for &(n_entries, n_classes, items_of_class) in sizes {
                    scenarios.push(Scenario {
                        score,
                        field,
                        n_entries,
                        n_classes,
                        items_of_class,
                        n_clusters,
                    });
                }
            }
        }
    };
    let fields = [Field::SpreadOut, Field::NearlyEqual, Field::Tied];
    let sizes = [(20, 2, 10), (20, 2, 20), (20, 5, 20), (20, 5, 100), (5, 2, 250)];
    for score in [Score::Accuracy, Score::MacroF1, Score::Fixes, Score::Acquisition] {
        add(score, &fields, &sizes, &[None]);
    }
    // clusters of 20 items, ten of each class
    for score in [Score::Accuracy, Score::MacroF1] {
        for n_clusters in [20, 30, 50, 100] {
            let sizes = [(20, 2, 10 * n_clusters), (5, 2, 10 * n_clusters)];
            add(score, &[Field::Tied], &sizes, &[Some(n_clusters)]);
        }
    }
    let sizes = [(20, 2, 80), (20, 2, 200), (20, 2, 1_000)];
    add(Score::WorstGroup, &[Field::Tied], &sizes, &[None]);
    let sizes = [
        (20, 2, 20),
        (20, 2, 50),
        (20, 2, 100),
        (20, 2, 250),
        (20, 2, 1_000),
    ];
    add(Score::Accuracy, &[Field::Perfect], &sizes, &[None]);
    add(Score::MacroF1, &[Field::Perfect], &sizes, &[None]);
    scenarios
}

fn main() -> std::io::Result<()> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let directory = arguments.iter().position(|word| word == "--dump").map(|at| {
        let directory = PathBuf::from(arguments.get(at + 1).cloned().unwrap_or_default());
        arguments.drain(at..(at + 2).min(arguments.len()));
        directory
    });
    let n_runs: usize = arguments
        .first()
        .and_then(|word| word.parse().ok())
        .unwrap_or(2_000);
    let wanted = arguments.get(1).cloned().unwrap_or_default();
    println!(
        "| score | true scores | entries | classes x items | rarest | all | width | percentiles: rarest | all | width | score: rarest | all |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    for (number, scenario) in scenarios()
        .iter()
        .enumerate()
        .filter(|(_, scenario)| scenario.name().contains(&wanted))
    {
        let run = |run: usize| {
            let scored = scenario.run((number * 1_000_000 + run) as u64);
            let judged = judged(scenario, &scored);
            let widths: Vec<u32> = judged.ranks.iter().map(|rank| rank.1).collect();
            let dump = (directory.is_some() && run < DUMPED).then(|| dumped(&scored, &widths));
            (judged, dump)
        };
        let (runs, dumps): (Vec<Judged>, Vec<Option<String>>) = (0..n_runs).into_par_iter().map(run).unzip();
        let covered = |holds: &dyn Fn(&Judged, usize) -> bool| {
            let of_entry =
                |entry: usize| runs.iter().filter(|run| holds(run, entry)).count() as f64 / n_runs as f64;
            let of_entries: Vec<f64> = (0..scenario.n_entries).map(of_entry).collect();
            let rarest = of_entries.iter().copied().fold(1.0, f64::min);
            format!("{rarest:.3} | {:.3}", mean(&of_entries))
        };
        let width = |figure: &dyn Fn(&Judged) -> u32| {
            runs.iter().map(|run| f64::from(figure(run))).sum::<f64>() / (n_runs * scenario.n_entries) as f64
        };
        let total = |widths: &[(bool, u32)]| widths.iter().map(|width| width.1).sum();
        println!(
            "| {} | {} | {:.2} | {} | {:.2} | {} |",
            scenario.name(),
            covered(&|run, entry| run.ranks[entry].0),
            width(&|run| total(&run.ranks)),
            covered(&|run, entry| run.percentiles[entry].0),
            width(&|run| total(&run.percentiles)),
            covered(&|run, entry| run.scores[entry]),
        );
        std::io::stdout().flush()?;
        if let Some(directory) = &directory {
            std::fs::create_dir_all(directory)?;
            let name = scenario.name().replace(" | ", "_").replace(' ', "-");
            let lines: Vec<String> = dumps.into_iter().flatten().collect();
            std::fs::write(
                directory.join(format!("{name}.json")),
                format!("[{}]", lines.join(",\n")),
            )?;
        }
    }
    Ok(())
}
