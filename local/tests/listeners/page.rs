//! The page, the read API behind it, and the counters.

use axum::Router;
use axum::routing::get;
use dataperf_local::LocalCloud;
use serde_json::Value;

use crate::common::{PATIENCE, config_with_echo, put, s3};
use crate::wire::{FOREIGN_ORIGIN, Request, authority, rebound};
use crate::{assert_closed_to_browsers, start};

#[tokio::test(flavor = "multi_thread")]
async fn the_page_is_its_own_and_programs_only() {
    let (_dir, cloud) = start().await;
    let endpoint = cloud.http_endpoint().unwrap();
    for path in ["/", "/metrics.json"] {
        assert_closed_to_browsers(endpoint, |_| Request::new("GET", path)).await;
        assert_eq!(Request::new("GET", path).send(endpoint).await.status, 200);
        let own = Request::new("GET", path)
            .with("origin", endpoint)
            .with("sec-fetch-site", "same-origin");
        let answer = own.send(endpoint).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    }
    let by_name = authority(endpoint).replace("127.0.0.1", "localhost");
    let own = Request::new("GET", "/").with("origin", &format!("http://{by_name}"));
    assert_eq!(own.send_as(endpoint, &by_name).await.status, 200);
    let rebound = rebound(endpoint);
    let same_elsewhere = Request::new("GET", "/").with("origin", &format!("http://{rebound}"));
    assert_eq!(same_elsewhere.send_as(endpoint, &rebound).await.status, 403);
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_of_functions_are_the_organizers() {
    let (_dir, cloud) = start().await;
    let endpoint = cloud.http_endpoint().unwrap();
    put(&s3(&cloud), "submissions", "echo/a.json", "{}").await;
    cloud.wait_idle(PATIENCE).await.unwrap();
    let request = Request::new("GET", "/metrics.json");
    let answer = request.send(endpoint).await;
    let shown: Value = serde_json::from_str(&answer.body).unwrap();
    let names: Vec<&str> = shown.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!((answer.status, names), (200, vec!["version"]), "{answer:?}");
    for wrong in ["Bearer guessed", "Bearer", "Basic local", "local"] {
        let answer = request.clone().with("authorization", wrong).send(endpoint).await;
        assert_eq!(answer.status, 401, "{wrong}: {answer:?}");
        assert!(!answer.body.contains("functions"), "{wrong}: {answer:?}");
    }
    let answer = request.with("authorization", "Bearer local").send(endpoint).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let shown: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(shown["functions"]["echo"]["n_succeeded"], 1, "{shown}");
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn links_open_the_page_and_frames_do_not() {
    let (_dir, cloud) = start().await;
    let endpoint = cloud.http_endpoint().unwrap();
    let from_elsewhere = |method, destination: &str| {
        Request::new(method, "/")
            .with("sec-fetch-site", "cross-site")
            .with("sec-fetch-mode", "navigate")
            .with("sec-fetch-dest", destination)
    };
    let link = from_elsewhere("GET", "document").send(endpoint).await;
    assert_eq!((link.status, link.body.as_str()), (200, "page"));
    assert_eq!(from_elsewhere("GET", "iframe").send(endpoint).await.status, 403);
    assert_eq!(
        from_elsewhere("POST", "document").send(endpoint).await.status,
        403
    );
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_pages_cannot_read_public_function_answers() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config_with_echo(dir.path());
    config.http_port = Some(0);
    let cloud = LocalCloud::start(config).await.unwrap();
    let answer = async || ([("access-control-allow-origin", "*")], "figures");
    assert!(cloud.serve_page(Router::new().route("/api/v1/figures", get(answer))));
    let endpoint = cloud.http_endpoint().unwrap();
    let answer = Request::new("GET", "/api/v1/figures").send(endpoint).await;
    assert_eq!(answer.status, 200);
    assert!(!answer.is_readable_elsewhere(), "{answer:?}");
    let from_elsewhere = Request::new("GET", "/api/v1/figures").with("origin", FOREIGN_ORIGIN);
    assert_eq!(from_elsewhere.send(endpoint).await.status, 403);
    cloud.shutdown().await;
}
