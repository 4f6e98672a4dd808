//! Every model on every round's test set: whether rounds get harder, and whether training on them helps.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use dataperf_numerics::agreement::clustered_share_interval;
use serde::{Deserialize, Serialize};

use crate::text::export::{Row, Split};
use crate::text::models::{ModelError, TargetModel};
use crate::text::task::Task;
use crate::text::texts::answers::{Input, fooled};

/// How often a model is wrong about a task's test set of a round.
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
    /// Annotators who wrote the examples.
    pub n_annotators: usize,
    /// The 95 % interval of the share, which draws annotators with all their texts; `None` if one
    /// annotator wrote all examples.
    pub interval: Option<(f64, f64)>,
}

/// The error rates of models on rounds' test sets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Matrix {
    /// The models, in the order in which they were named.
    pub models: Vec<String>,
    /// The rounds, in their order.
    pub rounds: Vec<String>,
    /// The known cells. There is none for a model that does not know a task, nor for a round
    /// without test examples of it.
    pub cells: Vec<Cell>,
}

impl Matrix {
    /// The matrix of models by their names and of rounds with their rows. Models answer only rows
    /// of the test sets.
    ///
    /// # Errors
    /// [`ModelError`] of a model that can't answer.
    pub fn compute(
        models: &[(String, &dyn TargetModel)],
        rounds: &[(String, &[Row])],
    ) -> Result<Self, ModelError> {
        let mut cells = Vec::new();
        for task in Task::ALL {
            for (model, request) in models {
                for (round, rows) in rounds {
                    let rows: Vec<&Row> = rows
                        .iter()
                        .filter(|row| row.task == task && row.split == Split::Test)
                        .collect();
                    let is_wrong = wrong(*request, task, &rows)?.filter(|of_rows| !of_rows.is_empty());
                    if let Some(is_wrong) = is_wrong {
                        let of_annotators = by_cluster(
                            rows.iter()
                                .zip(&is_wrong)
                                .map(|(row, is_wrong)| (&row.annotator, *is_wrong)),
                        );
                        let (n, n_wrong) = (
                            is_wrong.len(),
                            is_wrong.iter().filter(|is_wrong| **is_wrong).count(),
                        );
                        cells.push(Cell {
                            task,
                            model: model.clone(),
                            round: round.clone(),
                            n,
                            n_wrong,
                            error: n_wrong as f64 / n as f64,
                            n_annotators: of_annotators.len(),
                            interval: clustered_share_interval(&of_annotators),
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

    /// A table for each task, with a row per model and a column per round: errors in percent with
    /// their intervals.
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

    /// One line for each cell, below a header. The names of [models](crate::text::Configuration) and rounds are quoted where they need it.
    pub fn to_csv(&self) -> String {
        let mut text = "task,model,round,n,n_wrong,error,n_annotators,from,to\n".to_owned();
        for cell in &self.cells {
            let end = |end: Option<f64>| end.map_or_else(String::new, |end| end.to_string());
            let (from, to) = cell.interval.unzip();
            let _ = writeln!(
                text,
                "{},{},{},{},{},{},{},{},{}",
                cell.task,
                csv(&cell.model),
                csv(&cell.round),
                cell.n,
                cell.n_wrong,
                cell.error,
                cell.n_annotators,
                end(from),
                end(to)
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
    /// `34.5 (28.1–41.6)`, or `34.5` without an interval.
    pub fn to_percent(&self) -> String {
        percent(self.error, self.interval)
    }
}

/// `34.5 (28.1–41.6)`, or `34.5` without an interval.
pub(crate) fn percent(share: f64, interval: Option<(f64, f64)>) -> String {
    let share = 100.0 * share;
    interval.map_or_else(
        || format!("{share:.1}"),
        |(from, to)| format!("{share:.1} ({:.1}–{:.1})", 100.0 * from, 100.0 * to),
    )
}

/// Of each cluster the number of items for which something holds, and the number of all.
fn by_cluster<C: Ord>(items: impl IntoIterator<Item = (C, bool)>) -> Vec<(usize, usize)> {
    let mut clusters: BTreeMap<C, (usize, usize)> = BTreeMap::new();
    for (cluster, is_so) in items {
        let (n_found, n) = clusters.entry(cluster).or_default();
        *n_found += usize::from(is_so);
        *n += 1;
    }
    clusters.into_values().collect()
}

/// Whether a model is wrong about each row; `None` if it does not know the task.
///
/// # Errors
/// [`ModelError`] of a model that can't answer, or not about all.
pub fn wrong(model: &dyn TargetModel, task: Task, rows: &[&Row]) -> Result<Option<Vec<bool>>, ModelError> {
    let inputs: Vec<Input> = rows.iter().map(|row| row.input()).collect();
    let answers = match model.answers(task, &inputs) {
        Err(ModelError::OtherTask(_)) => return Ok(None),
        answers => answers?,
    };
    if answers.len() != rows.len() {
        let message = format!("{} answers to {} examples", answers.len(), rows.len());
        return Err(ModelError::NoAnswer(message));
    }
    let pairs = rows.iter().zip(&answers);
    let is_wrong = pairs.map(|(row, answer)| fooled(task, &row.gold, answer));
    Ok(Some(is_wrong.collect()))
}
