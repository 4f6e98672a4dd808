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

/// Logs one line of numbers about a benchmark of the deployment; `about` is what the line can be found by.
pub(crate) fn emit(deployment: &str, benchmark: &str, metrics: &[Metric], about: Value) {
    let line = document(now().unix_millis(), deployment, benchmark, metrics, about);
    // A line that can't be written can't be reported either.
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

fn document(millis: i64, deployment: &str, benchmark: &str, metrics: &[Metric], about: Value) -> Value {
    let definitions: Vec<Value> = metrics
        .iter()
        .map(|(name, unit, _)| json!({"Name": name, "Unit": format!("{unit:?}")}))
        .collect();
    let mut line = Map::new();
    line.insert(
        "_aws".into(),
        json!({
            "Timestamp": millis,
            "CloudWatchMetrics": [{
                "Namespace": NAMESPACE, "Dimensions": [["deployment", "benchmark"]], "Metrics": definitions,
            }],
        }),
    );
    line.insert("deployment".into(), deployment.into());
    line.insert("benchmark".into(), benchmark.into());
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
        let line = document(
            7,
            "dataperf",
            "speech-selection",
            &metrics,
            json!({"request_id": "r"}),
        );
        let about = &line["_aws"]["CloudWatchMetrics"][0];
        assert_eq!(line["_aws"]["Timestamp"], 7);
        assert_eq!(about["Dimensions"], json!([["deployment", "benchmark"]]));
        for dimension in ["deployment", "benchmark"] {
            assert!(line[dimension].is_string());
        }
        for (name, unit, value) in metrics {
            let defined = json!({"Name": name, "Unit": format!("{unit:?}")});
            assert!(about["Metrics"].as_array().expect("a list").contains(&defined));
            assert_eq!(line[name], value);
        }
        assert_eq!(line["request_id"], "r");
    }
}
