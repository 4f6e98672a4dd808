//! Headers, copies, deletes, checksums and errors.

use aws_sdk_s3::types::{ChecksumAlgorithm, Delete, ObjectIdentifier};

use crate::common::{get, put, s3_with_secret};
use crate::{code, delete_object, get_object, head_object, head_of, n_bodies, put_object, start};

#[tokio::test(flavor = "multi_thread")]
async fn headers_copies_and_deletes_of_many() {
    let (_dir, cloud, client) = start().await;
    let put_object = put_object(&client, "submissions", "a").body(b"body".to_vec().into());
    let put_object = put_object
        .content_type("application/json")
        .metadata("team", "ours")
        .cache_control("no-cache");
    let first = put_object.send().await.unwrap().version_id.unwrap();
    put(&client, "submissions", "a", "newer").await;
    let source = format!("submissions/a?versionId={first}");
    let copied = client
        .copy_object()
        .bucket("results")
        .key("copy")
        .copy_source(source)
        .send()
        .await
        .unwrap();
    assert_eq!(copied.copy_source_version_id(), Some(first.as_str()));
    assert_eq!(get(&client, "results", "copy").await, b"body");
    let head = head_of(&client, "results", "copy").await;
    assert_eq!(head.content_type(), Some("application/json"));
    assert_eq!(head.cache_control(), Some("no-cache"));
    assert_eq!(head.metadata().unwrap()["team"], "ours");

    // a copy onto itself is how S3 changes headers: the body must survive it
    let replace = client
        .copy_object()
        .bucket("results")
        .key("copy")
        .copy_source("results/copy");
    let replace = replace
        .metadata_directive(aws_sdk_s3::types::MetadataDirective::Replace)
        .content_type("text/plain");
    replace.send().await.unwrap();
    assert_eq!(get(&client, "results", "copy").await, b"body");
    let head = head_of(&client, "results", "copy").await;
    assert_eq!(head.content_type(), Some("text/plain"));
    delete_object(&client, "submissions", "a")
        .version_id(&first)
        .send()
        .await
        .unwrap();
    assert_eq!(
        get(&client, "results", "copy").await,
        b"body",
        "a copy outlives its source"
    );

    let objects = ["copy", "absent"].map(|key| ObjectIdentifier::builder().key(key).build().unwrap());
    let delete = Delete::builder()
        .set_objects(Some(objects.to_vec()))
        .build()
        .unwrap();
    let deleted = client
        .delete_objects()
        .bucket("results")
        .delete(delete)
        .send()
        .await
        .unwrap();
    assert_eq!((deleted.deleted().len(), deleted.errors().len()), (2, 0));
    let buckets = client.list_buckets().send().await.unwrap();
    let names: Vec<&str> = buckets
        .buckets()
        .iter()
        .map(|bucket| bucket.name().unwrap())
        .collect();
    assert_eq!(names, ["results", "submissions"]);
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn checksums_are_verified_and_given_back() {
    let (dir, cloud, client) = start().await;
    for algorithm in [
        ChecksumAlgorithm::Crc32,
        ChecksumAlgorithm::Crc32C,
        ChecksumAlgorithm::Crc64Nvme,
        ChecksumAlgorithm::Sha1,
        ChecksumAlgorithm::Sha256,
    ] {
        let put = put_object(&client, "results", "sum").checksum_algorithm(algorithm.clone());
        put.body(b"body".to_vec().into()).send().await.unwrap();
        let read = get_object(&client, "results", "sum");
        let read = read
            .checksum_mode(aws_sdk_s3::types::ChecksumMode::Enabled)
            .send()
            .await
            .unwrap();
        let checksums = [
            read.checksum_crc32(),
            read.checksum_crc32_c(),
            read.checksum_crc64_nvme(),
            read.checksum_sha1(),
            read.checksum_sha256(),
        ];
        assert_eq!(checksums.iter().flatten().count(), 1, "{algorithm}");
        assert_eq!(
            read.body.collect().await.unwrap().to_vec(),
            b"body",
            "the SDK checks it too"
        );
    }
    let wrong = put_object(&client, "results", "wrong")
        .checksum_crc32("AAAAAA==")
        .body(b"body".to_vec().into());
    assert_eq!(code(&wrong.send().await.unwrap_err()), "BadDigest");
    let wrong = put_object(&client, "results", "wrong").content_md5("1B2M2Y8AsgTpgAmY7PhCfg==");
    assert_eq!(
        code(&wrong.body(vec![b'b'; 40_000].into()).send().await.unwrap_err()),
        "BadDigest"
    );
    assert_eq!(
        code(&get_object(&client, "results", "wrong").send().await.unwrap_err()),
        "NoSuchKey"
    );
    assert_eq!(n_bodies(&dir), 1, "refused and replaced bodies are removed");
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_things_return_their_error_codes() {
    let (_dir, cloud, client) = start().await;
    let error = get_object(&client, "nowhere", "key").send().await.unwrap_err();
    assert_eq!(code(&error), "NoSuchBucket");
    assert_eq!(error.raw_response().unwrap().status().as_u16(), 404);
    let put = put_object(&client, "nowhere", "key").body(b"a".to_vec().into());
    assert_eq!(code(&put.send().await.unwrap_err()), "NoSuchBucket");
    let list = crate::list(&client, "nowhere").send().await;
    assert_eq!(code(&list.unwrap_err()), "NoSuchBucket");
    let head = client.head_bucket().bucket("nowhere").send().await;
    assert!(head.unwrap_err().into_service_error().is_not_found());
    let get = get_object(&client, "results", "key").send().await;
    assert_eq!(code(&get.unwrap_err()), "NoSuchKey");
    let head = head_object(&client, "results", "key").send().await;
    assert!(head.unwrap_err().into_service_error().is_not_found());
    let intruder = s3_with_secret(&cloud, "guessed");
    let list = crate::list(&intruder, "results").send().await;
    assert_eq!(code(&list.unwrap_err()), "SignatureDoesNotMatch");
    cloud.shutdown().await;
}
