//! Numbers in the log, in CloudWatch's embedded metric format: CloudWatch makes metrics of such lines by itself, without a
//! call and without a right to make one.
//!
//! # Source
//! Amazon CloudWatch User Guide, "Specification: Embedded metric format".

use std::io::Write as _;

use serde_json::{Map, Value, json};

use crate::runtime::now;

/// The namespace of all metrics.
const NAMESPACE: &str = "DataPerf";

/// A unit of CloudWatch's.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unit {
    Count,
    Seconds,
    Bytes,
}

/// A number with its name.
pub(crate) type Metric = (&'static str, Unit, f64);

/// Logs one line of numbers about a benchmark, or about the whole deployment; `about` is what the line can be found by.
pub(crate) fn emit(deployment: &str, benchmark: Option<&str>, metrics: &[Metric], about: Value) {
    let line = document(now().unix_millis(), deployment, benchmark, metrics, about);
    // A line that can't be written can't be reported either.
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

fn document(
    millis: i64,
    deployment: &str,
    benchmark: Option<&str>,
    metrics: &[Metric],
    about: Value,
) -> Value {
    let directive = |dimensions: &[&str], chosen: &dyn Fn(&Metric) -> bool| {
        let chosen = metrics.iter().filter(|metric| chosen(metric));
        let chosen: Vec<Value> = chosen
            .map(|(name, unit, _)| json!({"Name": name, "Unit": format!("{unit:?}")}))
            .collect();
        json!({"Namespace": NAMESPACE, "Dimensions": [dimensions], "Metrics": chosen})
    };
    let directives = match benchmark {
        // What alarms watch is summed over the benchmarks too: an alarm can't search for them.
        Some(_) => vec![
            directive(&["deployment", "benchmark"], &|_| true),
            directive(&["deployment"], &|(_, unit, _)| matches!(unit, Unit::Count)),
        ],
        None => vec![directive(&["deployment"], &|_| true)],
    };
    let mut line = Map::new();
    line.insert(
        "_aws".into(),
        json!({"Timestamp": millis, "CloudWatchMetrics": directives}),
    );
    line.insert("deployment".into(), deployment.into());
    if let Some(benchmark) = benchmark {
        line.insert("benchmark".into(), benchmark.into());
    }
    for (name, _, value) in metrics {
        line.insert((*name).into(), json!(value));
    }
    if let Value::Object(about) = about {
        line.extend(about);
    }
    Value::Object(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_defines_each_metric_it_has() {
        let metrics = [
            ("Scored", Unit::Count, 1.0),
            ("DatasetSeconds", Unit::Seconds, 0.25),
        ];
        let about = json!({"request_id": "r"});
        let line = document(7, "dataperf", Some("speech-selection"), &metrics, about.clone());
        let count = json!({"Name": "Scored", "Unit": "Count"});
        let seconds = json!({"Name": "DatasetSeconds", "Unit": "Seconds"});
        let expected = json!({
            "_aws": {"Timestamp": 7, "CloudWatchMetrics": [
                {"Namespace": "DataPerf", "Dimensions": [["deployment", "benchmark"]], "Metrics": [count, seconds]},
                {"Namespace": "DataPerf", "Dimensions": [["deployment"]], "Metrics": [count]},
            ]},
            "deployment": "dataperf", "benchmark": "speech-selection", "Scored": 1.0, "DatasetSeconds": 0.25, "request_id": "r",
        });
        assert_eq!(line, expected);
        let line = document(7, "dataperf", None, &metrics, about);
        assert_eq!(line.get("benchmark"), None);
        let directives = line["_aws"]["CloudWatchMetrics"].as_array().expect("a list");
        assert_eq!(directives.len(), 1, "each dimension set is a metric to pay for");
    }
}
