//! How often the intervals of `dataperf rank` hold the truth, by simulation, as a Markdown table.
//!
//!     cargo run --release -p dataperf-rank --example rank_coverage -- [RUNS]
//!
//! In each run the items are freshly drawn, and ten systems are tried on them. A rank interval counts only if it holds all ranks that a
//! system shares with others of the same true score.

use dataperf_rank::{Draws, Pair, Ranking, Table};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

const N_SYSTEMS: usize = 10;
const N_RUNS: usize = 10_000;

/// The kind of values.
#[derive(Clone, Copy, PartialEq)]
enum Value {
    RightOrWrong,
    /// With deviations that are normal, or exponential.
    Normal,
    Skewed,
}

struct Scenario {
    name: &'static str,
    value: Value,
    n_items: usize,
    n_clusters: Option<usize>,
    is_weighted: bool,
    /// The difference between neighbours' true scores.
    step: f64,
}

fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    (-2.0 * (1.0 - uniform(random)).ln()).sqrt() * (std::f64::consts::TAU * uniform(random)).cos()
}

impl Scenario {
    fn truth(&self, system: usize) -> f64 {
        0.6 - self.step * system as f64
    }

    fn table(&self, random: &mut Xoshiro256PlusPlus) -> Table {
        let clusters = self
            .n_clusters
            .map(|n| (0..self.n_items).map(|item| item % n).collect::<Vec<_>>());
        let weights = self
            .is_weighted
            .then(|| (0..self.n_items).map(|_| (0.7 * normal(random)).exp()).collect());
        // an item, or a cluster, is easier or harder for all systems, and a cluster for some more than for others
        let n_difficulties = self.n_clusters.unwrap_or(self.n_items);
        let difficulties: Vec<f64> = (0..n_difficulties).map(|_| 0.6 * uniform(random) - 0.3).collect();
        let mut values = Vec::new();
        for system in 0..N_SYSTEMS {
            let of_clusters: Vec<f64> = (0..self.n_clusters.unwrap_or(0))
                .map(|_| 0.2 * uniform(random) - 0.1)
                .collect();
            let value = |item: usize, random: &mut Xoshiro256PlusPlus| {
                let cluster = clusters.as_ref().map_or(item, |clusters| clusters[item]);
                let mean =
                    self.truth(system) + difficulties[cluster] + of_clusters.get(cluster).unwrap_or(&0.0);
                match self.value {
                    Value::RightOrWrong => f64::from(u8::from(uniform(random) < mean)),
                    Value::Normal => mean + 0.1 * normal(random),
                    Value::Skewed => mean + 0.1 * (-(1.0 - uniform(random)).ln() - 1.0),
                }
            };
            values.push((0..self.n_items).map(|item| value(item, random)).collect());
        }
        Table {
            items: (0..self.n_items).map(|item| format!("{item:06}")).collect(),
            systems: (0..N_SYSTEMS).map(|system| system.to_string()).collect(),
            values,
            clusters,
            weights,
            notes: Vec::new(),
        }
    }

    /// For each system whether its rank interval and its score's hold the truth; whether the interval of the difference of the first two
    /// does; the mean width of rank intervals.
    fn run(&self, seed: u64) -> (Vec<[bool; 2]>, bool, f64) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let table = self.table(&mut random);
        let draws = Draws::new(&table, false);
        let (ranking, pair) = (Ranking::new(&table, &draws), Pair::new(&table, &draws, 0, 1));
        let mut held = vec![[false; 2]; N_SYSTEMS];
        let mut width = 0.0;
        for row in &ranking.rows {
            let system: usize = row.system.parse().unwrap_or(0);
            let (first, last) = if self.step > 0.0 {
                (system, system)
            } else {
                (0, N_SYSTEMS - 1)
            };
            let (Some(low), Some(high)) = (row.rank_low, row.rank_high) else {
                continue;
            };
            let holds_score = row
                .score_low
                .zip(row.score_high)
                .is_some_and(|(low, high)| (low..=high).contains(&self.truth(system)));
            held[system] = [low as usize <= first + 1 && last < high as usize, holds_score];
            width += f64::from(high - low + 1) / N_SYSTEMS as f64;
        }
        // no interval says that nothing is known
        let difference = self.truth(0) - self.truth(1);
        let ends = pair.difference_low.zip(pair.difference_high);
        (
            held,
            ends.is_none_or(|(low, high)| (low..=high).contains(&difference)),
            width,
        )
    }
}

#[allow(clippy::print_stdout, reason = "this program's result")]
fn main() {
    let n_runs = std::env::args()
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(N_RUNS);
    let plain = |name, value, n_items, step| Scenario {
        name,
        value,
        n_items,
        n_clusters: None,
        is_weighted: false,
        step,
    };
    let scenarios = [
        plain("right or wrong, tied", Value::RightOrWrong, 50, 0.0),
        plain("right or wrong, tied", Value::RightOrWrong, 500, 0.0),
        plain("right or wrong, .02 apart", Value::RightOrWrong, 500, 0.02),
        plain("scores, tied", Value::Normal, 20, 0.0),
        plain("scores, tied", Value::Normal, 50, 0.0),
        plain("scores, .02 apart", Value::Normal, 50, 0.02),
        plain("skewed scores, tied", Value::Skewed, 20, 0.0),
        plain("skewed scores, tied", Value::Skewed, 50, 0.0),
        Scenario {
            n_clusters: Some(25),
            ..plain(
                "right or wrong in 25 clusters, tied",
                Value::RightOrWrong,
                500,
                0.0,
            )
        },
        Scenario {
            n_clusters: Some(25),
            ..plain("scores in 25 clusters, tied", Value::Normal, 200, 0.0)
        },
        Scenario {
            is_weighted: true,
            ..plain("right or wrong, weighted, tied", Value::RightOrWrong, 200, 0.0)
        },
        Scenario {
            is_weighted: true,
            ..plain("scores, weighted, tied", Value::Normal, 80, 0.0)
        },
        Scenario {
            is_weighted: true,
            n_clusters: Some(40),
            ..plain(
                "right or wrong, weighted, in 40 clusters, tied",
                Value::RightOrWrong,
                400,
                0.0,
            )
        },
    ];
    println!(
        "| values | items | rank: rarest | mean width | score: rarest | difference |\n|---|--:|--:|--:|--:|--:|"
    );
    for scenario in scenarios {
        let runs: Vec<_> = (0..n_runs)
            .into_par_iter()
            .map(|run| scenario.run(run as u64))
            .collect();
        let share = |n: usize| n as f64 / n_runs as f64;
        let rarest = |method: usize| {
            let of_system = |system: usize| share(runs.iter().filter(|run| run.0[system][method]).count());
            (0..N_SYSTEMS).map(of_system).fold(1.0, f64::min)
        };
        let width: f64 = runs.iter().map(|run| run.2).sum::<f64>() / n_runs as f64;
        println!(
            "| {} | {} | {:.3} | {width:.2} | {:.3} | {:.3} |",
            scenario.name,
            scenario.n_items,
            rarest(0),
            rarest(1),
            share(runs.iter().filter(|run| run.1).count())
        );
    }
}
