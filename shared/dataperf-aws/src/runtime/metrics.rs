//! Numbers in the log: a line of JSON has them in its member `numbers`, where Logs Insights and the dashboard read them.
//!
//! Only numbers that alarms watch are metrics too, and only while they are not 0. CloudWatch
//! extracts metrics from such lines, and each metric costs money in each hour with a value.
//!
//! # Source
//! Amazon CloudWatch User Guide, "Specification: Embedded metric format".

use std::io::Write as _;

use serde_json::{Map, Value, json};

use crate::runtime::now;

/// The namespace of all metrics.
const NAMESPACE: &str = "DataPerf";

/// The numbers that alarms watch, with CloudWatch's units.
const WATCHED: [(&str, &str); 3] = [
    ("OrganizerFaults", "Count"),
    ("Failed", "Count"),
    ("OldestUnfinishedSeconds", "Seconds"),
];

/// A number with its name, of which the last word is the unit unless it is a count.
pub(crate) type Metric = (&'static str, f64);

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
    let mut line = Map::new();
    line.insert("deployment".into(), deployment.into());
    if let Some(benchmark) = benchmark {
        line.insert("benchmark".into(), benchmark.into());
    }
    let numbers = metrics
        .iter()
        .map(|(name, value)| ((*name).to_owned(), json!(value)));
    line.insert("numbers".into(), Value::Object(numbers.collect()));
    let mut declared = Vec::new();
    for &(name, value) in metrics.iter().filter(|(_, value)| *value != 0.0) {
        if let Some((_, unit)) = WATCHED.iter().find(|(watched, _)| *watched == name) {
            line.insert(name.into(), json!(value)); // a metric has to be a member of the line itself
            declared.push(json!({ "Name": name, "Unit": unit }));
        }
    }
    if !declared.is_empty() {
        let directive =
            json!({ "Namespace": NAMESPACE, "Dimensions": [["deployment"]], "Metrics": declared });
        let directives = json!({ "Timestamp": millis, "CloudWatchMetrics": [directive] });
        line.insert("_aws".into(), directives);
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
    fn only_alarm_inputs_become_metrics() {
        let about = json!({"request_id": "r"});
        let line = |failed| {
            let metrics = [("Scored", 1.0), ("Failed", failed), ("DatasetSeconds", 0.25)];
            document(7, "dataperf", Some("speech-selection"), &metrics, about.clone())
        };
        let plain = json!({
            "deployment": "dataperf", "benchmark": "speech-selection", "request_id": "r",
            "numbers": {"Scored": 1.0, "Failed": 0.0, "DatasetSeconds": 0.25},
        });
        assert_eq!(line(0.0), plain);
        let failed = line(1.0);
        let directive = json!({
            "Namespace": "DataPerf", "Dimensions": [["deployment"]], "Metrics": [{"Name": "Failed", "Unit": "Count"}],
        });
        assert_eq!(
            failed["_aws"],
            json!({"Timestamp": 7, "CloudWatchMetrics": [directive]})
        );
        assert_eq!((&failed["Failed"], failed.get("Scored")), (&json!(1.0), None));
        assert_eq!(document(7, "dataperf", None, &[], about).get("benchmark"), None);
    }
}
