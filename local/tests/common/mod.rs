//! A local cloud for one test, and clients of the real SDK for it.
#![allow(dead_code)] // each test file uses its own part

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::Router;
use axum::routing::post;
use dataperf_local::{Bucket, Config, FunctionSpec, LocalCloud, OutsideService, TableSpec, Trigger};
use serde_json::Value;

/// A service of others, which answers at `/draw`.
pub(crate) const OUTSIDE: &str = "outside";
/// How long a test waits before it fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Buckets `in` (versioned) and `out`, table `dataperf`, no functions.
pub(crate) fn config(dir: &Path) -> Config {
    let mut config = Config::new(dir.join("cloud"));
    config.buckets = vec![Bucket::versioned("submissions"), Bucket::plain("results")];
    config.table = Some(TableSpec::new("dataperf", "pk", "sk").indexed("ranking", "board", "rank"));
    config.outside = vec![OutsideService {
        name: OUTSIDE,
        port: 0,
        option: "port",
        router: Router::new().route("/draw", post(async || "drawn")),
    }];
    config.retry_backoff = vec![Duration::from_millis(50), Duration::from_millis(100)];
    config
}

/// [`config`] with the echo function on `submissions/echo/`.
pub(crate) fn config_with_echo(dir: &Path) -> Config {
    let mut config = config(dir);
    config.functions = vec![echo(dir)];
    config
}

pub(crate) fn echo(dir: &Path) -> FunctionSpec {
    FunctionSpec {
        name: "echo".into(),
        binary: example_binary("echo_function"),
        trigger: Trigger {
            bucket: "submissions".into(),
            prefix: "echo/".into(),
            suffix: String::new(),
        },
        memory_mb: 128,
        policy: None,
        timeout: Duration::from_secs(5),
        concurrency: 2,
        environment: BTreeMap::from([("ECHO_DIR".into(), dir.display().to_string())]),
    }
}

/// `cargo test` builds examples next to the tests.
pub(crate) fn example_binary(name: &str) -> PathBuf {
    let this = std::env::current_exe().unwrap();
    let profile = this.parent().unwrap().parent().unwrap(); // above `deps` or `examples`
    let path = profile.join("examples").join(name);
    assert!(
        path.is_file(),
        "`{}` is missing: run all tests of the package, which builds the examples",
        path.display()
    );
    path
}

/// The echo function's log, in order.
pub(crate) fn attempts(dir: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(dir.join("attempts")).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

pub(crate) fn s3(cloud: &LocalCloud) -> aws_sdk_s3::Client {
    s3_with_secret(cloud, "local")
}

pub(crate) fn s3_with_secret(cloud: &LocalCloud, secret: &str) -> aws_sdk_s3::Client {
    let config = aws_sdk_s3::Config::builder()
        .behavior_version(aws_sdk_s3::config::BehaviorVersion::latest())
        .region(aws_sdk_s3::config::Region::new("us-east-1"))
        .credentials_provider(aws_sdk_s3::config::Credentials::new(
            "local", secret, None, None, "test",
        ))
        .endpoint_url(cloud.s3_endpoint())
        .force_path_style(true)
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .build();
    aws_sdk_s3::Client::from_conf(config)
}

pub(crate) fn dynamodb(cloud: &LocalCloud) -> aws_sdk_dynamodb::Client {
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(aws_sdk_dynamodb::config::BehaviorVersion::latest())
        .region(aws_sdk_dynamodb::config::Region::new("us-east-1"))
        .credentials_provider(aws_sdk_dynamodb::config::Credentials::new(
            "local", "local", None, None, "test",
        ))
        .endpoint_url(cloud.dynamodb_endpoint())
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .build();
    aws_sdk_dynamodb::Client::from_conf(config)
}

/// Puts a small object and gives its version id.
pub(crate) async fn put(client: &aws_sdk_s3::Client, bucket: &str, key: &str, body: &str) -> Option<String> {
    let body = body.as_bytes().to_vec().into();
    client
        .put_object()
        .bucket(bucket)
        .key(key)
        .body(body)
        .send()
        .await
        .unwrap()
        .version_id
}

/// Gets a whole object.
pub(crate) async fn get(client: &aws_sdk_s3::Client, bucket: &str, key: &str) -> Vec<u8> {
    let object = client.get_object().bucket(bucket).key(key).send().await.unwrap();
    object.body.collect().await.unwrap().to_vec()
}

/// Gets a whole version of an object.
pub(crate) async fn get_version(
    client: &aws_sdk_s3::Client,
    bucket: &str,
    key: &str,
    version_id: &str,
) -> Vec<u8> {
    let object = client
        .get_object()
        .bucket(bucket)
        .key(key)
        .version_id(version_id)
        .send()
        .await
        .unwrap();
    object.body.collect().await.unwrap().to_vec()
}
