//! `dataperf demo dynamic`: three rounds of texts against models that are trained on the rounds before.

use anyhow::{Result, ensure};
use dataperf_collections::text::Task;
use dataperf_collections::text::campaign::{Outcome, Settings, Share, play};
use dataperf_collections::text::export::Row;
use dataperf_collections::text::models::{
    Labelled, LinearSettings, ModelError, TargetModel, read_linear, train_linear,
};
use serde_json::{Value, json};

use super::shared::DemoArgs;
use crate::Done;
use crate::commands::dynamic::print_matrix;
use crate::output::progress;
use crate::output::rows::{RowFormat, print_tabled};
use crate::output::table;

const TASKS: [Task; 2] = [Task::Sentiment, Task::Nli];
/// The shares of raters' verdicts that are wrong; the campaign is played with each of them.
const RATER_ERRORS: [f64; 3] = [0.0, 0.1, 0.2];

/// The columns for a task.
struct Played {
    /// One campaign for each share in [`RATER_ERRORS`].
    by_error: Vec<Outcome>,
    /// The campaign in which the first model stays the target.
    unchanged: Outcome,
}

pub(crate) fn run(args: &DemoArgs, format: RowFormat) -> Result<Done> {
    ensure!(
        args.data.is_none() && args.data_dir.is_none() && !args.keep_running,
        "`dataperf demo dynamic` simulates its rounds and starts no cloud: leave `--data`, `--data-dir` and `--keep-running` out"
    );
    let mut played = Vec::new();
    for task in TASKS {
        let spinner = progress::waiting(&format!("playing rounds of `{task}`"));
        let outcome = play_all(task);
        spinner.finish_and_clear();
        played.push(outcome?);
    }
    let summary =
        |outcome: &Played| json!({ "by_rater_error": outcome.by_error, "unchanged": outcome.unchanged });
    print_tabled(
        || Ok(json!({ "tasks": played.iter().map(summary).collect::<Vec<_>>() })),
        &COLUMNS,
        || played.iter().flat_map(rows).collect(),
        format,
        || {
            played.iter().for_each(print);
            Ok(())
        },
    )?;
    Ok(Done::Fine)
}

/// The columns of the rounds.
const COLUMNS: [&str; 13] = [
    "task",
    "rater_error",
    "retrains",
    "round",
    "target",
    "n_examples",
    "n_fooling",
    "n_validated",
    "alpha",
    "right_labels_fooling",
    "right_labels_validated",
    "right_ones_refused",
    "wrong_ones_validated",
];

/// The rounds of all campaigns of a task.
fn rows(played: &Played) -> Vec<Value> {
    let campaigns = played.by_error.iter().chain([&played.unchanged]);
    let rounds =
        campaigns.flat_map(|outcome| outcome.rounds.iter().map(move |round| (&outcome.settings, round)));
    rounds
        .map(|(settings, round)| {
            let quality = &round.quality;
            json!({
                "task": settings.task, "rater_error": settings.rater_error, "retrains": settings.retrains,
                "round": round.round, "target": round.target, "n_examples": round.fooling.n, "n_fooling": round.fooling.n_found,
                "n_validated": round.validated.n_found, "alpha": round.alpha,
                "right_labels_fooling": quality.fooling.share, "right_labels_validated": quality.validated.share,
                "right_ones_refused": quality.lost.share, "wrong_ones_validated": quality.let_through.share,
            })
        })
        .collect()
}

fn play_all(task: Task) -> Result<Played> {
    // a quarter of the campaigns in docs/dynamic.md: some seconds
    let settings = Settings {
        task,
        n_annotators: 10,
        n_examples: 50,
        n_plain: 500,
        ..Settings::default()
    };
    let by_error = RATER_ERRORS.map(|rater_error| {
        let settings = Settings {
            rater_error,
            ..settings.clone()
        };
        Ok(play(&settings, &train)?.outcome)
    });
    let unchanged = Settings {
        retrains: false,
        ..settings
    };
    Ok(Played {
        by_error: by_error.into_iter().collect::<Result<_>>()?,
        unchanged: play(&unchanged, &train)?.outcome,
    })
}

/// A linear model of all rows.
fn train(rows: &[Row]) -> Result<Box<dyn TargetModel>, ModelError> {
    let examples: Vec<Labelled> = rows
        .iter()
        .map(|row| Labelled {
            task: row.task,
            input: row.input(),
            gold: row.gold.clone(),
        })
        .collect();
    let file = train_linear(&examples, &LinearSettings::default())
        .map_err(|error| ModelError::NoAnswer(error.to_string()))?;
    read_linear(&file)
}

fn print(played: &Played) {
    let Some(main) = played
        .by_error
        .iter()
        .find(|outcome| (outcome.settings.rater_error - 0.1).abs() < 1e-9)
    else {
        return;
    };
    let set_audit = &main.settings;
    println!(
        "{}: {} annotators, {} examples each a round, {} % of their labels wrong; {} raters, {} % of their verdicts wrong\n",
        set_audit.task,
        set_audit.n_annotators,
        set_audit.n_examples,
        100.0 * set_audit.annotator_error,
        set_audit.n_raters,
        100.0 * set_audit.rater_error
    );
    print_rounds(main, &played.unchanged);
    print_quality(&played.by_error);
    print_matrix(&main.matrix);
    println!();
}

fn print_rounds(main: &Outcome, unchanged: &Outcome) {
    let mut shown = table(&[
        "round",
        "target",
        "fooling, %",
        "validated, %",
        "fooling where r1 stays, %",
        "alpha",
        "what fooled most",
    ]);
    for (round, other) in main.rounds.iter().zip(&unchanged.rounds) {
        let most = round
            .rewrites
            .iter()
            .max_by_key(|(_, n)| **n)
            .map_or("–", |(name, _)| name);
        shown.add_row([
            round.round.clone(),
            round.target.clone(),
            round.fooling.to_percent(),
            round.validated.to_percent(),
            other.fooling.to_percent(),
            round.alpha.map_or("–".to_owned(), |alpha| format!("{alpha:.3}")),
            most.to_owned(),
        ]);
    }
    println!("{shown}\n");
}

/// Prints the effect of wrong verdicts on the data: labels against the grammar's truth, over all
/// rounds.
fn print_quality(by_error: &[Outcome]) {
    let mut shown = table(&[
        "wrong verdicts, %",
        "right labels of fooling, %",
        "after one verdict, %",
        "validated, %",
        "right ones refused, %",
        "wrong ones validated, %",
    ]);
    for outcome in by_error {
        let share = |get: fn(&dataperf_collections::text::campaign::Quality) -> &Share| {
            let shares = outcome.rounds.iter().map(|round| get(&round.quality));
            Share::of_all(shares).to_percent()
        };
        shown.add_row([
            format!("{}", 100.0 * outcome.settings.rater_error),
            share(|quality| &quality.fooling),
            share(|quality| &quality.first_verdict),
            share(|quality| &quality.validated),
            share(|quality| &quality.lost),
            share(|quality| &quality.let_through),
        ]);
    }
    println!("{shown}\n");
}
