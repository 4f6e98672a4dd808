//! How often the rank intervals of models hold the true rank where annotators write many texts each, by simulation.
//!
//! The test makes few runs. `ANNOTATOR_RUNS=1000 cargo test --workspace --test annotators -- --nocapture` makes the table of
//! docs/statistics.md.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests")]

use dataperf_collections::text::compare::{Judged, Measured, Rates, Trial, TrialItem, TrialRun, WEIGHTS};
use dataperf_collections::text::{Gold, Input, Task};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

const N_MODELS: usize = 5;

struct Random(Xoshiro256PlusPlus);

impl Random {
    /// Evenly from 0 to 1.
    fn share(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A normal deviate, by Box and Muller.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.share()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.share()).cos()
    }
}

/// Two rounds, half of whose texts each annotator wrote. With `is_alone` each text counts as one of an annotator of its own.
fn trial(n_annotators: usize, n_texts: usize, is_alone: bool) -> Trial {
    let item = |nth: usize| TrialItem {
        round: format!("r{}", nth % 2),
        task: Task::Sentiment,
        input: Input {
            context: None,
            text: format!("{nth}"),
        },
        gold: Gold::Label("neutral".into()),
        annotator: format!("{:06}", if is_alone { nth } else { nth / n_texts }),
    };
    Trial::new((0..n_annotators * n_texts).map(item).collect())
}

/// Models with the same true performance, each of which reads some annotators better than others.
fn runs(n_annotators: usize, n_texts: usize, spread: f64, seed: u64) -> Vec<TrialRun> {
    let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(seed));
    let mut judged = vec![Vec::new(); N_MODELS];
    for _ in 0..n_annotators {
        let hard = 0.5 * random.normal();
        let of_models: Vec<f64> = (0..N_MODELS).map(|_| spread * random.normal()).collect();
        for _ in 0..n_texts {
            let of_text = random.normal();
            for (judged, of_model) in judged.iter_mut().zip(&of_models) {
                let logit = 0.8 + hard + of_model + of_text;
                judged.push(Judged {
                    is_right: random.share() < 1.0 / (1.0 + (-logit).exp()),
                    is_robust: None,
                    is_fair: None,
                });
            }
        }
    }
    let run = |(nth, judged)| TrialRun {
        name: format!("{nth}"),
        measured: Measured {
            fuel: 0,
            memory_bytes: 0,
        },
        judged,
    };
    judged.into_iter().enumerate().map(run).collect()
}

/// The smallest share, over models, of runs in which a model's rank interval holds all ranks that
/// it shares with the others.
fn coverage(n_annotators: usize, n_texts: usize, spread: f64, is_alone: bool, n_runs: u64) -> f64 {
    let trial = trial(n_annotators, n_texts, is_alone);
    let of_run = |seed| {
        let report = trial.report(
            &runs(n_annotators, n_texts, spread, seed),
            Rates::default(),
            WEIGHTS,
        );
        let mut holds = [false; N_MODELS];
        for model in &report.models {
            holds[model.name.parse::<usize>().unwrap()] = model.ranks.unwrap() == (1, N_MODELS as u32);
        }
        holds
    };
    let held: Vec<[bool; N_MODELS]> = (0..n_runs).into_par_iter().map(of_run).collect();
    let of_model = |model: usize| held.iter().filter(|held| held[model]).count();
    let least = (0..N_MODELS).map(of_model).min().unwrap();
    least as f64 / n_runs as f64
}

#[test]
fn annotators_are_drawn_with_all_their_texts() {
    let n_runs = std::env::var("ANNOTATOR_RUNS")
        .ok()
        .and_then(|runs| runs.parse().ok());
    let Some(n_runs) = n_runs else {
        // 60 runs: with a coverage of .95 fewer than 51 hold in 1 of 2,000 cases
        let drawn = coverage(10, 20, 0.7, false, 60);
        assert!(drawn > 51.0 / 60.0, "{drawn}");
        let texts = coverage(10, 20, 0.7, true, 60);
        assert!(texts < 48.0 / 60.0, "draws of texts: {texts}");
        return;
    };
    println!("| annotators x texts | spread, logits | texts drawn | annotators drawn |");
    println!("|---|---|---|---|");
    for (n_annotators, n_texts) in [(10, 20), (20, 20), (20, 50)] {
        for spread in [0.0, 0.35, 0.7] {
            let covered = |is_alone| coverage(n_annotators, n_texts, spread, is_alone, n_runs);
            println!(
                "| {n_annotators} x {n_texts} | {spread} | {:.3} | {:.3} |",
                covered(true),
                covered(false)
            );
        }
    }
}
