//! Shows competing models, whoever ran them.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use dataperf_collections::text::compare::{Compared, Outcome, Report, WEIGHTS, Weighed};
use serde_json::{Value, json};

use crate::output::rows::{RowFormat, print_rows};
use crate::output::{align_right, line_of, table};

/// The largest weight: beyond it nothing else counts.
const MAX_WEIGHT: f64 = 1e6;

/// How much the points of each figure count, as somebody has typed it.
pub(crate) fn weights(typed: Option<&[f64]>) -> Result<Weighed> {
    let Some(weights) = typed else {
        return Ok(WEIGHTS);
    };
    let is_usable = weights.iter().all(|weight| (0.0..=MAX_WEIGHT).contains(weight));
    match <Weighed>::try_from(weights) {
        Ok(weights) if is_usable => Ok(weights),
        _ => bail!(
            "`--weights` have to be 5 numbers from 0 to {MAX_WEIGHT}: performance, compute, memory, robustness, fairness"
        ),
    }
}

/// Prints all but JSON: the models, the best one first, and for people how each did in each round.
pub(crate) fn print_report(
    report: &Report,
    outcomes: &[(&str, &Outcome)],
    n_inputs: usize,
    format: RowFormat,
) -> Result<()> {
    let rows: Vec<Value> = report.models.iter().map(row).collect();
    print_rows(&rows, COLUMNS, format, || {
        print(report, outcomes, n_inputs);
        Ok(())
    })
}

const COLUMNS: &[&str] = &[
    "rank",
    "model",
    "first_rank",
    "last_rank",
    "score",
    "performance",
    "fuel",
    "memory",
    "robustness",
    "fairness",
    "is_on_front",
    "leads_under",
    "dynascore_2021",
];

fn row(model: &Compared) -> Value {
    let figures = model.figures;
    json!({
        "rank": model.rank, "model": model.name, "first_rank": model.ranks.map(|ranks| ranks.0), "last_rank": model.ranks.map(|ranks| ranks.1), "score": model.score, "performance": figures.performance, "fuel": figures.fuel,
        "memory": figures.memory, "robustness": figures.robustness, "fairness": figures.fairness, "is_on_front": model.is_on_front,
        "leads_under": model.leads_under, "dynascore_2021": model.dynascore_2021,
    })
}

fn print(report: &Report, outcomes: &[(&str, &Outcome)], n_inputs: usize) {
    let head = [
        "rank",
        "model",
        "ranks (95 %)",
        "points",
        "right %",
        "fuel (million)",
        "MiB",
        "robust %",
        "fair %",
        "front",
        "leads under",
        "dynascore 2021",
    ];
    let mut shown = table(&head);
    for model in &report.models {
        let figures = model.figures;
        shown.add_row(vec![
            model.rank.to_string(),
            line_of(&model.name),
            model
                .ranks
                .map_or("–".to_owned(), |(first, last)| format!("{first} to {last}")),
            format!("{:.2}", model.score),
            format!("{:.1}", figures.performance),
            format!("{:.4}", figures.fuel),
            format!("{:.2}", figures.memory),
            format!("{:.1}", figures.robustness),
            format!("{:.1}", figures.fairness),
            if model.is_on_front { "yes" } else { "" }.to_owned(),
            format!("{:.1} %", 100.0 * model.leads_under),
            model
                .dynascore_2021
                .map_or("–".to_owned(), |score| format!("{score:.2}")),
        ]);
    }
    [0].into_iter()
        .chain(2..head.len())
        .for_each(|column| align_right(&mut shown, column));
    println!("{shown}");
    let names: BTreeSet<&String> = outcomes
        .iter()
        .flat_map(|(_, outcome)| outcome.rounds.keys())
        .collect();
    let head: Vec<&str> = std::iter::once("right %")
        .chain(names.iter().map(|name| name.as_str()))
        .collect();
    let mut of_rounds = table(&head);
    for (name, outcome) in outcomes {
        let shares = names.iter().map(|round| outcome.rounds.get(*round));
        let cells =
            shares.map(|share| share.map_or("–".to_owned(), |share| format!("{:.1}", share.points())));
        of_rounds.add_row(std::iter::once(line_of(name)).chain(cells));
    }
    (1..head.len()).for_each(|column| align_right(&mut of_rounds, column));
    println!("{of_rounds}");
    let rates = report.rates;
    println!(
        "{n_inputs} inputs; a point is worth {} million units of fuel an input, {} MiB, {} % of robustness, {} % of fairness",
        rates.fuel, rates.memory, rates.robustness, rates.fairness
    );
    if let Some(why) = &report.why_no_intervals {
        println!("ranks have no intervals: {why}");
    }
}
