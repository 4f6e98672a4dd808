//! How often the interval of a fraction of fixes holds the true fraction, by simulation.
//!
//! The test makes few runs. `PLACE_RUNS=1000 cargo test --workspace --test simulations places -- --nocapture` makes the table of docs/statistics.md.

use dataperf_numerics::bootstrap::{Course, N_BATCHES, Resampler, draws_of};
use dataperf_numerics::ranks::{Certainty, Margin, first_at_target};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use crate::random::{expected, normal, sigmoid, uniform};

/// Models of a course of fixes.
const N_MODELS: usize = 60;
const TARGET_SHARE: f64 = 0.95;

/// The parameters of a simulation.
#[derive(Clone, Copy)]
struct Scenario {
    n_tasks: usize,
    items_of_class: usize,
    is_rounded: bool,
    /// How soon the curve rises: less is sooner.
    power: f64,
}

impl Scenario {
    /// A score to compare with the target.
    fn compared(self, accuracy: f64) -> f64 {
        if self.is_rounded {
            (accuracy * 100.0).round() / 100.0
        } else {
            accuracy
        }
    }

    /// The first model at the target.
    fn first(self, accuracies: &[f64]) -> usize {
        let target = TARGET_SHARE * self.compared(accuracies[N_MODELS - 1]);
        let is_there = |&accuracy: &f64| self.compared(accuracy) >= target;
        accuracies.iter().position(is_there).unwrap_or(N_MODELS - 1)
    }

    /// One task: the true place and its interval on a test set, as fractions.
    fn task(self, random: &mut Xoshiro256PlusPlus) -> (f64, (f64, f64)) {
        // what a fix changes is not the same each time
        let ability = |model: usize, random: &mut Xoshiro256PlusPlus| {
            let share = model as f64 / (N_MODELS - 1) as f64;
            -0.5 + 2.5 * share.powf(self.power) + 0.05 * normal(random)
        };
        let abilities: Vec<f64> = (0..N_MODELS).map(|model| ability(model, random)).collect();
        let truths: Vec<f64> = abilities.iter().map(|&ability| expected(ability)).collect();
        let n_items = 2 * self.items_of_class;
        let truth: Vec<u8> = (0..n_items).map(|item| (item % 2) as u8).collect();
        let difficulties: Vec<f64> = truth.iter().map(|_| normal(random)).collect();
        // an item's luck is nearly one for all models: it is learnt once, mostly
        let luck: Vec<f64> = truth.iter().map(|_| uniform(random)).collect();
        let models: Vec<Vec<u8>> = abilities
            .iter()
            .map(|ability| {
                let answer = |item: usize| {
                    let luck = if uniform(random) < 0.1 {
                        uniform(random)
                    } else {
                        luck[item]
                    };
                    truth[item] ^ u8::from(luck >= sigmoid(ability - difficulties[item]))
                };
                (0..n_items).map(answer).collect()
            })
            .collect();
        let n_right = |model: &Vec<u8>| model.iter().zip(&truth).filter(|(a, t)| a == t).count() as f64;
        let accuracies: Vec<f64> = models
            .iter()
            .map(|model| n_right(model) / n_items as f64)
            .collect();
        let mut seed = [0; 32];
        random.fill_bytes(&mut seed);
        let resampler = Resampler::of_items(&truth, None, seed);
        let course = Course::new(&truth, models.iter().map(Vec::as_slice));
        let value = |model: usize| accuracies[model] - TARGET_SHARE * accuracies[N_MODELS - 1];
        let mut margins: Vec<Margin> = (0..N_MODELS)
            .map(|model| Margin {
                value: value(model),
                deviations: Vec::new(),
            })
            .collect();
        for batch in 0..N_BATCHES {
            let (n_right, total) = course.n_right(&resampler.batch(batch));
            for lane in 0..draws_of(batch).len() {
                let drawn = |model: usize| f64::from(n_right[model][lane]) / f64::from(total[lane]);
                let target = TARGET_SHARE * drawn(N_MODELS - 1);
                for (model, margin) in margins.iter_mut().enumerate() {
                    let deviation = resampler.widening() * (drawn(model) - target - margin.value);
                    margin.deviations.push(deviation as f32);
                }
            }
        }
        let certainty = Certainty {
            smallest: self.items_of_class,
            least_error: 1.0 / n_items as f64,
            slack: if self.is_rounded {
                0.005 * (1.0 + TARGET_SHARE)
            } else {
                0.0
            },
        };
        let (low, high) = first_at_target(&margins, certainty).expect("models");
        let fraction = |model: usize| model as f64 / N_MODELS as f64;
        (fraction(self.first(&truths)), (fraction(low), fraction(high)))
    }

    /// How often the mean of the tasks' ends holds the mean of the true places, and its mean width.
    fn coverage(self, n_runs: u64) -> (f64, f64) {
        let of_run = |seed: u64| {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            let tasks: Vec<(f64, (f64, f64))> = (0..self.n_tasks).map(|_| self.task(&mut random)).collect();
            let mean = |figure: fn(&(f64, (f64, f64))) -> f64| {
                tasks.iter().map(figure).sum::<f64>() / tasks.len() as f64
            };
            let (truth, low, high) = (mean(|task| task.0), mean(|task| task.1.0), mean(|task| task.1.1));
            (low - 1e-9 <= truth && truth <= high + 1e-9, high - low)
        };
        let runs: Vec<(bool, f64)> = (0..n_runs).into_par_iter().map(of_run).collect();
        let n_held = runs.iter().filter(|(is_held, _)| *is_held).count();
        let width: f64 = runs.iter().map(|(_, width)| width).sum();
        (n_held as f64 / n_runs as f64, width / n_runs as f64)
    }
}

#[test]
fn intervals_hold_the_true_fraction_of_fixes() {
    let n_runs = std::env::var("PLACE_RUNS")
        .ok()
        .and_then(|runs| runs.parse().ok());
    let scenario = |n_tasks, items_of_class, is_rounded, power| Scenario {
        n_tasks,
        items_of_class,
        is_rounded,
        power,
    };
    if let Some(n_runs) = n_runs {
        println!(
            "| curves | items of a class | rises | held, width: plain | rounded |\n|--:|--:|---|---|---|"
        );
        for (n_tasks, sizes) in [(1, &[20, 60, 250][..]), (4, &[20, 60])] {
            for &items_of_class in sizes {
                for (curve, power) in [("soon", 0.2), ("evenly", 1.0)] {
                    let [plain, rounded] = [false, true].map(|is_rounded| {
                        let (held, width) =
                            scenario(n_tasks, items_of_class, is_rounded, power).coverage(n_runs);
                        format!("{held:.3}, {width:.2}")
                    });
                    println!("| {n_tasks} | {items_of_class} | {curve} | {plain} | {rounded} |");
                }
            }
        }
        return;
    }
    // four Monte Carlo errors below .95 in 60 runs
    for (is_rounded, power) in [(false, 1.0), (true, 0.2)] {
        let (held, width) = scenario(1, 60, is_rounded, power).coverage(60);
        assert!(held >= 0.837, "{held}");
        assert!(width < 0.9, "an interval of all places says nothing: {width}");
    }
}
