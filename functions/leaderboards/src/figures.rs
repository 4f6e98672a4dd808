//! What of a receipt's metrics can be drawn: found by their form, so that a new benchmark's show without a new page.

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A name that begins like this holds one number for each seed, trial or other repetition.
const PER: &str = "per_";
/// The score may differ from the mean of its trials by the rounding of sums in another order.
const ROUNDING: f64 = 1e-9;

/// How a score spreads over seeds or trials.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct Spread {
    /// What was repeated, such as `seed`.
    pub(crate) over: String,
    /// The score of each repetition; the score is their mean.
    pub(crate) values: Vec<f64>,
    /// Their standard deviation, that of a population.
    pub(crate) std: f64,
    /// The least of them.
    pub(crate) min: f64,
    /// The greatest of them.
    pub(crate) max: f64,
}

/// One number for each repetition.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct Trials {
    /// What they are trials of: the way to it in the metrics, such as `markets / 0`; empty for the whole.
    pub(crate) of: String,
    /// What was repeated, such as `seed`.
    pub(crate) over: String,
    /// What each repetition is called.
    pub(crate) labels: Vec<String>,
    /// A number for each.
    pub(crate) values: Vec<f64>,
}

/// A line to be plotted.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct Curve {
    /// What it is a curve of, such as `tasks / mnist`; empty for the whole.
    pub(crate) of: String,
    /// What `y` is.
    pub(crate) name: String,
    /// What `x` is.
    pub(crate) x_name: String,
    /// Strictly ascending.
    pub(crate) x: Vec<f64>,
    /// One for each of `x`.
    pub(crate) y: Vec<f64>,
}

/// Numbers side by side: a column each, and a line for each thing that has them.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct Table {
    /// What the lines are.
    pub(crate) name: String,
    /// What the columns are.
    pub(crate) columns: Vec<String>,
    /// The lines.
    pub(crate) lines: Vec<TableLine>,
}

/// One line of a table.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct TableLine {
    /// What it is of.
    pub(crate) label: String,
    /// One for each column; `null` where it has none.
    pub(crate) values: Vec<Option<f64>>,
}

/// All that can be drawn of one submission.
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
pub(crate) struct Figures {
    /// How the score spreads, where it is the mean of trials.
    pub(crate) spread: Option<Spread>,
    /// Every repetition.
    pub(crate) trials: Vec<Trials>,
    /// Every curve.
    pub(crate) curves: Vec<Curve>,
    /// Every table.
    pub(crate) tables: Vec<Table>,
}

impl Figures {
    /// Finds what can be drawn in the metrics of a scored verdict.
    pub(crate) fn of<'a>(score: Option<f64>, metrics: impl IntoIterator<Item = (&'a String, &'a Value)>) -> Self {
        let metrics: Map<String, Value> = metrics
            .into_iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let mut figures = Self::default();
        figures.walk("", &metrics);
        figures.spread = score.and_then(|score| spread(score, &figures.trials));
        figures
    }

    fn walk(&mut self, way: &str, metrics: &Map<String, Value>) {
        self.take_trials(way, metrics);
        self.take_curves(way, metrics);
        for (name, value) in metrics {
            let Value::Object(parts) = value else { continue };
            self.tables.extend(table(name, parts));
            for (part, value) in parts {
                if let Value::Object(inner) = value {
                    self.walk(&joined(&joined(way, name), part), inner);
                }
            }
            self.take_trials(&joined(way, name), parts);
            self.take_curves(&joined(way, name), parts);
        }
    }

    fn take_trials(&mut self, way: &str, metrics: &Map<String, Value>) {
        for (name, value) in metrics {
            let (Some(over), Some(values)) = (name.strip_prefix(PER), numbers(value)) else {
                continue;
            };
            let listed = metrics.get(&format!("{over}s")).and_then(labels);
            let labels = listed
                .filter(|labels| labels.len() == values.len())
                .unwrap_or_else(|| (1..=values.len()).map(|n| n.to_string()).collect());
            self.trials.push(Trials {
                of: way.to_owned(),
                over: over.to_owned(),
                labels,
                values,
            });
        }
    }

    /// Arrays of one length side by side: the first that ascends strictly is `x`, or else the position is.
    fn take_curves(&mut self, way: &str, metrics: &Map<String, Value>) {
        let repeated = |name: &str| metrics.contains_key(&format!("{PER}{}", name.trim_end_matches('s')));
        let arrays: Vec<(&String, Vec<f64>)> = metrics
            .iter()
            .filter(|(name, _)| !name.starts_with(PER) && !repeated(name))
            .filter_map(|(name, value)| Some((name, numbers(value)?)))
            .filter(|(_, values)| values.len() > 1)
            .collect();
        let ascends = |values: &[f64]| values.windows(2).all(|pair| pair[0] < pair[1]);
        let x = if arrays.len() > 1 {
            arrays.iter().position(|(_, values)| ascends(values))
        } else {
            None
        };
        for (idx, (name, y)) in arrays.iter().enumerate() {
            if Some(idx) == x {
                continue;
            }
            let along = x.map(|x| &arrays[x]).filter(|(_, x)| x.len() == y.len());
            let (x_name, x) = along.map_or_else(
                || ("position".to_owned(), (0..y.len()).map(|n| n as f64).collect()),
                |(name, x)| ((*name).clone(), x.clone()),
            );
            self.curves.push(Curve {
                of: way.to_owned(),
                name: (*name).clone(),
                x_name,
                x,
                y: y.clone(),
            });
        }
    }

    /// Every number of every figure, a line each.
    pub(crate) fn flat(&self) -> Vec<FlatFigure<'_>> {
        let trials = self.trials.iter().flat_map(|trials| {
            let points = trials.labels.iter().zip(&trials.values);
            points.map(|(label, &y)| FlatFigure::new("trials", &trials.of, &trials.over, label.clone(), y))
        });
        let curves = self.curves.iter().flat_map(|curve| {
            let points = curve.x.iter().zip(&curve.y);
            points.map(|(x, &y)| FlatFigure::new("curve", &curve.of, &curve.name, x.to_string(), y))
        });
        let tables = self.tables.iter().flat_map(|table| {
            table.lines.iter().flat_map(|line| {
                let cells = table.columns.iter().zip(&line.values);
                cells.filter_map(|(column, value)| {
                    let of = FlatFigure::new("table", &table.name, column, line.label.clone(), (*value)?);
                    Some(of)
                })
            })
        });
        trials.chain(curves).chain(tables).collect()
    }
}

/// One number of a figure, as CSV has it.
#[derive(Serialize)]
pub(crate) struct FlatFigure<'a> {
    figure: &'static str,
    of: &'a str,
    name: &'a str,
    x: String,
    y: f64,
}

impl<'a> FlatFigure<'a> {
    pub(crate) const HEADER: [&'static str; 5] = ["figure", "of", "name", "x", "y"];

    fn new(figure: &'static str, of: &'a str, name: &'a str, x: String, y: f64) -> Self {
        Self { figure, of, name, x, y }
    }
}

/// The trials whose mean is the score: those of the whole, or the mean of those of its parts.
fn spread(score: f64, trials: &[Trials]) -> Option<Spread> {
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
    if (mean - score).abs() > ROUNDING * score.abs().max(1.0) {
        return None;
    }
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
    Some(Spread {
        over: first.over.clone(),
        std: variance.sqrt(),
        min: values.iter().copied().fold(f64::INFINITY, f64::min),
        max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        values,
    })
}

/// Parts that have numbers, alone or several each.
fn table(name: &str, parts: &Map<String, Value>) -> Option<Table> {
    let alone: Vec<(&String, f64)> = parts
        .iter()
        .filter_map(|(part, value)| Some((part, value.as_f64()?)))
        .collect();
    if alone.len() > 1 && alone.len() == parts.len() {
        let line = |(label, value): (&String, f64)| TableLine {
            label: label.clone(),
            values: vec![Some(value)],
        };
        return Some(Table {
            name: name.to_owned(),
            columns: vec![name.to_owned()],
            lines: alone.into_iter().map(line).collect(),
        });
    }
    let objects: Vec<(&String, &Map<String, Value>)> = parts
        .iter()
        .filter_map(|(part, value)| Some((part, value.as_object()?)))
        .collect();
    if objects.is_empty() || objects.len() < parts.len() {
        return None;
    }
    let mut columns: Vec<String> = Vec::new();
    for (_, of_part) in &objects {
        for (column, _) in of_part.iter().filter(|(_, value)| value.is_number()) {
            if !columns.contains(column) {
                columns.push(column.clone());
            }
        }
    }
    let line = |(label, of_part): (&String, &Map<String, Value>)| TableLine {
        label: label.clone(),
        values: columns
            .iter()
            .map(|column| of_part.get(column).and_then(Value::as_f64))
            .collect(),
    };
    let lines = objects.into_iter().map(line).collect();
    (!columns.is_empty()).then_some(Table {
        name: name.to_owned(),
        columns,
        lines,
    })
}

fn numbers(value: &Value) -> Option<Vec<f64>> {
    value.as_array()?.iter().map(Value::as_f64).collect()
}

fn labels(value: &Value) -> Option<Vec<String>> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    value.as_array()?.iter().map(text).collect()
}

fn joined(way: &str, name: &str) -> String {
    if way.is_empty() {
        name.to_owned()
    } else {
        format!("{way} / {name}")
    }
}
