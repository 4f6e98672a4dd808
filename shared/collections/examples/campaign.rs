//! The campaigns whose numbers are in docs/dynamic.md: `cargo run --release -p dataperf-collections --example campaign [SEEDS [TASK]]`.

#![allow(clippy::print_stdout, clippy::print_stderr)] // it prints tables

use std::time::Instant;

use dataperf_collections::text::Task;
use dataperf_collections::text::campaign::{Outcome, PLAIN, Quality, RoundOutcome, Settings, Share, play};
use dataperf_collections::text::export::Row;
use dataperf_collections::text::matrix::Cell;
use dataperf_collections::text::models::{
    Labelled, LinearSettings, ModelError, TargetModel, read_linear, train_linear,
};

fn train(rows: &[Row]) -> Result<Box<dyn TargetModel>, ModelError> {
    let labelled = |row: &Row| Labelled {
        task: row.task,
        input: row.input(),
        gold: row.gold.clone(),
    };
    let examples: Vec<Labelled> = rows.iter().map(labelled).collect();
    let file = train_linear(&examples, &LinearSettings::default())
        .map_err(|error| ModelError::NoAnswer(error.to_string()))?;
    read_linear(&file)
}

/// One campaign for each seed.
fn all(settings: &Settings, n_seeds: u64) -> Vec<Outcome> {
    let run = |seed| {
        let settings = Settings {
            seed,
            ..settings.clone()
        };
        match play(&settings, &train) {
            Ok(campaign) => campaign.outcome,
            Err(error) => panic!("{error}"),
        }
    };
    (1..=n_seeds).map(run).collect()
}

/// The round of all campaigns together. An annotator of one campaign counts as the one of that name of another.
fn pooled(outcomes: &[Outcome], round: usize, share: impl Fn(&RoundOutcome) -> &Share) -> String {
    Share::of_all(outcomes.iter().map(|outcome| share(&outcome.rounds[round]))).to_percent()
}

fn print_rounds(settings: &Settings, n_seeds: u64) -> Vec<Outcome> {
    let outcomes = all(settings, n_seeds);
    let unchanged = all(
        &Settings {
            retrains: false,
            ..settings.clone()
        },
        n_seeds,
    );
    println!(
        "| round | target | fooling, % | validated, % | fooling where `r1` stays, % |\n|---|---|---|---|---|"
    );
    for round in 0..settings.n_rounds {
        println!(
            "| {} | `r{}` | {} | {} | {} |",
            round + 1,
            round + 1,
            pooled(&outcomes, round, |round| &round.fooling),
            pooled(&outcomes, round, |round| &round.validated),
            pooled(&unchanged, round, |round| &round.fooling)
        );
    }
    outcomes
}

/// The matrix of the first campaign.
fn print_matrix(outcomes: &[Outcome], task: Task) {
    let (models, rounds) = (&outcomes[0].matrix.models, &outcomes[0].matrix.rounds);
    let shown = |round: &String| {
        if round == PLAIN {
            "plain texts".to_owned()
        } else {
            round.replace('-', " ")
        }
    };
    let heads: Vec<String> = rounds.iter().map(shown).collect();
    println!(
        "\n| model | {} |\n|---|{}",
        heads.join(" | "),
        "---|".repeat(rounds.len())
    );
    for model in models {
        let cells = rounds.iter().map(|round| {
            let cell = outcomes[0].matrix.cell(task, model, round);
            cell.map_or("–".to_owned(), Cell::to_percent)
        });
        println!("| `{model}` | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
}

fn print_quality(settings: &Settings, n_seeds: u64) {
    println!(
        "\n| wrong verdicts, % | right labels of fooling, % | after one verdict, % | validated, % | right ones refused, % | wrong ones validated, % | alpha |\n|---|---|---|---|---|---|---|"
    );
    for rater_error in [0.0, 0.1, 0.2, 0.3] {
        let outcomes = all(
            &Settings {
                rater_error,
                ..settings.clone()
            },
            n_seeds,
        );
        let share = |get: fn(&Quality) -> &Share| {
            let rounds = outcomes.iter().flat_map(|outcome| &outcome.rounds);
            Share::of_all(rounds.map(|round| get(&round.quality))).to_percent()
        };
        let alphas: Vec<f64> = outcomes
            .iter()
            .flat_map(|outcome| outcome.rounds.iter().filter_map(|round| round.alpha))
            .collect();
        println!(
            "| {:.0} | {} | {} | {} | {} | {} | {:.2} |",
            100.0 * rater_error,
            share(|quality| &quality.fooling),
            share(|quality| &quality.first_verdict),
            share(|quality| &quality.validated),
            share(|quality| &quality.lost),
            share(|quality| &quality.let_through),
            alphas.iter().sum::<f64>() / alphas.len() as f64
        );
    }
}

fn main() {
    let n_seeds = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let only: Option<Task> = std::env::args().nth(2).and_then(|word| word.parse().ok());
    let n_seeds = n_seeds.unwrap_or(1);
    let tasks = [Task::Sentiment, Task::Nli].into_iter();
    for task in tasks.filter(|task| only.is_none_or(|only| only == *task)) {
        let began = Instant::now();
        let settings = Settings {
            task,
            ..Settings::default()
        };
        println!("\n### {task}\n");
        let outcomes = print_rounds(&settings, n_seeds);
        print_matrix(&outcomes, task);
        print_quality(&settings, n_seeds);
        eprintln!("{task}: {:.0} s", began.elapsed().as_secs_f64());
    }
}
