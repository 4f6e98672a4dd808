//! The platform's metrics and log lines agree with the receipts.

use std::collections::BTreeSet;
use std::time::Duration;

use dataperf::{Ending, Receipt};
use serde_json::Value;

use crate::support::project::{BENCHMARK, good};
use crate::support::world::{CARETAKER, PATIENCE, World, key, with_caretaker};

impl World {
    /// The sum of a function's metric since the cloud's last start; 0 before its first value.
    async fn sum(&self, function: &str, metric: &str) -> f64 {
        let functions = self.cloud.snapshot().await.unwrap().functions;
        let metrics = functions.get(function).map(|function| &function.metrics);
        metrics
            .and_then(|metrics| metrics.get(metric))
            .map_or(0.0, |metric| metric.sum)
    }

    /// Waits until a metric is as it has to be: what a process prints arrives after its answer.
    async fn wait_for(&self, function: &str, metric: &str, expected: f64) {
        let reached = async {
            while (self.sum(function, metric).await - expected).abs() > 1e-9 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let is_reached = tokio::time::timeout(PATIENCE, reached).await.is_ok();
        assert!(
            is_reached,
            "{metric} of {function} is {}",
            self.sum(function, metric).await
        );
    }

    /// The lines of a function's logs that are JSON.
    fn log_lines(&self, function: &str) -> Vec<Value> {
        let directory = self.cloud.data_dir().join("logs").join(function);
        let mut lines = Vec::new();
        for entry in std::fs::read_dir(directory).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            lines.extend(
                text.lines()
                    .filter_map(|line| serde_json::from_str::<Value>(line).ok()),
            );
        }
        lines
    }
}

/// Each receipt has one line that it can be found by, and the line says what the receipt says.
fn assert_each_has_a_line(lines: &[Value], message: &str, receipts: &[&Receipt]) {
    let of_kind = || lines.iter().filter(|line| line["message"] == message);
    let submissions: BTreeSet<_> = of_kind().map(|line| line["submission"].to_string()).collect();
    assert_eq!(submissions.len(), receipts.len(), "{lines:#?}");
    for receipt in receipts {
        let line = of_kind().find(|line| line["submission"] == receipt.submission.as_str());
        let line = line.expect("its line");
        assert_eq!(line["benchmark"], BENCHMARK, "{line}");
        assert_eq!(line["submitter"], receipt.submitter.as_str(), "{line}");
        assert_eq!(line["outcome"], receipt.verdict.status.as_str(), "{line}");
        assert!(
            line["request_id"].as_str().is_some_and(|id| id.len() == 36),
            "{line}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_and_log_lines_agree_with_the_receipts() {
    let mut world = World::with(with_caretaker).await;
    let mut sent = Vec::new();
    for n in 0..5 {
        let artifact = if n < 3 { good(n) } else { b"{}".to_vec() };
        sent.push(world.put(&key("ada", n), artifact).await);
    }
    let receipts = world.receipts(&sent).await;
    world.wait_for(BENCHMARK, "Scored", 3.0).await;
    world.wait_for(BENCHMARK, "Rejected", 2.0).await;
    let processes = world.cloud.snapshot().await.unwrap().functions[BENCHMARK].cold.n;
    world
        .wait_for(
            BENCHMARK,
            "ColdStarts",
            f64::from(u32::try_from(processes).unwrap()),
        )
        .await;
    for metric in [
        "BytesRead",
        "EvaluationSeconds",
        "SubmissionSeconds",
        "DatasetSeconds",
        "TableSeconds",
        "ReceiptSeconds",
        "ComputeSeconds",
        "UploadToVerdictSeconds",
    ] {
        assert!(world.sum(BENCHMARK, metric).await > 0.0, "{metric}");
    }
    let ended: Vec<_> = receipts.values().collect();
    let lines = world.log_lines(BENCHMARK);
    assert_each_has_a_line(&lines, "finished", &ended);
    let has_metrics = |line: &&Value| line.get("_aws").is_some();
    assert_eq!(
        lines.iter().find(has_metrics),
        None,
        "nothing went wrong, so no metric costs anything"
    );

    world
        .change(|config| config.functions[0].timeout = Duration::from_millis(1))
        .await;
    sent.push(world.put(&key("bo", 0), good(0)).await);
    let receipts = world.receipts(&sent).await;
    world.wait_for(CARETAKER, "Failed", 1.0).await;
    let failed: Vec<_> = receipts
        .values()
        .filter(|receipt| receipt.verdict.status == Ending::Failed)
        .collect();
    let lines = world.log_lines(CARETAKER);
    assert_each_has_a_line(&lines, "given up", &failed);
    let quoted = lines.iter().find(|line| line["message"] == "given up").unwrap();
    let paid = lines.iter().find(has_metrics).expect("an alarm watches it");
    let declared = &paid["_aws"]["CloudWatchMetrics"][0]["Metrics"];
    assert_eq!(
        (&declared[0]["Name"], &declared[1], &paid["Failed"]),
        (&"Failed".into(), &Value::Null, &1.0.into())
    );
    let id = quoted["failed_request_id"].as_str().unwrap();
    assert!(
        failed[0].verdict.reasons[0].message.contains(id),
        "the receipt quotes what the log is searched by"
    );
}
