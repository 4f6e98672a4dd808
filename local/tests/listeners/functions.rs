//! Lambda, Secrets Manager and services of others.

use serde_json::json;

use crate::common::{OUTSIDE, PATIENCE, attempts};
use crate::wire::{Request, authority};
use crate::{assert_closed_to_browsers, start};

#[tokio::test(flavor = "multi_thread")]
async fn functions_are_invoked_by_programs_only() {
    let (dir, cloud) = start().await;
    let endpoint = cloud.lambda_endpoint();
    let invoke = |host: &str| {
        Request::new("POST", "/2015-03-31/functions/echo/invocations")
            .with("x-amz-invocation-type", "Event")
            .body("{}")
            .signed("lambda", host)
    };
    assert_closed_to_browsers(endpoint, invoke).await;
    cloud.wait_idle(PATIENCE).await.unwrap();
    assert!(attempts(dir.path()).is_empty());
    assert_eq!(invoke(authority(endpoint)).send(endpoint).await.status, 202);
    cloud.wait_idle(PATIENCE).await.unwrap();
    assert_eq!(attempts(dir.path()).len(), 1);
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_read_by_programs_only() {
    let (_dir, cloud) = start().await;
    let endpoint = cloud.lambda_endpoint();
    let read = |host: &str| {
        Request::new("POST", "/")
            .with("x-amz-target", "secretsmanager.GetSecretValue")
            .body(json!({"SecretId": "absent"}).to_string())
            .signed("secretsmanager", host)
    };
    assert_closed_to_browsers(endpoint, read).await;
    let answer = read(authority(endpoint)).send(endpoint).await;
    assert_eq!(answer.status, 400, "{answer:?}");
    assert!(answer.body.contains("ResourceNotFoundException"), "{answer:?}");
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn services_of_others_answer_programs_only() {
    let (_dir, cloud) = start().await;
    let endpoint = cloud.outside(OUTSIDE).unwrap();
    let ask = |_: &str| Request::new("POST", "/draw").body("a horse");
    assert_closed_to_browsers(endpoint, ask).await;
    let answer = ask("").send(endpoint).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, "drawn"));
    assert_eq!(cloud.outside("another"), None);
    cloud.shutdown().await;
}
