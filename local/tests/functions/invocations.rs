//! Events, processes and their reuse.

use std::collections::BTreeSet;
use std::time::Duration;

use dataperf_local::LocalCloud;

use crate::common::{PATIENCE, attempts, config_with_echo, put, s3};
use crate::is_running;

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_runs_the_function_with_lambda_context() {
    let dir = tempfile::tempdir().unwrap();
    let cloud = LocalCloud::start(config_with_echo(dir.path())).await.unwrap();
    let client = s3(&cloud);
    let version_id = put(&client, "submissions", "echo/a b+ü.json", "{}")
        .await
        .unwrap();
    put(&client, "submissions", "other/a.json", "{}").await;
    put(&client, "results", "echo/a.json", "{}").await;
    cloud.wait_idle(PATIENCE).await.unwrap();

    let attempts = attempts(dir.path());
    assert_eq!(attempts.len(), 1);
    let attempt = &attempts[0];
    assert_eq!(
        attempt["arn"],
        "arn:aws:lambda:us-east-1:000000000000:function:echo"
    );
    assert_eq!(attempt["memory_mb"], 128);
    let record = &attempt["event"]["Records"][0];
    assert_eq!(record["eventName"], "ObjectCreated:Put");
    assert_eq!(record["eventVersion"], "2.1");
    assert_eq!(record["s3"]["bucket"]["name"], "submissions");
    assert_eq!(record["s3"]["object"]["key"], "echo/a+b%2B%C3%BC.json");
    assert_eq!(record["s3"]["object"]["versionId"], version_id);
    assert_eq!(record["s3"]["object"]["size"], 2);
    assert_eq!(record["s3"]["object"]["eTag"], "99914b932bd37a50b983c5e7c90ae93b");
    let snapshot = cloud.snapshot().await.unwrap();
    assert_eq!(
        (snapshot.n_succeeded, snapshot.n_failed, snapshot.n_retried),
        (1, 0, 0)
    );
    assert_eq!((snapshot.n_waiting, snapshot.n_running), (0, 0));
    assert_eq!(snapshot.functions["echo"].cold.n, 1);
    let log_dir = cloud.data_dir().join("logs/echo");
    let log = std::fs::read_dir(log_dir).unwrap().next().unwrap().unwrap();
    cloud.shutdown().await;
    let log = std::fs::read_to_string(log.path()).unwrap();
    assert!(
        log.contains("START RequestId: ")
            && log.contains("echo echo/a+b")
            && log.contains("REPORT RequestId: "),
        "{log}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_and_multipart_uploads_send_their_own_events() {
    let dir = tempfile::tempdir().unwrap();
    let cloud = LocalCloud::start(config_with_echo(dir.path())).await.unwrap();
    let client = s3(&cloud);
    put(&client, "results", "source", "body").await;
    client
        .copy_object()
        .bucket("submissions")
        .key("echo/copy")
        .copy_source("results/source")
        .send()
        .await
        .unwrap();
    let upload = client
        .create_multipart_upload()
        .bucket("submissions")
        .key("echo/parts")
        .send()
        .await
        .unwrap();
    let upload_id = upload.upload_id.unwrap();
    let part = client
        .upload_part()
        .bucket("submissions")
        .key("echo/parts")
        .upload_id(&upload_id);
    let part = part
        .part_number(1)
        .body(b"body".to_vec().into())
        .send()
        .await
        .unwrap();
    let part = aws_sdk_s3::types::CompletedPart::builder()
        .part_number(1)
        .e_tag(part.e_tag.unwrap())
        .build();
    let parts = aws_sdk_s3::types::CompletedMultipartUpload::builder()
        .parts(part)
        .build();
    let complete = client
        .complete_multipart_upload()
        .bucket("submissions")
        .key("echo/parts");
    complete
        .upload_id(upload_id)
        .multipart_upload(parts)
        .send()
        .await
        .unwrap();
    cloud.wait_idle(PATIENCE).await.unwrap();
    let attempts = attempts(dir.path());
    let names: BTreeSet<&str> = attempts
        .iter()
        .map(|attempt| attempt["event"]["Records"][0]["eventName"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        BTreeSet::from(["ObjectCreated:CompleteMultipartUpload", "ObjectCreated:Copy"])
    );
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_is_reused_and_concurrency_is_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let cloud = LocalCloud::start(config_with_echo(dir.path())).await.unwrap();
    let client = s3(&cloud);
    for n in 0..10 {
        put(&client, "submissions", &format!("echo/one-by-one/{n}"), "").await;
        cloud.wait_idle(PATIENCE).await.unwrap();
    }
    let pids: BTreeSet<String> = attempts(dir.path())
        .iter()
        .map(|attempt| attempt["pid"].to_string())
        .collect();
    assert_eq!(pids.len(), 1, "one process serves one after the other");

    for n in 0..20 {
        put(&client, "submissions", &format!("echo/sleep-100/{n}"), "").await;
    }
    let mut most_running = 0;
    while cloud.wait_idle(Duration::from_millis(10)).await.is_err() {
        most_running = most_running.max(cloud.snapshot().await.unwrap().n_running);
    }
    assert_eq!(
        most_running, 2,
        "never more than the limit, and as many as it allows"
    );
    let pids: BTreeSet<String> = attempts(dir.path())
        .iter()
        .map(|attempt| attempt["pid"].to_string())
        .collect();
    assert_eq!(pids.len(), 2);
    let snapshot = cloud.snapshot().await.unwrap();
    assert_eq!(
        (
            snapshot.functions["echo"].cold.n,
            snapshot.functions["echo"].warm.n
        ),
        (2, 28)
    );
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_processes_end() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config_with_echo(dir.path());
    config.idle_timeout = Duration::from_secs(3);
    let cloud = LocalCloud::start(config).await.unwrap();
    put(&s3(&cloud), "submissions", "echo/a", "{}").await;
    cloud.wait_idle(PATIENCE).await.unwrap();
    let pid = attempts(dir.path())[0]["pid"].clone();
    assert!(is_running(&pid));
    while is_running(&pid) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    put(&s3(&cloud), "submissions", "echo/b", "{}").await;
    cloud.wait_idle(PATIENCE).await.unwrap();
    assert_ne!(attempts(dir.path())[1]["pid"], pid);
    cloud.shutdown().await;
}
