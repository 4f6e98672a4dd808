//! The effect of a stop and a start on the remaining work.

use std::collections::BTreeSet;
use std::time::Duration;

use dataperf_local::LocalCloud;

use crate::common::{PATIENCE, attempts, config_with_echo, put, s3};
use crate::is_running;

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_work_runs_after_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config_with_echo(dir.path());
    config.shutdown_grace = Duration::from_millis(100);
    config.retry_backoff = vec![Duration::from_millis(300)];
    let cloud = LocalCloud::start(config.clone()).await.unwrap();
    let client = s3(&cloud);
    for key in ["echo/linger-60000/0", "echo/linger-60000/1", "echo/2", "echo/3"] {
        put(&client, "submissions", key, "{}").await;
    }
    while attempts(dir.path()).len() < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    cloud.shutdown().await;
    let cut_off = attempts(dir.path());
    assert_eq!(cut_off.len(), 2);
    assert!(
        cut_off.iter().all(|attempt| !is_running(&attempt["pid"])),
        "no process outlives the cloud"
    );

    let cloud = LocalCloud::start(config).await.unwrap();
    cloud.wait_idle(PATIENCE).await.unwrap();
    let keys: BTreeSet<String> = attempts(dir.path())[2..]
        .iter()
        .map(|attempt| attempt["key"].to_string())
        .collect();
    assert_eq!(keys.len(), 4, "each event runs to its end");
    let snapshot = cloud.snapshot().await.unwrap();
    assert_eq!(
        (snapshot.n_succeeded, snapshot.n_retried, snapshot.n_failed),
        (4, 0, 0)
    );
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn retries_go_on_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config_with_echo(dir.path());
    config.retry_backoff = vec![Duration::from_millis(10), Duration::from_secs(5)];
    let cloud = LocalCloud::start(config.clone()).await.unwrap();
    put(&s3(&cloud), "submissions", "echo/error", "{}").await;
    while cloud.snapshot().await.unwrap().n_retried < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    cloud.shutdown().await;
    assert_eq!(attempts(dir.path()).len(), 2);
    let cloud = LocalCloud::start(config).await.unwrap();
    cloud.wait_idle(PATIENCE).await.unwrap();
    assert_eq!(
        attempts(dir.path()).len(),
        3,
        "the attempts before the restart count"
    );
    assert_eq!(
        cloud.on_failure().await.unwrap()[0].record["requestContext"]["approximateInvokeCount"],
        3
    );
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_for_a_removed_function_waits_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config_with_echo(dir.path());
    config.retry_backoff = vec![Duration::from_mins(1)];
    let cloud = LocalCloud::start(config.clone()).await.unwrap();
    cloud.faults().hold_events(true);
    put(&s3(&cloud), "submissions", "echo/a", "{}").await;
    cloud.shutdown().await;

    let functions = std::mem::take(&mut config.functions);
    let cloud = LocalCloud::start(config.clone()).await.unwrap();
    cloud
        .wait_idle(Duration::ZERO)
        .await
        .expect("there is nothing to wait for");
    let unknown = cloud.invoke("echo", &serde_json::json!({})).await.unwrap_err();
    assert_eq!(unknown.to_string(), "function `echo` is not configured");
    cloud.shutdown().await;

    config.functions = functions;
    let cloud = LocalCloud::start(config).await.unwrap();
    cloud.wait_idle(PATIENCE).await.unwrap();
    let request_id = cloud
        .invoke("echo", &serde_json::json!({"by": "hand"}))
        .await
        .unwrap();
    cloud.wait_idle(PATIENCE).await.unwrap();
    let attempts = attempts(dir.path());
    assert_eq!(attempts[0]["key"], "echo/a");
    assert_eq!(attempts[1]["request_id"], request_id.as_str());
    assert_eq!(attempts[1]["event"]["by"], "hand");
    cloud.shutdown().await;
}
