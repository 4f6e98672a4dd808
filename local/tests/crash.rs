//! The host itself is killed: nothing is lost, and no process stays behind.
#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers of tests are tests

mod common;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{PATIENCE, attempts, config_with_echo, example_binary, s3};
use dataperf_local::LocalCloud;

fn start_host(dir: &Path, port: u16) -> Child {
    Command::new(example_binary("crash_host"))
        .arg(dir)
        .args([port.to_string(), PATIENCE.as_millis().to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

fn client(port: u16) -> aws_sdk_s3::Client {
    let config = aws_sdk_s3::Config::builder()
        .behavior_version(aws_sdk_s3::config::BehaviorVersion::latest())
        .region(aws_sdk_s3::config::Region::new("us-east-1"))
        .credentials_provider(aws_sdk_s3::config::Credentials::new(
            "local", "local", None, None, "test",
        ))
        .endpoint_url(format!("http://127.0.0.1:{port}"))
        .retry_config(aws_sdk_s3::config::retry::RetryConfig::disabled())
        .force_path_style(true)
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .build();
    aws_sdk_s3::Client::from_conf(config)
}

async fn until(event: &str, is_true: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_true() {
        assert!(began.elapsed() < PATIENCE, "waited in vain until {event}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn is_running(pid: &serde_json::Value) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_host_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let port = free_port();
    let mut host = start_host(dir.path(), port);
    let client = client(port);
    until("the host listens", || {
        std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
    })
    .await;

    // two processes: one will hang, one serves all the others
    let put = |key: String| {
        client
            .put_object()
            .bucket("submissions")
            .key(key)
            .body(b"{}".to_vec().into())
            .send()
    };
    put("echo/hang/first".into()).await.unwrap();
    until("the first runs", || !attempts(dir.path()).is_empty()).await;
    let mut acknowledged = BTreeSet::new();
    let mut n_put = 0;
    loop {
        let key = format!("echo/{n_put}");
        if n_put == 40 {
            // the kill comes while a put is on its way
            let ((), last) = tokio::join!(async { host.kill().unwrap() }, put(key.clone()));
            if last.is_ok() {
                acknowledged.insert(key);
            }
            break;
        }
        put(key.clone()).await.unwrap();
        acknowledged.insert(key);
        n_put += 1;
    }
    host.wait().unwrap();
    let hanging = attempts(dir.path())[0]["pid"].clone();

    let mut config = config_with_echo(dir.path());
    // what hung before the crash succeeds after it
    config.functions[0].timeout = Duration::from_secs(4);
    config.retry_backoff = vec![];
    let cloud = LocalCloud::start(config).await.unwrap();
    until("the hanging process is gone", || !is_running(&hanging)).await;
    cloud.wait_idle(PATIENCE).await.unwrap();
    let ran: BTreeSet<String> = attempts(dir.path())
        .iter()
        .map(|attempt| attempt["key"].as_str().unwrap().to_owned())
        .collect();
    let lost: Vec<&String> = acknowledged.difference(&ran).collect();
    assert!(lost.is_empty(), "acknowledged and never run: {lost:?}");
    let records = cloud.on_failure().await.unwrap();
    assert_eq!(records.len(), 1, "the one that hangs has its record");
    assert_eq!(
        records[0].record["requestPayload"]["Records"][0]["s3"]["object"]["key"],
        "echo/hang/first"
    );
    let listed = s3(&cloud)
        .list_objects_v2()
        .bucket("submissions")
        .send()
        .await
        .unwrap();
    let listed: BTreeSet<String> = listed
        .contents()
        .iter()
        .map(|object| object.key().unwrap().to_owned())
        .collect();
    assert!(
        acknowledged.is_subset(&listed),
        "every acknowledged object is there"
    );
    cloud.shutdown().await;
    let left = attempts(dir.path())
        .iter()
        .filter(|attempt| is_running(&attempt["pid"]))
        .count();
    assert_eq!(left, 0, "no process stays behind");
}
