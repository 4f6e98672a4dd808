//! The host that the crash test kills: `crash_host DIR S3_PORT FUNCTION_LIMIT_MS`.
#![allow(clippy::unwrap_used, clippy::expect_used)] // part of a test

#[path = "../tests/common/mod.rs"]
mod common;

use std::path::Path;
use std::time::Duration;

use dataperf_local::LocalCloud;

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mut config = common::config_with_echo(Path::new(&args[1]));
    config.s3_port = args[2].parse().unwrap();
    config.functions[0].timeout = Duration::from_millis(args[3].parse().unwrap());
    let _cloud = LocalCloud::start(config).await.unwrap();
    std::future::pending::<()>().await;
}
