//! Failures, time limits and faults.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use dataperf_local::{LocalCloud, StartError};

use crate::common::{PATIENCE, attempts, config_with_echo, put, s3};
use crate::is_running;

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_retried_twice_and_then_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let cloud = LocalCloud::start(config_with_echo(dir.path())).await.unwrap();
    let client = s3(&cloud);
    for (key, field, text) in [
        ("echo/error", "errorType", "AskedFor"),
        ("echo/panic", "errorMessage", "asked to panic"),
        ("echo/exit", "errorType", "Runtime.ExitError"),
    ] {
        put(&client, "submissions", key, "{}").await;
        cloud.wait_idle(PATIENCE).await.unwrap();
        assert_eq!(
            attempts(dir.path())
                .iter()
                .filter(|attempt| attempt["key"] == key)
                .count(),
            3,
            "{key}"
        );
        let last = cloud.on_failure().await.unwrap().pop().unwrap();
        let record = &last.record;
        assert!(
            record["responsePayload"][field].as_str().unwrap().contains(text),
            "{record:#}"
        );
        assert_eq!(record["requestContext"]["condition"], "RetriesExhausted");
        assert_eq!(record["requestContext"]["approximateInvokeCount"], 3);
        assert_eq!(record["requestContext"]["requestId"], last.request_id.as_str());
        assert_eq!(record["requestPayload"]["Records"][0]["s3"]["object"]["key"], key);
        let file = cloud
            .data_dir()
            .join(format!("on-failure/{}.json", last.request_id));
        let written: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        assert_eq!(&written, record);
    }
    let same_id: BTreeSet<String> = attempts(dir.path())
        .iter()
        .filter(|a| a["key"] == "echo/error")
        .map(|a| a["request_id"].to_string())
        .collect();
    assert_eq!(same_id.len(), 1, "a retry is the same invocation");
    let snapshot = cloud.snapshot().await.unwrap();
    assert_eq!(
        (snapshot.n_failed, snapshot.n_retried, snapshot.n_succeeded),
        (3, 6, 0)
    );
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_that_succeeds_leaves_no_record() {
    let dir = tempfile::tempdir().unwrap();
    let cloud = LocalCloud::start(config_with_echo(dir.path())).await.unwrap();
    let began = Instant::now();
    put(&s3(&cloud), "submissions", "echo/flaky-2", "{}").await;
    cloud.wait_idle(PATIENCE).await.unwrap();
    assert!(
        began.elapsed() >= Duration::from_millis(150),
        "both waits were kept"
    );
    assert_eq!(attempts(dir.path()).len(), 3);
    assert!(cloud.on_failure().await.unwrap().is_empty());
    assert_eq!(cloud.snapshot().await.unwrap().n_succeeded, 1);
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_limit_kills_the_process() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config_with_echo(dir.path());
    config.functions[0].timeout = Duration::from_secs(3);
    config.retry_backoff = vec![];
    let cloud = LocalCloud::start(config).await.unwrap();
    put(&s3(&cloud), "submissions", "echo/hang", "{}").await;
    cloud.wait_idle(PATIENCE).await.unwrap();
    let record = &cloud.on_failure().await.unwrap()[0].record;
    assert_eq!(record["responsePayload"]["errorType"], "Sandbox.Timedout");
    let message = record["responsePayload"]["errorMessage"].as_str().unwrap();
    assert!(
        message.ends_with("Task timed out after 3.00 seconds"),
        "{message}"
    );
    assert!(
        !is_running(&attempts(dir.path())[0]["pid"]),
        "the process is gone"
    );
    put(&s3(&cloud), "submissions", "echo/next", "{}").await;
    cloud.wait_idle(PATIENCE).await.unwrap();
    assert_eq!(
        cloud.snapshot().await.unwrap().n_succeeded,
        1,
        "the next one gets a new process"
    );
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_binary_dying_early_is_a_recorded_failure() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config_with_echo(dir.path());
    config.functions[0]
        .environment
        .insert("ECHO_INIT".into(), "exit".into());
    let cloud = LocalCloud::start(config).await.unwrap();
    put(&s3(&cloud), "submissions", "echo/a", "{}").await;
    cloud.wait_idle(PATIENCE).await.unwrap();
    let record = &cloud.on_failure().await.unwrap()[0].record;
    assert_eq!(record["responsePayload"]["errorType"], "Runtime.ExitError");
    assert!(
        record["responsePayload"]["errorMessage"]
            .as_str()
            .unwrap()
            .contains("exit status: 7"),
        "{record}"
    );
    assert_eq!(record["requestContext"]["approximateInvokeCount"], 3);
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_processes_are_retried_and_duplicates_run_apart() {
    let dir = tempfile::tempdir().unwrap();
    let cloud = LocalCloud::start(config_with_echo(dir.path())).await.unwrap();
    let client = s3(&cloud);
    put(&client, "submissions", "echo/sleep-2000/by-hand", "{}").await;
    while attempts(dir.path()).is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    cloud.faults().kill_running("echo");
    cloud.wait_idle(PATIENCE).await.unwrap();
    assert_eq!(attempts(dir.path()).len(), 2);
    assert!(!is_running(&attempts(dir.path())[0]["pid"]));

    cloud.faults().duplicate_events(3);
    cloud.faults().delay_events(Duration::from_millis(200));
    let began = Instant::now();
    put(&client, "submissions", "echo/thrice", "{}").await;
    cloud.wait_idle(PATIENCE).await.unwrap();
    assert!(began.elapsed() >= Duration::from_millis(200));
    let all = attempts(dir.path());
    let thrice: Vec<_> = all
        .iter()
        .filter(|attempt| attempt["key"] == "echo/thrice")
        .collect();
    assert_eq!(thrice.len(), 3);
    assert!(
        thrice
            .iter()
            .all(|attempt| attempt["event"] == thrice[0]["event"]),
        "the same event"
    );
    let ids: BTreeSet<String> = thrice
        .iter()
        .map(|attempt| attempt["request_id"].to_string())
        .collect();
    assert_eq!(ids.len(), 3, "in invocations of their own");
    assert!(cloud.on_failure().await.unwrap().is_empty());
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_that_cannot_run_are_refused_at_startup() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config_with_echo(dir.path());
    config.functions[0].binary = "/nowhere/echo".into();
    let Err(error) = LocalCloud::start(config).await else {
        panic!("it started")
    };
    assert!(matches!(error, StartError::Function { .. }));
    assert_eq!(
        error.to_string(),
        "function `echo`: the binary `/nowhere/echo` does not exist; build it first"
    );
}
