//! How often rank intervals hold the true rank, by simulation: `cargo run --release -p dataperf-numerics --example coverage`.
//!
//! In each run a number of entries is scored on an eval set drawn anew, of items of different difficulty that all entries share. An
//! interval holds the truth when all ranks that an entry shares with others of the same true score are within it. The table says how
//! often that is for the entry for which it is rarest, and for all together, beside the ranks that percentiles of bootstrapped ranks
//! give. With `--dump DIR` the scores and the covariances of each scenario's first 200 runs are written as JSON, for csranks.
//!
//! Arguments: the number of runs (2000), and a word that the scenarios' names have to contain.

#![allow(
    clippy::print_stdout,
    clippy::too_many_lines,
    clippy::type_complexity,
    clippy::unused_self,
    reason = "a program that prints a table, run by hand"
)]

use std::io::Write as _;
use std::path::PathBuf;

use dataperf_numerics::bootstrap::{
    Answers, Course, ItemMetric, LANES, N_BATCHES, N_DRAWS, Resampler, Trials, draws_of,
};
use dataperf_numerics::metrics::{ItemWeights, mean};
use dataperf_numerics::ranks::{Entry, compare, rank_percentiles};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

/// What a score is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Score {
    Accuracy,
    MacroF1,
    Fixes,
    Acquisition,
}

/// How the true scores of the entries lie.
#[derive(Debug, Clone, Copy)]
enum Field {
    SpreadOut,
    NearlyEqual,
    Tied,
}

struct Scenario {
    score: Score,
    field: Field,
    n_entries: usize,
    n_classes: usize,
    items_of_class: usize,
}

/// Models of a course of fixes.
const N_MODELS: usize = 60;
const N_TRIALS: usize = 10;
const TARGET_SHARE: f64 = 0.95;
const DUMPED: usize = 200;

fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    (-2.0 * (1.0 - uniform(random)).ln()).sqrt() * (std::f64::consts::TAU * uniform(random)).cos()
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// The mean of sigmoid(ability - difficulty) over difficulties that are standard normal.
fn expected(ability: f64) -> f64 {
    let points = (-600..=600).map(|point| f64::from(point) / 100.0);
    points
        .map(|x| sigmoid(ability - x) * (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt() / 100.0)
        .sum()
}

impl Scenario {
    fn name(&self) -> String {
        let score = match self.score {
            Score::Accuracy => "accuracy",
            Score::MacroF1 => "macro F1",
            Score::Fixes => "fraction of fixes",
            Score::Acquisition => "acquisition",
        };
        let field = match self.field {
            Field::SpreadOut => "spread out",
            Field::NearlyEqual => "nearly equal",
            Field::Tied => "tied",
        };
        format!(
            "{score} | {field} | {} | {} x {}",
            self.n_entries, self.n_classes, self.items_of_class
        )
    }

    /// The ability of each entry.
    fn abilities(&self) -> Vec<f64> {
        let step = match self.field {
            Field::SpreadOut => 0.25,
            Field::NearlyEqual => 0.01,
            Field::Tied => 0.0,
        };
        (0..self.n_entries)
            .map(|entry| 1.5 - step * entry as f64)
            .collect()
    }

    /// The true scores: larger is better.
    fn truth(&self) -> Vec<f64> {
        // All classes are alike, so that accuracy, macro F1 and their order in the limit of many items are one; entries with more
        // ability reach the target sooner.
        self.abilities()
            .into_iter()
            .map(|ability| {
                if self.score == Score::Fixes {
                    -self.true_fraction(ability)
                } else {
                    expected(ability)
                }
            })
            .collect()
    }

    /// The ability of an entry's model after some of its fixes: how soon it rises is what entries differ in.
    fn ability_after(ability: f64, model: usize) -> f64 {
        let share = model as f64 / (N_MODELS - 1) as f64;
        -0.5 + 2.5 * share.powf(1.0 / (0.3 + ability.max(0.05)))
    }

    fn true_fraction(&self, ability: f64) -> f64 {
        let of_model = |model| (expected(Self::ability_after(ability, model)) * 100.0).round() / 100.0;
        let target = TARGET_SHARE * of_model(N_MODELS - 1);
        let first = (0..N_MODELS).position(|model| of_model(model) >= target);
        first.unwrap_or(0) as f64 / N_MODELS as f64
    }

    /// The score and the deviations of each entry on one eval set, and its correctness.
    fn run(&self, seed: u64) -> Vec<(f64, Vec<f32>, Vec<u8>)> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let n_items = self.n_classes * self.items_of_class;
        let truth: Vec<u8> = (0..n_items).map(|item| (item % self.n_classes) as u8).collect();
        let difficulties: Vec<f64> = (0..n_items).map(|_| normal(&mut random)).collect();
        let mut seed = [0; 32];
        random.fill_bytes(&mut seed);
        let resampler = Resampler::of_items(&truth, None, seed);
        let batches: Vec<_> = (0..N_BATCHES).map(|batch| resampler.batch(batch)).collect();
        let n_classes = self.n_classes as u64;
        let answers = |ability: f64, luck: &mut Xoshiro256PlusPlus| -> Vec<u8> {
            let answer = |(truth, difficulty): (&u8, &f64)| {
                let is_right = uniform(luck) < sigmoid(ability - difficulty);
                let other = 1 + (luck.next_u64() >> 32) % (n_classes - 1).max(1);
                if is_right {
                    *truth
                } else {
                    ((u64::from(*truth) + other) % n_classes) as u8
                }
            };
            truth.iter().zip(&difficulties).map(answer).collect()
        };
        let trials = Trials::new(N_TRIALS, seed);
        let of_entry = |ability: f64| {
            let each_draw = |of_batch: &dyn Fn(usize) -> [f64; LANES]| -> Vec<f64> {
                (0..N_BATCHES)
                    .flat_map(|batch| of_batch(batch)[..draws_of(batch).len()].to_vec())
                    .collect()
            };
            let (score, drawn, shares): (f64, Vec<f64>, Vec<u8>) = match self.score {
                Score::Accuracy | Score::MacroF1 => {
                    let metric = if self.score == Score::Accuracy {
                        ItemMetric::Accuracy
                    } else {
                        ItemMetric::MacroF1
                    };
                    let answers = answers(ability, &mut random);
                    let ready = Answers::new(metric, &truth, [&answers[..]]);
                    let drawn = each_draw(&|batch| ready.values(&batches[batch])[0]);
                    let shares = answers
                        .iter()
                        .zip(&truth)
                        .map(|(a, t)| u8::from(a == t))
                        .collect();
                    (metric.value(&truth, &answers, ItemWeights::Ones), drawn, shares)
                }
                Score::Acquisition => {
                    let models: Vec<Vec<u8>> = (0..N_TRIALS)
                        .map(|_| {
                            let of_trial = ability + 0.1 * normal(&mut random);
                            answers(of_trial, &mut random)
                        })
                        .collect();
                    let metric = ItemMetric::Accuracy;
                    let values: Vec<f64> = models
                        .iter()
                        .map(|model| metric.value(&truth, model, ItemWeights::Ones))
                        .collect();
                    let ready = Answers::new(metric, &truth, models.iter().map(Vec::as_slice));
                    let drawn = each_draw(&|batch| {
                        let of_models = ready.values(&batches[batch]);
                        let draws = draws_of(batch);
                        std::array::from_fn(|lane| {
                            let values: Vec<f64> = of_models.iter().map(|values| values[lane]).collect();
                            if lane < draws.len() {
                                trials.mean(draws.start + lane, &values)
                            } else {
                                0.0
                            }
                        })
                    });
                    let n_right =
                        |item: usize| models.iter().filter(|model| model[item] == truth[item]).count() as u8;
                    (mean(&values), drawn, (0..n_items).map(n_right).collect())
                }
                Score::Fixes => {
                    // an item's luck is one for all models, so that it is learnt once, mostly
                    let luck: Vec<f64> = (0..n_items).map(|_| uniform(&mut random)).collect();
                    let model = |model: usize| -> Vec<u8> {
                        let ability = Self::ability_after(ability, model);
                        let right = |item: usize| luck[item] < sigmoid(ability - difficulties[item]);
                        (0..n_items)
                            .map(|item| {
                                if right(item) {
                                    truth[item]
                                } else {
                                    (truth[item] + 1) % self.n_classes as u8
                                }
                            })
                            .collect()
                    };
                    let models: Vec<Vec<u8>> = (0..N_MODELS).map(model).collect();
                    let course = Course::new(&truth, models.iter().map(Vec::as_slice));
                    let fraction = |n_right: &dyn Fn(usize) -> f64| {
                        let rounded =
                            |model: usize| (n_right(model) / n_items as f64 * 100.0).round() / 100.0;
                        let target = TARGET_SHARE * rounded(N_MODELS - 1);
                        -((0..N_MODELS)
                            .position(|model| rounded(model) >= target)
                            .unwrap_or(0) as f64)
                            / N_MODELS as f64
                    };
                    let n_right = |model: usize| {
                        models[model].iter().zip(&truth).filter(|(a, t)| a == t).count() as f64
                    };
                    let drawn = each_draw(&|batch| {
                        let (of_models, _) = course.n_right(&batches[batch]);
                        std::array::from_fn(|lane| fraction(&|model| f64::from(of_models[model][lane])))
                    });
                    let shares = (0..n_items)
                        .map(|item| models.iter().filter(|model| model[item] == truth[item]).count() as u8);
                    (fraction(&n_right), drawn, shares.collect())
                }
            };
            let widened = resampler.widening();
            let deviations = drawn
                .iter()
                .map(|drawn| (widened * (drawn - score)) as f32)
                .collect();
            (score, deviations, shares)
        };
        self.abilities().into_iter().map(of_entry).collect()
    }
}

/// What one run came to: for each entry whether its interval holds its ranks, and its width; then the same of percentiles.
fn judged(scenario: &Scenario, seed: u64, dump: &mut Option<Vec<String>>) -> [Vec<(bool, u32)>; 2] {
    let truth = scenario.truth();
    let scored = scenario.run(seed);
    let mut order: Vec<usize> = (0..scored.len()).collect();
    order.sort_by(|&a, &b| scored[b].0.total_cmp(&scored[a].0));
    let entries: Vec<Entry<'_>> = order
        .iter()
        .map(|&entry| Entry {
            score: scored[entry].0,
            is_ranked: true,
            deviations: &scored[entry].1,
        })
        .collect();
    let n_different = |one: usize, other: usize, _: f64| {
        let (one, other) = (&scored[order[one]].2, &scored[order[other]].2);
        one.iter().zip(other).filter(|(a, b)| a != b).count()
    };
    let compared = compare(&entries, &n_different);
    let percentiles = rank_percentiles(&entries);
    let mut both = [vec![(false, 0); scored.len()], vec![(false, 0); scored.len()]];
    for (place, &entry) in order.iter().enumerate() {
        let n_better = truth
            .iter()
            .filter(|other| **other > truth[entry] + 1e-12)
            .count() as u32;
        let n_worse = truth
            .iter()
            .filter(|other| **other < truth[entry] - 1e-12)
            .count() as u32;
        let (best, worst) = (1 + n_better, truth.len() as u32 - n_worse);
        let of = |first: u32, last: u32| (first <= best && worst <= last, last - first + 1);
        both[0][entry] = of(compared[place].first, compared[place].last);
        both[1][entry] = of(percentiles[place].0, percentiles[place].1);
    }
    if let Some(dump) = dump {
        let scores: Vec<f64> = scored.iter().map(|of| of.0).collect();
        let means: Vec<f64> = scored
            .iter()
            .map(|of| of.1.iter().map(|&d| f64::from(d)).sum::<f64>() / N_DRAWS as f64)
            .collect();
        let covariance = |a: usize, b: usize| {
            let products = scored[a].1.iter().zip(&scored[b].1);
            products
                .map(|(&x, &y)| (f64::from(x) - means[a]) * (f64::from(y) - means[b]))
                .sum::<f64>()
                / (N_DRAWS - 1) as f64
        };
        let rows: Vec<Vec<f64>> = (0..scored.len())
            .map(|a| (0..scored.len()).map(|b| covariance(a, b)).collect())
            .collect();
        let widths: Vec<u32> = both[0].iter().map(|of| of.1).collect();
        dump.push(format!(
            "{{\"scores\":{scores:?},\"covariance\":{rows:?},\"widths\":{widths:?}}}"
        ));
    }
    both
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
    let mut scenarios = Vec::new();
    for score in [Score::Accuracy, Score::MacroF1, Score::Fixes, Score::Acquisition] {
        for field in [Field::SpreadOut, Field::NearlyEqual, Field::Tied] {
            for (n_entries, n_classes, items_of_class) in
                [(20, 2, 10), (20, 2, 20), (20, 5, 20), (20, 5, 100), (5, 2, 250)]
            {
                scenarios.push(Scenario {
                    score,
                    field,
                    n_entries,
                    n_classes,
                    items_of_class,
                });
            }
        }
    }
    println!(
        "| score | true scores | entries | classes x items | rarest | all | width | percentiles: rarest | all | width |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (number, scenario) in scenarios
        .iter()
        .enumerate()
        .filter(|(_, scenario)| scenario.name().contains(&wanted))
    {
        let runs: Vec<([Vec<(bool, u32)>; 2], Option<Vec<String>>)> = (0..n_runs)
            .into_par_iter()
            .map(|run| {
                let mut dump = (directory.is_some() && run < DUMPED).then(Vec::new);
                let judged = judged(scenario, (number * 1_000_000 + run) as u64, &mut dump);
                (judged, dump)
            })
            .collect();
        let mut cells = Vec::new();
        for method in 0..2 {
            let covered = |entry: usize| {
                runs.iter().filter(|(run, _)| run[method][entry].0).count() as f64 / n_runs as f64
            };
            let of_entries: Vec<f64> = (0..scenario.n_entries).map(covered).collect();
            let widths = runs
                .iter()
                .flat_map(|(run, _)| run[method].iter().map(|of| f64::from(of.1)));
            let width = widths.sum::<f64>() / (n_runs * scenario.n_entries) as f64;
            let rarest = of_entries.iter().copied().fold(1.0, f64::min);
            cells.push(format!("{rarest:.3} | {:.3} | {width:.2}", mean(&of_entries)));
        }
        println!("| {} | {} |", scenario.name(), cells.join(" | "));
        std::io::stdout().flush()?;
        if let Some(directory) = &directory {
            let lines: Vec<String> = runs.into_iter().filter_map(|(_, dump)| dump).flatten().collect();
            std::fs::create_dir_all(directory)?;
            let name = scenario.name().replace(" | ", "_").replace(' ', "-");
            std::fs::write(
                directory.join(format!("{name}.json")),
                format!("[{}]", lines.join(",\n")),
            )?;
        }
    }
    Ok(())
}
