//! The columns that a board shows next to the score.

use std::collections::BTreeMap;

use serde_json::Value;

/// A column of a board: a metric of the row's submission, or the range between two metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its title.
    pub title: &'static str,
    /// The metric's name in the verdict's metrics, or the names of the two ends of a range. The metrics must be shown at every
    /// level, because boards are.
    pub metrics: &'static [&'static str],
}

impl Column {
    /// The names of the metrics that these columns show, in their order.
    pub fn names(columns: &'static [Self]) -> impl Iterator<Item = &'static str> {
        columns.iter().flat_map(|column| column.metrics).copied()
    }

    /// The numbers of a verdict that these columns show, by their names; without those that the verdict does not have.
    pub fn numbers(columns: &'static [Self], metrics: &BTreeMap<String, Value>) -> BTreeMap<String, f64> {
        Self::names(columns)
            .filter_map(|name| Some((name.to_owned(), metrics.get(name)?.as_f64()?)))
            .collect()
    }

    /// The column's numbers in a row, taken from those that [`numbers`](Self::numbers) gives: one, or both ends of a range where these differ. Empty
    /// where the row lacks one.
    pub fn cell(&self, numbers: &BTreeMap<String, f64>) -> Vec<f64> {
        let values: Option<Vec<f64>> = self
            .metrics
            .iter()
            .map(|name| numbers.get(*name).copied())
            .collect();
        let mut cell = values.unwrap_or_default();
        cell.dedup();
        cell
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_ends_show_one_number() {
        const COLUMNS: [Column; 2] = [
            Column {
                title: "pending",
                metrics: &["n_pending"],
            },
            Column {
                title: "rate",
                metrics: &["low", "high"],
            },
        ];
        let cells = |metrics: Value| {
            let metrics = metrics.as_object().expect("an object").clone();
            let numbers = Column::numbers(&COLUMNS, &metrics.into_iter().collect());
            COLUMNS.map(|column| column.cell(&numbers))
        };
        assert_eq!(
            cells(json!({ "n_pending": 3, "low": 0.25, "high": 0.5, "other": 1 })),
            [vec![3.0], vec![0.25, 0.5]]
        );
        assert_eq!(
            cells(json!({ "n_pending": 0, "low": 0.25, "high": 0.25 })),
            [vec![0.0], vec![0.25]]
        );
        assert_eq!(cells(json!({ "low": 0.25 })), [Vec::<f64>::new(), vec![]]);
        assert_eq!(cells(json!({ "n_pending": "many" })), [Vec::<f64>::new(), vec![]]);
    }
}
