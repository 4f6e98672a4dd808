//! One object: its bytes and its key.

use std::time::{Duration, SystemTime};

use aws_sdk_s3::types::StorageClass;

use crate::common::{get, put};
use crate::{
    code, delete_object, get_object, head_object, head_of, list, pattern, percent_decoded, put_object, start,
};

#[tokio::test(flavor = "multi_thread")]
async fn ranges_and_conditions_of_reads() {
    let (_dir, cloud, client) = start().await;
    let body = pattern(300_000);
    put_object(&client, "results", "tensor")
        .body(body.clone().into())
        .send()
        .await
        .unwrap();
    for (range, expected) in [
        ("bytes=0-0", &body[..1]),
        ("bytes=1000-270000", &body[1000..=270_000]),
        ("bytes=299990-", &body[299_990..]),
        ("bytes=-7", &body[299_993..]),
        ("bytes=299990-999999", &body[299_990..]),
    ] {
        let part = get_object(&client, "results", "tensor")
            .range(range)
            .send()
            .await
            .unwrap();
        assert!(part.content_range().unwrap().ends_with("/300000"), "{range}");
        assert_eq!(
            part.content_length(),
            i64::try_from(expected.len()).ok(),
            "{range}"
        );
        assert!(part.body.collect().await.unwrap().to_vec() == expected, "{range}");
    }
    let outside = get_object(&client, "results", "tensor")
        .range("bytes=300000-")
        .send()
        .await
        .unwrap_err();
    assert_eq!(code(&outside), "InvalidRange");
    let etag = head_of(&client, "results", "tensor").await.e_tag.unwrap();
    let same = get_object(&client, "results", "tensor")
        .if_none_match(&etag)
        .send()
        .await
        .unwrap_err();
    assert_eq!(same.raw_response().unwrap().status().as_u16(), 304);
    let other = get_object(&client, "results", "tensor")
        .if_match("\"00\"")
        .send()
        .await
        .unwrap_err();
    assert_eq!(code(&other), "PreconditionFailed");
    let later = SystemTime::now() + Duration::from_mins(1);
    let unchanged = head_object(&client, "results", "tensor")
        .if_modified_since(later.into())
        .send()
        .await;
    assert_eq!(
        unchanged.unwrap_err().raw_response().unwrap().status().as_u16(),
        304
    );
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn any_legal_key_names_one_object() {
    let (_dir, cloud, client) = start().await;
    let long = "k".repeat(1024);
    let keys = [
        "a",
        "a/",
        "a/b",
        "a//b",
        "/a",
        "//",
        "../../etc/passwd",
        "a/../b",
        "./a",
        ".",
        "..",
        "a b",
        "a+b",
        "a%20b",
        "a%2Bb",
        "ü/日本/🦀",
        "quote\"'&<>",
        "tab\tnew\nline",
        "q?x=1#f",
        "\\",
        "*",
        "~",
        &long,
    ];
    for (n, key) in keys.iter().enumerate() {
        put(&client, "submissions", key, &n.to_string()).await;
    }
    for (n, key) in keys.iter().enumerate() {
        assert_eq!(
            get(&client, "submissions", key).await,
            n.to_string().as_bytes(),
            "{key:?}"
        );
    }
    let mut sorted: Vec<&str> = keys.to_vec();
    sorted.sort_unstable();
    let listed = list(&client, "submissions").encoding_type(aws_sdk_s3::types::EncodingType::Url);
    let listed = listed.send().await.unwrap();
    let listed: Vec<String> = listed
        .contents()
        .iter()
        .map(|object| object.key().unwrap().to_owned())
        .collect();
    // S3 writes a space as a plus sign there, and a plus sign as %2B
    let decoded: Vec<String> = listed
        .iter()
        .map(|key| percent_decoded(&key.replace('+', " ")))
        .collect();
    assert_eq!(decoded, sorted);
    let unescaped = list(&client, "submissions").prefix("a").send().await.unwrap();
    let unescaped: Vec<&str> = unescaped
        .contents()
        .iter()
        .map(|object| object.key().unwrap())
        .collect();
    let expected: Vec<&str> = sorted
        .iter()
        .copied()
        .filter(|key| key.starts_with('a'))
        .collect();
    assert_eq!(unescaped, expected);
    let too_long = "k".repeat(1025);
    let error = put_object(&client, "submissions", &too_long)
        .send()
        .await
        .unwrap_err();
    assert_eq!(code(&error), "KeyTooLongError");
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_constantly_replaced_object_stays_readable() {
    let (_dir, cloud, client) = start().await;
    put(&client, "results", "current.json", "0").await;
    let writer = {
        let client = client.clone();
        tokio::spawn(async move {
            for n in 1..=200 {
                put(&client, "results", "current.json", &n.to_string()).await;
            }
        })
    };
    let mut last = 0;
    while !writer.is_finished() {
        let text = String::from_utf8(get(&client, "results", "current.json").await).unwrap();
        let read: u32 = text.parse().unwrap();
        assert!(read >= last, "never back in time");
        last = read;
    }
    writer.await.unwrap();
    cloud.shutdown().await;
}

/// The server's cache of the last object read must not outlive a write.
#[tokio::test(flavor = "multi_thread")]
async fn a_read_sees_every_write_before_it() {
    let (_dir, cloud, client) = start().await;
    for n in 0..20 {
        let body = format!("body {n}");
        put(&client, "results", "again", &body).await;
        for _ in 0..2 {
            assert_eq!(get(&client, "results", "again").await, body.as_bytes());
        }
        put(&client, "results", "other", &body).await;
        assert_eq!(get(&client, "results", "again").await, body.as_bytes());
    }
    let deleted = delete_object(&client, "results", "again");
    deleted.send().await.unwrap();
    let gone = get_object(&client, "results", "again").send().await;
    assert_eq!(code(&gone.unwrap_err()), "NoSuchKey");
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_of_one_object_do_not_interfere() {
    let (_dir, cloud, client) = start().await;
    let body = pattern(3_000_000);
    let tensor = put_object(&client, "results", "tensor");
    tensor.body(body.clone().into()).send().await.unwrap();
    let reads = (0..24).map(|n| {
        let (begin, end) = (
            n * 50_000,
            n * 50_000 + if n % 2 == 0 { 1_500_000 } else { 1_000 },
        );
        let range = get_object(&client, "results", "tensor");
        let range = range.range(format!("bytes={begin}-{}", end - 1)).send();
        let whole = &body;
        async move {
            let bytes = range.await.unwrap().body.collect().await.unwrap().into_bytes();
            assert!(bytes == whole[begin..end], "{begin} to {end}");
        }
    });
    futures::future::join_all(reads).await;
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn archived_and_customer_encrypted_objects_are_not_readable() {
    let (_dir, cloud, client) = start().await;
    let put = |key: &str| put_object(&client, "submissions", key).body(b"x".to_vec().into());
    let read = |key: &str| get_object(&client, "submissions", key);
    let copy = |key: &str| {
        client
            .copy_object()
            .bucket("results")
            .key("copy")
            .copy_source(format!("submissions/{key}"))
    };
    put("cold")
        .storage_class(StorageClass::DeepArchive)
        .send()
        .await
        .unwrap();
    let head = head_of(&client, "submissions", "cold").await;
    assert_eq!(head.storage_class(), Some(&StorageClass::DeepArchive));
    assert_eq!(
        code(&read("cold").send().await.unwrap_err()),
        "InvalidObjectState"
    );
    assert_eq!(
        code(&copy("cold").send().await.unwrap_err()),
        "InvalidObjectState"
    );

    let (key, md5) = (
        "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
        "hRasmdxgYDKV3nvbahU1MA==",
    );
    let encrypted = put("own").sse_customer_algorithm("AES256").sse_customer_key(key);
    encrypted.sse_customer_key_md5(md5).send().await.unwrap();
    assert_eq!(code(&read("own").send().await.unwrap_err()), "InvalidRequest");
    assert_eq!(code(&copy("own").send().await.unwrap_err()), "InvalidRequest");
    let with_key = read("own").sse_customer_algorithm("AES256").sse_customer_key(key);
    with_key.sse_customer_key_md5(md5).send().await.unwrap();

    put("warm")
        .storage_class(StorageClass::StandardIa)
        .send()
        .await
        .unwrap();
    copy("warm").send().await.unwrap();
    let head = head_of(&client, "results", "copy").await;
    assert_eq!(
        head.storage_class(),
        None,
        "a copy has the class that its request names"
    );
    cloud.shutdown().await;
}
