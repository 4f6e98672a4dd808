//! The numbers of a verdict, a row each, as the export and CSV have them.

use std::collections::BTreeMap;

use dataperf::benchmark::scorecard::{Form, Metric, leaves};
use serde::Serialize;
use serde_json::Value;

/// One number of a verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct MetricRow {
    /// The metric's name.
    pub(crate) metric: String,
    /// The class, concept, task or market that replaces `*` in the name.
    pub(crate) of: Option<String>,
    /// The place in a list, from 0.
    pub(crate) number: Option<i64>,
    /// The number.
    pub(crate) value: f64,
}

/// Every number of a verdict; curves are left out.
pub(crate) fn numbers(described: &'static [Metric], metrics: &BTreeMap<String, Value>) -> Vec<MetricRow> {
    let mut rows = Vec::new();
    for leaf in leaves(described, metrics) {
        if leaf
            .metric
            .is_some_and(|metric| matches!(metric.form, Form::Curve { .. }))
        {
            continue;
        }
        let name = leaf.name();
        let steps = name.split('/').zip(&leaf.place);
        let items: Vec<&str> = steps
            .filter(|(step, _)| *step == "*")
            .map(|(_, place)| *place)
            .collect();
        let items = (!items.is_empty()).then(|| items.join("/"));
        let mut add = |items: Option<String>, number: Option<i64>, value: &Value| {
            if let Some(value) = value.as_f64() {
                let metric = name.clone();
                rows.push(MetricRow {
                    metric,
                    of: items,
                    number,
                    value,
                });
            }
        };
        match leaf.value {
            value @ Value::Number(_) => add(items, None, value),
            Value::Array(values) => {
                for (number, value) in (0..).zip(values) {
                    add(items.clone(), Some(number), value);
                }
            }
            Value::Object(values) => {
                for (key, value) in values {
                    add(Some(key.clone()), None, value);
                }
            }
            Value::Null | Value::Bool(_) | Value::String(_) => {}
        }
    }
    rows
}
