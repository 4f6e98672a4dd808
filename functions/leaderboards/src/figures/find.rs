//! Finding what can be drawn: by form, not by name of the benchmark.

use serde_json::{Map, Value};

use super::{Curve, Figures, Spread, Table, TableLine, Trials};

/// A name that begins like this holds one number for each seed, trial or other repetition.
const PER: &str = "per_";
/// The score may differ from the mean of its trials by the rounding of sums in another order.
const ROUNDING: f64 = 1e-9;

impl Figures {
    /// Finds what can be drawn in the metrics of a scored verdict.
    pub(crate) fn of<'a>(
        score: Option<f64>,
        metrics: impl IntoIterator<Item = (&'a String, &'a Value)>,
    ) -> Self {
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

    /// Arrays side by side: whole numbers that ascend are `x`, else any numbers that do; alone, the step is.
    fn take_curves(&mut self, way: &str, metrics: &Map<String, Value>) {
        let repeated = |name: &str| metrics.contains_key(&format!("{PER}{}", name.trim_end_matches('s')));
        let arrays: Vec<(&String, Vec<f64>)> = metrics
            .iter()
            .filter(|(name, _)| !name.starts_with(PER) && !repeated(name))
            .filter_map(|(name, value)| Some((name, numbers(value)?)))
            .filter(|(_, values)| values.len() > 1)
            .collect();
        let ascends = |values: &[f64]| values.windows(2).all(|pair| pair[0] < pair[1]);
        let whole = |values: &[f64]| values.iter().all(|value| value.fract() == 0.0);
        let counts = arrays
            .iter()
            .position(|(_, values)| ascends(values) && whole(values));
        let x = counts
            .or_else(|| arrays.iter().position(|(_, values)| ascends(values)))
            .filter(|_| arrays.len() > 1);
        for (idx, (name, y)) in arrays.iter().enumerate() {
            if Some(idx) == x {
                continue;
            }
            let along = x.map(|x| &arrays[x]).filter(|(_, x)| x.len() == y.len());
            let (x_name, x) = along.map_or_else(
                || ("step".to_owned(), (0..y.len()).map(|n| n as f64).collect()),
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn figures(score: f64, metrics: &Value) -> Figures {
        Figures::of(Some(score), metrics.as_object().into_iter().flatten())
    }

    #[test]
    fn seeds_are_trials_and_spread_the_score() {
        let metrics = json!({ "per_seed": [0.25, 0.75], "seeds": [5, 69], "std": 0.25, "f1_per_class": { "a": 0.5, "b": 0.25 } });
        let found = figures(0.5, &metrics);
        assert_eq!(found.trials.len(), 1);
        assert_eq!(found.trials[0].labels, ["5", "69"]);
        let spread = found.spread.expect("the mean of the seeds is the score");
        assert_eq!(
            (spread.over.as_str(), spread.std, spread.min, spread.max),
            ("seed", 0.25, 0.25, 0.75)
        );
        assert!(found.curves.is_empty(), "the seeds' names are no curve");
        assert_eq!(found.tables.len(), 1);
        assert_eq!(found.tables[0].lines[1].values, [Some(0.25)]);
        assert_eq!(
            figures(0.6, &metrics).spread,
            None,
            "they are not what the score is made of"
        );
    }

    #[test]
    fn trials_of_parts_are_averaged_part_by_part() {
        let part = |trials: [f64; 2]| json!({ "accuracy": 0.5, "per_trial": trials, "cost": 3 });
        let metrics =
            json!({ "markets": { "0": part([0.25, 0.75]), "1": part([0.5, 0.5]) }, "buyer_model": "a" });
        let found = figures(0.5, &metrics);
        let of: Vec<&str> = found.trials.iter().map(|trials| trials.of.as_str()).collect();
        assert_eq!(of, ["markets / 0", "markets / 1"]);
        assert_eq!(found.spread.map(|spread| spread.values), Some(vec![0.375, 0.625]));
        assert_eq!(found.tables[0].columns, ["accuracy", "cost"]);
    }

    #[test]
    fn arrays_are_curves_along_whole_numbers_that_ascend() {
        let metrics = json!({ "tasks": {
            "one": { "accuracy": [0.5, 0.75, 0.6], "n_images": 2 },
            "two": { "accuracy": [0.1, 0.2], "fixes": [10, 20], "loss": [2, 1], "other": [1, 2, 3.5] },
        } });
        let found = figures(0.5, &metrics);
        let shown: Vec<_> = found
            .curves
            .iter()
            .map(|curve| {
                (
                    curve.of.as_str(),
                    curve.name.as_str(),
                    curve.x_name.as_str(),
                    curve.x.clone(),
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("tasks / one", "accuracy", "step", vec![0.0, 1.0, 2.0]),
                ("tasks / two", "accuracy", "fixes", vec![10.0, 20.0]),
                ("tasks / two", "loss", "fixes", vec![10.0, 20.0]),
                ("tasks / two", "other", "step", vec![0.0, 1.0, 2.0]),
            ]
        );
    }

    #[test]
    fn what_has_no_numbers_is_left_out() {
        let metrics = json!({ "note": "text", "empty": {}, "mixed": { "a": 1, "b": "x" }, "words": ["a", "b"], "one": [1] });
        assert_eq!(figures(0.5, &metrics), Figures::default());
    }
}
