//! Access to the ports of a running cloud, byte by byte: programs under one of its own names, and
//! browsers only for its own page.
#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers of tests are tests

#[path = "../common/mod.rs"]
mod common;
mod functions;
mod page;
mod remote;
mod s3;
mod table;
mod wire;

use axum::Router;
use axum::routing::get;
use common::config_with_echo;
use dataperf_local::LocalCloud;

use crate::wire::{FOREIGN_ORIGIN, Request, rebound};

/// A cloud with a page that says "page", and a function.
async fn start() -> (tempfile::TempDir, LocalCloud) {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config_with_echo(dir.path());
    config.http_port = Some(0);
    let cloud = LocalCloud::start(config).await.unwrap();
    assert!(cloud.serve_page(Router::new().route("/", get(async || "page"))));
    (dir, cloud)
}

/// Asserts that `request`, which a program may make, is refused to pages of all kinds and under other names. It is made again
/// for each host, because signatures hold for one.
async fn assert_closed_to_browsers(endpoint: &str, request: impl Fn(&str) -> Request) {
    let own = wire::authority(endpoint);
    for (case, request, host) in [
        ("a foreign host", request(&rebound(endpoint)), rebound(endpoint)),
        (
            "a foreign origin",
            request(own).with("origin", FOREIGN_ORIGIN),
            own.to_owned(),
        ),
        ("no origin", request(own).with("origin", "null"), own.to_owned()),
        (
            "another port's page",
            request(own).with("origin", "http://127.0.0.1:1"),
            own.to_owned(),
        ),
        (
            "a foreign page's own request",
            request(own).with("sec-fetch-site", "cross-site"),
            own.to_owned(),
        ),
    ] {
        let answer = request.send_as(endpoint, &host).await;
        assert_eq!(answer.status, 403, "{case} at {endpoint}: {answer:?}");
        assert!(
            !answer.is_readable_elsewhere(),
            "{case} at {endpoint}: {answer:?}"
        );
    }
    let asks_before = Request::new("OPTIONS", &request(own).target)
        .with("origin", FOREIGN_ORIGIN)
        .with("access-control-request-method", "POST")
        .with("access-control-request-headers", "authorization");
    let answer = asks_before.send(endpoint).await;
    assert_eq!(answer.status, 403, "{endpoint}: {answer:?}");
    assert!(!answer.is_readable_elsewhere(), "{endpoint}: {answer:?}");
}
