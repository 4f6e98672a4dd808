//! Uploads from a browser's form, allowed by a signed policy.
#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers of tests are tests

mod common;

use std::fmt::Write as _;

use base64::Engine as _;
use common::{PATIENCE, attempts, config_with_echo, get, s3};
use dataperf_local::LocalCloud;
use hmac::{Hmac, KeyInit as _, Mac as _};
use reqwest::multipart::{Form, Part};
use serde_json::json;
use sha2::Sha256;
use time::OffsetDateTime;
use time::macros::format_description;

fn hmac(key: &[u8], message: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(message.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

/// A form for keys below `echo/team/` of at most 100 bytes, signed as S3 documents it.
fn signed_form(key: &str, secret: &str) -> Form {
    let now = OffsetDateTime::now_utc();
    let day = now.format(format_description!("[year][month][day]")).unwrap();
    let moment = now
        .format(format_description!("[year][month][day]T[hour][minute][second]Z"))
        .unwrap();
    let expires = now + time::Duration::minutes(1);
    let expires = expires
        .format(format_description!(
            "[year]-[month]-[day]T[hour]:[minute]:[second]Z"
        ))
        .unwrap();
    let credential = format!("local/{day}/us-east-1/s3/aws4_request");
    let policy = json!({
        "expiration": expires,
        "conditions": [
            {"bucket": "submissions"},
            ["starts-with", "$key", "echo/team/"],
            ["content-length-range", 1, 100],
            {"x-amz-credential": credential},
            {"x-amz-algorithm": "AWS4-HMAC-SHA256"},
            {"x-amz-date": moment},
        ],
    });
    let policy = base64::engine::general_purpose::STANDARD.encode(policy.to_string());
    let key_of = |key: Vec<u8>, message: &str| hmac(&key, message);
    let signing = key_of(format!("AWS4{secret}").into_bytes(), &day);
    let signing = ["us-east-1", "s3", "aws4_request"]
        .into_iter()
        .fold(signing, key_of);
    let mut signature = String::new();
    for byte in hmac(&signing, &policy) {
        write!(signature, "{byte:02x}").unwrap();
    }
    Form::new()
        .text("key", key.to_owned())
        .text("x-amz-credential", credential)
        .text("x-amz-algorithm", "AWS4-HMAC-SHA256")
        .text("x-amz-date", moment)
        .text("policy", policy)
        .text("x-amz-signature", signature)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_uploads_only_as_its_policy_allows() {
    let dir = tempfile::tempdir().unwrap();
    let cloud = LocalCloud::start(config_with_echo(dir.path())).await.unwrap();
    let url = format!("{}/submissions", cloud.s3_endpoint());
    let post = async |key: &str, secret: &str, body: &str| {
        let form = signed_form(key, secret).part("file", Part::text(body.to_owned()).file_name("a.json"));
        let request = reqwest::Client::new()
            .post(&url)
            .multipart(form)
            .send()
            .await
            .unwrap();
        request.status().as_u16()
    };
    assert_eq!(post("echo/team/a b.json", "local", "{}").await, 204);
    assert_eq!(
        post("echo/others/a.json", "local", "{}").await,
        400,
        "outside of the policy's prefix"
    );
    assert_eq!(
        post("echo/team/large", "local", &"x".repeat(101)).await,
        400,
        "more than the policy allows"
    );
    assert_eq!(
        post("echo/team/forged", "guessed", "{}").await,
        403,
        "signed by somebody else"
    );
    assert_eq!(get(&s3(&cloud), "submissions", "echo/team/a b.json").await, b"{}");
    let listed = s3(&cloud)
        .list_objects_v2()
        .bucket("submissions")
        .send()
        .await
        .unwrap();
    assert_eq!(listed.contents().len(), 1);
    cloud.wait_idle(PATIENCE).await.unwrap();
    let attempts = attempts(dir.path());
    assert_eq!(attempts.len(), 1);
    assert_eq!(
        attempts[0]["event"]["Records"][0]["eventName"],
        "ObjectCreated:Post"
    );
    assert_eq!(attempts[0]["key"], "echo/team/a+b.json");
    cloud.shutdown().await;
}
