//! Every port that the process listens on is closed to browsers and to forged signatures.
//!
//! Alone in its file: other tests of the same process would have ports of their own.
#![cfg(target_os = "linux")] // where the system tells which ports those are
#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers of tests are tests

mod common;
#[path = "listeners/wire.rs"]
#[allow(dead_code)] // the part of it for S3
mod wire;

use std::collections::BTreeSet;
use std::path::Path;

use axum::Router;
use axum::routing::get;
use common::{PATIENCE, config_with_echo, put, s3};
use dataperf_local::LocalCloud;
use wire::{FOREIGN_ORIGIN, Request, rebound};

/// The local ports of this process's sockets that listen.
fn listening() -> BTreeSet<u16> {
    let sockets: BTreeSet<String> = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok())
        .filter_map(|target| {
            let target = target.to_str()?.strip_prefix("socket:[")?;
            Some(target.strip_suffix(']')?.to_owned())
        })
        .collect();
    let listens = |line: &str| {
        // the second column is the local address, the fourth the state (0A: listening), the tenth the socket
        let columns: Vec<&str> = line.split_whitespace().collect();
        let is_own = columns[3] == "0A" && sockets.contains(columns[9]);
        let port = columns[1].rsplit_once(':')?.1;
        is_own.then(|| u16::from_str_radix(port, 16).unwrap())
    };
    let mut ports = BTreeSet::new();
    for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
        if Path::new(table).exists() {
            let table = std::fs::read_to_string(table).unwrap();
            ports.extend(table.lines().skip(1).filter_map(listens));
        }
    }
    ports
}

#[tokio::test(flavor = "multi_thread")]
async fn no_port_is_left_unguarded() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config_with_echo(dir.path());
    config.http_port = Some(0);
    let cloud = LocalCloud::start(config).await.unwrap();
    assert!(cloud.serve_page(Router::new().route("/", get(async || "page"))));
    // a warm process, whose runtime API is open
    put(&s3(&cloud), "submissions", "echo/a", "{}").await;
    cloud.wait_idle(PATIENCE).await.unwrap();
    let ports = listening();
    let n_named = 5; // S3, the table, Lambda, the service of others, the page
    assert!(ports.len() > n_named, "the runtime API is found too: {ports:?}");
    let scan = Request::new("POST", "/")
        .with("content-type", "application/x-amz-json-1.0")
        .with("x-amz-target", "DynamoDB_20120810.Scan")
        .body(r#"{"TableName":"dataperf"}"#);
    let forged = scan
        .clone()
        .with("x-amz-date", "20260101T000000Z")
        .with("authorization", "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=00");
    for port in ports {
        let endpoint = format!("http://127.0.0.1:{port}");
        let answer = forged.send(&endpoint).await;
        assert_ne!(answer.status, 200, "a forged signature at {endpoint}: {answer:?}");
        // another user of the machine, who may name the port but knows no secret
        for request in [
            Request::new("GET", "/2018-06-01/runtime/invocation/next"),
            Request::new(
                "GET",
                "/0123456789abcdef0123456789abcdef/2018-06-01/runtime/invocation/next",
            ),
            Request::new("POST", "/2018-06-01/runtime/init/error").body("{}"),
        ] {
            let answer = tokio::time::timeout(PATIENCE, request.send(&endpoint)).await;
            let answer = answer.expect("an answer");
            assert!(
                answer.status >= 400,
                "without the secret at {endpoint}: {answer:?}"
            );
        }
        for request in [
            Request::new("GET", "/"),
            Request::new("GET", "/2018-06-01/runtime/invocation/next"),
            Request::new("POST", "/2018-06-01/runtime/init/error").body("{}"),
            Request::new("OPTIONS", "/").with("access-control-request-method", "POST"),
            forged.clone(),
        ] {
            for (case, request, host) in [
                ("host", request.clone(), rebound(&endpoint)),
                (
                    "origin",
                    request.clone().with("origin", FOREIGN_ORIGIN),
                    wire::authority(&endpoint).to_owned(),
                ),
                (
                    "null origin",
                    request.clone().with("origin", "null"),
                    wire::authority(&endpoint).to_owned(),
                ),
                (
                    "site",
                    request.clone().with("sec-fetch-site", "cross-site"),
                    wire::authority(&endpoint).to_owned(),
                ),
            ] {
                let answer = tokio::time::timeout(PATIENCE, request.send_as(&endpoint, &host)).await;
                let answer = answer.expect("an answer");
                assert_eq!(answer.status, 403, "{case} at {endpoint}: {answer:?}");
                assert!(
                    !answer.is_readable_elsewhere(),
                    "{case} at {endpoint}: {answer:?}"
                );
            }
        }
    }
    cloud.shutdown().await;
}
