//! Every model on every round's test set: whether rounds get harder, and whether training on them helps.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::answers::{Input, fooled};
use crate::export::{Row, Split};
use crate::models::{ModelError, TargetModel};
use crate::task::Task;

/// How often a model is wrong about a task's test set of a round. The share has no interval, because texts of one annotator depend on each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The task.
    pub task: Task,
    /// The model.
    pub model: String,
    /// The round.
    pub round: String,
    /// Examples of the test set.
    pub n: usize,
    /// Examples about which the model is wrong.
    pub n_wrong: usize,
    /// The share of these examples.
    pub error: f64,
}

/// The error rates of models on rounds' test sets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Matrix {
    /// The models, in the order in which they were named.
    pub models: Vec<String>,
    /// The rounds, in their order.
    pub rounds: Vec<String>,
    /// What is known: no cell for a model that does not know a task, nor for a round without test examples of it.
    pub cells: Vec<Cell>,
}

impl Matrix {
    /// The matrix of models by their names and of rounds with their rows. Models are asked only about rows of the test sets.
    ///
    /// # Errors
    /// [`ModelError`] of a model that can't answer.
    pub fn of(
        models: &[(String, &dyn TargetModel)],
        rounds: &[(String, &[Row])],
    ) -> Result<Self, ModelError> {
        let mut cells = Vec::new();
        for task in Task::ALL {
            for (model, asked) in models {
                for (round, rows) in rounds {
                    let rows: Vec<&Row> = rows
                        .iter()
                        .filter(|row| row.task == task && row.split == Split::Test)
                        .collect();
                    if let Some((n @ 1.., n_wrong)) = wrong(*asked, task, &rows)? {
                        cells.push(Cell {
                            task,
                            model: model.clone(),
                            round: round.clone(),
                            n,
                            n_wrong,
                            error: n_wrong as f64 / n as f64,
                        });
                    }
                }
            }
        }
        Ok(Self {
            models: models.iter().map(|(name, _)| name.clone()).collect(),
            rounds: rounds.iter().map(|(round, _)| round.clone()).collect(),
            cells,
        })
    }

    /// The cell of a model and a round.
    pub fn cell(&self, task: Task, model: &str, round: &str) -> Option<&Cell> {
        self.cells
            .iter()
            .find(|cell| cell.task == task && cell.model == model && cell.round == round)
    }

    /// A table of each task, models below one another, rounds beside one another: errors in percent.
    pub fn to_markdown(&self) -> String {
        let mut text = String::new();
        let tasks: BTreeSet<Task> = self.cells.iter().map(|cell| cell.task).collect();
        for task in tasks {
            let sizes: BTreeMap<&str, usize> = self
                .cells
                .iter()
                .filter(|cell| cell.task == task)
                .map(|cell| (cell.round.as_str(), cell.n))
                .collect();
            let heads: Vec<String> = self
                .rounds
                .iter()
                .map(|round| {
                    format!(
                        "{round} ({})",
                        sizes.get(round.as_str()).copied().unwrap_or_default()
                    )
                })
                .collect();
            let begin = if text.is_empty() { "" } else { "\n" };
            let _ = writeln!(text, "{begin}| {task} | {} |", heads.join(" | "));
            let _ = writeln!(text, "|---|{}", "---|".repeat(self.rounds.len()));
            for model in &self.models {
                let shown = self.rounds.iter().map(|round| {
                    let cell = self.cell(task, model, round);
                    cell.map_or("–".to_owned(), Cell::to_percent)
                });
                let _ = writeln!(text, "| {model} | {} |", shown.collect::<Vec<_>>().join(" | "));
            }
        }
        text
    }

    /// One line for each cell, below a header. The names of [models](crate::Configuration) and rounds are quoted where they need it.
    pub fn to_csv(&self) -> String {
        let mut text = "task,model,round,n,n_wrong,error\n".to_owned();
        for cell in &self.cells {
            let _ = writeln!(
                text,
                "{},{},{},{},{},{}",
                cell.task,
                csv(&cell.model),
                csv(&cell.round),
                cell.n,
                cell.n_wrong,
                cell.error
            );
        }
        text
    }
}

/// A name as a cell of CSV: a name that comes from a file's name may hold anything.
fn csv(name: &str) -> String {
    let safe = dataperf::csv_cell(name);
    if safe.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", safe.replace('"', "\"\""))
    } else {
        safe.into_owned()
    }
}

impl Cell {
    /// `34.5`.
    pub fn to_percent(&self) -> String {
        format!("{:.1}", 100.0 * self.error)
    }
}

/// The number of rows, and the number of those about which a model is wrong; `None` where it does not know the task.
///
/// # Errors
/// [`ModelError`] of a model that can't answer, or not about all.
pub fn wrong(
    model: &dyn TargetModel,
    task: Task,
    rows: &[&Row],
) -> Result<Option<(usize, usize)>, ModelError> {
    let inputs: Vec<Input> = rows.iter().map(|row| row.input()).collect();
    let answers = match model.answers(task, &inputs) {
        Err(ModelError::OtherTask(_)) => return Ok(None),
        answers => answers?,
    };
    if answers.len() != rows.len() {
        let said = format!("{} answers to {} examples", answers.len(), rows.len());
        return Err(ModelError::NoAnswer(said));
    }
    let pairs = rows.iter().zip(&answers);
    let n_wrong = pairs
        .filter(|(row, answer)| fooled(task, &row.gold, answer))
        .count();
    Ok(Some((rows.len(), n_wrong)))
}
