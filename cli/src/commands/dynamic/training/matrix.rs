//! `dataperf dynamic matrix`: models on rounds.

use anyhow::{Result, ensure};
use clap::Args;
use dataperf_collections::text::export::{Row, Split};
use dataperf_collections::text::matrix::{Cell, Matrix};
use dataperf_collections::text::models::TargetModel;
use serde_json::Value;

use super::data::{EncoderArg, Named, check_names, lines, models, part};
use crate::Done;
use crate::output::rows::{RowFormat, print_rows};
use crate::output::{align_right, line_of, print_json, table};

#[derive(Debug, Args)]
pub(crate) struct MatrixArgs {
    /// Models, each by NAME=FILE or by its file
    #[arg(long = "model", value_name = "[NAME=]FILE", required = true)]
    models: Vec<Named>,
    #[command(flatten)]
    encoder: EncoderArg,
    /// Exported rounds, each by NAME=DIR or by its directory
    #[arg(long = "round", value_name = "[NAME=]DIR", required = true)]
    rounds: Vec<Named>,
    /// Print tables in Markdown
    #[arg(long)]
    markdown: bool,
}

pub(crate) fn run(args: &MatrixArgs, format: RowFormat) -> Result<Done> {
    ensure!(
        !args.markdown || format == RowFormat::Text,
        "`--markdown` and `--format` say different things: leave one out"
    );
    check_names(&args.rounds)?;
    let models = models(&args.models, &args.encoder)?;
    let mut rounds: Vec<(String, Vec<Row>)> = Vec::new();
    for round in &args.rounds {
        let rows = lines(&part(&round.path, Split::Test), Ok::<Row, String>)?;
        ensure!(
            !rows.is_empty(),
            "the test set of `{}` has no examples: leave the round out",
            round.name
        );
        rounds.push((round.name.clone(), rows));
    }
    let models: Vec<(String, &dyn TargetModel)> = models
        .iter()
        .map(|(name, model)| (name.clone(), model.as_ref()))
        .collect();
    let rounds: Vec<(String, &[Row])> = rounds
        .iter()
        .map(|(name, rows)| (name.clone(), &rows[..]))
        .collect();
    let matrix = Matrix::compute(&models, &rounds)?;
    if args.markdown {
        print!("{}", matrix.to_markdown());
    } else if format == RowFormat::Json {
        print_json(&matrix)?;
    } else {
        let rows: Vec<Value> = matrix.cells.iter().map(row).collect::<Result<_>>()?;
        print_rows(
            &rows,
            &[
                "task",
                "model",
                "round",
                "n",
                "n_wrong",
                "error",
                "n_annotators",
                "from",
                "to",
            ],
            format,
            || {
                print(&matrix);
                Ok(())
            },
        )?;
    }
    Ok(Done::Fine)
}

/// A cell as a line of a table.
fn row(cell: &Cell) -> Result<Value> {
    let mut row = serde_json::to_value(cell)?;
    let (from, to) = cell.interval.unzip();
    (row["from"], row["to"]) = (from.into(), to.into());
    Ok(row)
}

/// A table with a row per model and a column per round.
pub(in crate::commands) fn print(matrix: &Matrix) {
    let mut head = vec!["task".to_owned(), "model".to_owned()];
    head.extend(matrix.rounds.iter().map(|round| line_of(round)));
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut shown = table(&head);
    for task in dataperf_collections::text::Task::ALL {
        for model in &matrix.models {
            let cells: Vec<Option<&Cell>> = matrix
                .rounds
                .iter()
                .map(|round| matrix.cell(task, model, round))
                .collect();
            if cells.iter().all(Option::is_none) {
                continue;
            }
            let mut row = vec![task.to_string(), line_of(model)];
            row.extend(
                cells
                    .iter()
                    .map(|cell| cell.map_or("–".to_owned(), Cell::to_percent)),
            );
            shown.add_row(row);
        }
    }
    (2..head.len()).for_each(|column| align_right(&mut shown, column));
    println!(
        "errors in percent; intervals of 95 % count annotators with all their texts, so one annotator gives none"
    );
    println!("{shown}");
}
