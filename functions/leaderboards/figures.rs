//! What of a verdict's metrics can be drawn, as the answers have it.

use dataperf::receipt::figures;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

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
    /// The metric's name.
    pub(crate) name: String,
    /// What people call it.
    pub(crate) title: String,
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
    /// What people call them.
    pub(crate) titles: Vec<String>,
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

/// A number or word of the whole.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct Fact {
    /// The metric's name.
    pub(crate) name: String,
    /// What people call it.
    pub(crate) title: String,
    /// The number or word.
    pub(crate) value: Value,
}

/// All that can be drawn of one submission.
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
pub(crate) struct Figures {
    /// The numbers and words of the whole.
    pub(crate) facts: Vec<Fact>,
    /// How the score spreads, where it is the mean of trials.
    pub(crate) spread: Option<Spread>,
    /// Every repetition.
    pub(crate) trials: Vec<Trials>,
    /// Every curve.
    pub(crate) curves: Vec<Curve>,
    /// Every table.
    pub(crate) tables: Vec<Table>,
}

impl From<figures::Spread> for Spread {
    fn from(spread: figures::Spread) -> Self {
        Self {
            over: spread.over,
            values: spread.values,
            std: spread.std,
            min: spread.min,
            max: spread.max,
        }
    }
}

impl From<figures::Trials> for Trials {
    fn from(trials: figures::Trials) -> Self {
        Self {
            of: trials.place,
            over: trials.over.to_owned(),
            labels: trials.labels,
            values: trials.values,
        }
    }
}

impl From<figures::Curve> for Curve {
    fn from(curve: figures::Curve) -> Self {
        Self {
            of: curve.place,
            name: curve.name,
            title: curve.title.to_owned(),
            x_name: curve.x_title.to_owned(),
            x: (1..=curve.y.len()).map(|step| step as f64).collect(),
            y: curve.y,
        }
    }
}

impl From<figures::Table> for Table {
    fn from(table: figures::Table) -> Self {
        let (columns, titles) = table
            .columns
            .into_iter()
            .map(|column| (column.name, column.title.to_owned()))
            .unzip();
        let line = |line: figures::Line| TableLine {
            label: line.label,
            values: line.values,
        };
        Self {
            name: table.name,
            columns,
            titles,
            lines: table.lines.into_iter().map(line).collect(),
        }
    }
}

impl From<figures::Figures> for Figures {
    fn from(figures: figures::Figures) -> Self {
        let fact = |fact: figures::Fact| Fact {
            name: fact.name,
            title: fact.title.to_owned(),
            value: fact.value,
        };
        Self {
            facts: figures.facts.into_iter().map(fact).collect(),
            spread: figures.spread.map(Spread::from),
            trials: figures.trials.into_iter().map(Trials::from).collect(),
            curves: figures.curves.into_iter().map(Curve::from).collect(),
            tables: figures.tables.into_iter().map(Table::from).collect(),
        }
    }
}

impl Figures {
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
                    let figure = FlatFigure::new("table", &table.name, column, line.label.clone(), (*value)?);
                    Some(figure)
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

    fn new(figure: &'static str, id_name: &'a str, name: &'a str, x: String, y: f64) -> Self {
        Self {
            figure,
            of: id_name,
            name,
            x,
            y,
        }
    }
}
