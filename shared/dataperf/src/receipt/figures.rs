//! The figures in a verdict's metrics, as its benchmark describes them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::benchmark::scorecard::{EACH, Form, Leaf, Metric, leaves};
use crate::receipt::verdict::Verdict;

/// How a score spreads over seeds or trials. Rows of boards keep it in this form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The unit of repetition, such as `seed`.
    pub over: String,
    /// The score of each repetition; the score is their mean.
    pub values: Vec<f64>,
    /// Their population standard deviation.
    pub std: f64,
    /// The least of them.
    pub min: f64,
    /// The greatest of them.
    pub max: f64,
}

/// One number for each repetition.
#[derive(Debug, Clone, PartialEq)]
pub struct Trials {
    /// The path of the repeated part in the metrics, such as `markets / 0`; empty for the whole.
    pub place: String,
    /// The unit of repetition, such as `seed`.
    pub over: &'static str,
    /// The name of each repetition.
    pub labels: Vec<String>,
    /// A number for each.
    pub values: Vec<f64>,
}

/// A line to be plotted: a number after each step.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// The path of the part in the metrics, such as `tasks / mnist`; empty for the whole.
    pub place: String,
    /// The metric's name.
    pub name: String,
    /// Its title.
    pub title: &'static str,
    /// The unit of the steps, which count from 1.
    pub x_title: &'static str,
    /// How many steps there can be; the curve may end before.
    pub n_steps: usize,
    /// The number after each step, from step 0.
    pub y: Vec<f64>,
    /// The number before any step.
    pub before: Option<f64>,
    /// The target number.
    pub target: Option<f64>,
    /// The first step that reaches it, from 0.
    pub reached: Option<usize>,
}

/// Numbers side by side: a column each, and a line for each concept, task, market or class.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The unit of the lines.
    pub name: String,
    /// The unit of the columns.
    pub columns: Vec<Column>,
    /// The lines.
    pub lines: Vec<Line>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The metric's name.
    pub name: String,
    /// Its title.
    pub title: &'static str,
    /// Whether its numbers are counts.
    pub is_whole: bool,
}

/// One line of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The part that it describes.
    pub label: String,
    /// One for each column; `None` if it has none.
    pub values: Vec<Option<f64>>,
}

/// A number or word of the whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// The metric's name.
    pub name: String,
    /// Its title.
    pub title: &'static str,
    /// The number or word.
    pub value: Value,
}

/// All that can be drawn of one verdict.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    /// The numbers and words of the whole, as the benchmark orders them.
    pub facts: Vec<Fact>,
    /// The spread of the score, if it is the mean of trials.
    pub spread: Option<Spread>,
    /// Every repetition.
    pub trials: Vec<Trials>,
    /// Every curve.
    pub curves: Vec<Curve>,
    /// Every table, its columns as the benchmark orders them.
    pub tables: Vec<Table>,
}

impl Figures {
    /// The figures of a verdict, which may show only a part of its metrics; `described` describes
    /// the metrics.
    pub fn from_verdict(verdict: &Verdict, described: &'static [Metric]) -> Self {
        let leaves = leaves(described, &verdict.metrics);
        let sibling = |leaf: &Leaf<'_>, name: &str| {
            let way = &leaf.place[..leaf.place.len() - 1];
            let leaf = leaves
                .iter()
                .find(|other| other.place.split_last() == Some((&name, way)));
            leaf.map(|leaf| leaf.value)
        };
        let mut figures = Self::default();
        for leaf in &leaves {
            let Some(metric) = leaf.metric else { continue };
            let place = || leaf.place[..leaf.place.len() - 1].join(" / ");
            match metric.form {
                Form::Value | Form::Labels => {}
                Form::Trials { over, labels } => {
                    let Some(values) = numbers(leaf.value) else {
                        continue;
                    };
                    let named = labels.and_then(|labels| words(sibling(leaf, labels)?));
                    let labels = named
                        .filter(|named| named.len() == values.len())
                        .unwrap_or_else(|| (1..=values.len()).map(|n| n.to_string()).collect());
                    figures.trials.push(Trials {
                        place: place(),
                        over,
                        labels,
                        values,
                    });
                }
                Form::Curve {
                    x,
                    before,
                    target,
                    reached,
                    n_steps,
                } => {
                    let Some(y) = numbers(leaf.value) else { continue };
                    let number = |name: &str| sibling(leaf, name).and_then(Value::as_f64);
                    let count = |name: &str| usize::try_from(sibling(leaf, name)?.as_u64()?).ok();
                    figures.curves.push(Curve {
                        place: place(),
                        name: leaf.place[leaf.place.len() - 1].to_owned(),
                        title: metric.title,
                        x_title: x,
                        n_steps: count(n_steps).unwrap_or(y.len()),
                        y,
                        before: number(before),
                        target: number(target),
                        reached: count(reached),
                    });
                }
            }
        }
        figures.facts = described
            .iter()
            .filter_map(|metric| fact(&leaves, metric))
            .collect();
        figures.spread = verdict.score.and_then(|_| spread(&figures.trials));
        figures.tables = tables(&leaves, described.iter().map(|metric| metric.path));
        figures
    }
}

fn fact(leaves: &[Leaf<'_>], metric: &'static Metric) -> Option<Fact> {
    let of_whole = metric.form == Form::Value && !metric.path.contains(EACH);
    let leaf = leaves
        .iter()
        .find(|leaf| of_whole && leaf.metric == Some(metric))?;
    Some(Fact {
        name: metric.path.to_owned(),
        title: metric.title,
        value: leaf.value.clone(),
    })
}

/// The numbers of each concept, task, market or class: a table for each that there are.
fn tables(leaves: &[Leaf<'_>], paths: impl Iterator<Item = &'static str>) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for path in paths {
        let Some((name, rest)) = path.split_once('/').filter(|(_, rest)| rest.starts_with(EACH)) else {
            continue;
        };
        let of_column = |leaf: &&Leaf<'_>| {
            leaf.metric.is_some_and(|metric| metric.path == path) && leaf.value.is_number()
        };
        let cells: Vec<&Leaf<'_>> = leaves.iter().filter(of_column).collect();
        let Some(metric) = cells.first().and_then(|leaf| leaf.metric) else {
            continue;
        };
        let column = Column {
            name: rest.split_once('/').map_or(name, |(_, column)| column).to_owned(),
            title: metric.title,
            is_whole: cells.iter().all(|leaf| leaf.value.is_u64()),
        };
        let at = tables
            .iter()
            .position(|table| table.name == name)
            .unwrap_or_else(|| {
                tables.push(Table {
                    name: name.to_owned(),
                    columns: Vec::new(),
                    lines: Vec::new(),
                });
                tables.len() - 1
            });
        tables[at].add(column, &cells);
    }
    tables
}

impl Table {
    fn add(&mut self, column: Column, cells: &[&Leaf<'_>]) {
        let n_before = self.columns.len();
        self.columns.push(column);
        for line in &mut self.lines {
            line.values.push(None);
        }
        for cell in cells {
            let label = cell.place[1];
            let at = self
                .lines
                .iter()
                .position(|line| line.label == label)
                .unwrap_or_else(|| {
                    self.lines.push(Line {
                        label: label.to_owned(),
                        values: vec![None; n_before + 1],
                    });
                    self.lines.len() - 1
                });
            self.lines[at].values[n_before] = cell.value.as_f64();
        }
    }
}

/// The trials whose mean is the score: the overall trials, or the mean of the parts' trials.
fn spread(trials: &[Trials]) -> Option<Spread> {
    let first = trials.first()?;
    let alike = |other: &Trials| other.over == first.over && other.values.len() == first.values.len();
    if first.values.is_empty() || !trials.iter().all(alike) {
        return None;
    }
    let n_parts = trials.len() as f64;
    let mean_of_parts = |idx: usize| trials.iter().map(|part| part.values[idx]).sum::<f64>() / n_parts;
    let values: Vec<f64> = (0..first.values.len()).map(mean_of_parts).collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
    Some(Spread {
        over: first.over.to_owned(),
        std: variance.sqrt(),
        min: values.iter().copied().fold(f64::INFINITY, f64::min),
        max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        values,
    })
}

fn numbers(value: &Value) -> Option<Vec<f64>> {
    value.as_array()?.iter().map(Value::as_f64).collect()
}

fn words(value: &Value) -> Option<Vec<String>> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    value.as_array()?.iter().map(text).collect()
}
