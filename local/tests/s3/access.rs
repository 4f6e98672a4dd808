//! Signatures.

use std::time::Duration;

use aws_sdk_s3::presigning::PresigningConfig;

use crate::{get_object, put_object, start};

#[tokio::test(flavor = "multi_thread")]
async fn only_presigned_urls_work_without_a_secret() {
    let (_dir, cloud, client) = start().await;
    let valid = PresigningConfig::expires_in(Duration::from_mins(1)).unwrap();
    let upload = put_object(&client, "submissions", "speech/a b.json")
        .presigned(valid.clone())
        .await
        .unwrap();
    let http = reqwest::Client::new();
    let sent = http.put(upload.uri()).body("signed").send().await.unwrap();
    assert_eq!(sent.status(), 200);
    let download = get_object(&client, "submissions", "speech/a b.json")
        .presigned(valid)
        .await
        .unwrap();
    assert_eq!(
        http.get(download.uri())
            .send()
            .await
            .unwrap()
            .text()
            .await
            .unwrap(),
        "signed"
    );
    let tampered = upload.uri().replace("speech", "others");
    assert_eq!(
        http.put(tampered).body("forged").send().await.unwrap().status(),
        403
    );
    let url = format!("{}/submissions/speech/a%20b.json", cloud.s3_endpoint());
    assert_eq!(http.get(&url).send().await.unwrap().status(), 403);
    assert_eq!(
        http.put(&url).body("anonymous").send().await.unwrap().status(),
        403
    );
    cloud.shutdown().await;
}
