//! Uploads that nobody can read, by the way in which they were stored: for their submitter to fix, and no fault of the platform.

use aws_sdk_s3::operation::put_object::builders::PutObjectFluentBuilder;
use aws_sdk_s3::types::StorageClass;
use dataperf::Ending;
use serde_json::json;

use crate::support::project::good;
use crate::support::world::{Sent, World, key, with_caretaker};

/// A key of 32 bytes and its MD5, in base64, as SSE-C has them in its headers.
const OWN_KEY: (&str, &str) = (
    "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
    "F4YUTY02IigM4sd5nWRKnw==",
);

async fn sent(n: usize, put: PutObjectFluentBuilder) -> Sent {
    let key = key("ada", n);
    let put = put.bucket("submissions").key(&key).body(good(n).into());
    let version = put.send().await.unwrap().version_id.unwrap();
    Sent {
        bucket: "submissions".into(),
        key,
        version,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreadable_upload_is_rejected_with_a_remedy() {
    let world = World::with(with_caretaker).await;
    let s3 = &world.clients.s3;
    let mut uploads = Vec::new();
    for (n, class) in [StorageClass::Glacier, StorageClass::DeepArchive]
        .into_iter()
        .enumerate()
    {
        uploads.push((sent(n, s3.put_object().storage_class(class)).await, "archived"));
    }
    let (own_key, md5) = OWN_KEY;
    let encrypted = s3.put_object().sse_customer_algorithm("AES256");
    let encrypted = encrypted.sse_customer_key(own_key).sse_customer_key_md5(md5);
    uploads.push((sent(2, encrypted).await, "encrypted"));
    // a copy within the bucket has the class that the copy asks for
    let good_one = sent(3, s3.put_object().storage_class(StorageClass::StandardIa)).await;
    let copy = s3.copy_object().bucket("submissions").key(key("bo", 0));
    let copy = copy.copy_source(format!("submissions/{}", good_one.key));
    let copied = copy.storage_class(StorageClass::Glacier).send().await.unwrap();
    uploads.push((
        Sent {
            bucket: "submissions".into(),
            key: key("bo", 0),
            version: copied.version_id.unwrap(),
        },
        "archived",
    ));

    let mut all: Vec<Sent> = uploads.iter().map(|(sent, _)| sent.clone()).collect();
    all.push(good_one.clone());
    let receipts = world.receipts(&all).await;
    for (sent, code) in &uploads {
        let verdict = &receipts[&sent.id()].verdict;
        let reason = &verdict.reasons[0];
        assert_eq!(
            (verdict.status, reason.code.as_str()),
            (Ending::Rejected, *code),
            "{verdict:?}"
        );
        assert!(reason.message.contains("upload it again"), "{}", reason.message);
    }
    assert_eq!(
        receipts[&good_one.id()].verdict.status,
        Ending::Scored,
        "another class that can be read"
    );
    let snapshot = world.cloud.snapshot().await.unwrap();
    assert_eq!(snapshot.n_retried, 0, "nothing was tried again");
    assert!(world.cloud.on_failure().await.unwrap().is_empty());
    let ran = world.command(["redrive", uploads[0].0.id().as_str()]);
    assert_eq!(ran.json()[0]["became"], json!("left as it is"), "{ran:?}");
}
