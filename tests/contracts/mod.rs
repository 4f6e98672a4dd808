//! The adapters keep the contracts of their ports: the AWS adapters over HTTP, and a folder as a
//! bucket.

pub(crate) mod suites;

use aws_sdk_s3::config::Credentials;
use aws_sdk_s3::config::retry::RetryConfig;
use bytes::Bytes;
use dataperf::ports::bucket::{Bucket, Got};
use dataperf_aws::S3Bucket;
use dataperf_local::{ACCESS_KEY_ID, SECRET_ACCESS_KEY, Storm};

use self::suites as contract;
use crate::support::world::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s3_keeps_the_contract_of_buckets() {
    let world = World::without_dataset(|config| config.functions.clear()).await;
    for name in ["submissions", "results"] {
        contract::bucket(&world.bucket(name), "contract").await.unwrap();
    }
    let missing = world
        .bucket("no-such-bucket")
        .get("key", None, 1)
        .await
        .expect_err("no such bucket");
    assert!(!missing.is_transient(), "{missing}");
    assert!(
        missing.to_string().contains("`s3://no-such-bucket/key`"),
        "{missing}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_keeps_the_contract_of_buckets() {
    let root = tempfile::tempdir().unwrap();
    let bucket = dataperf_datasets::DirectoryBucket::new(root.path());
    contract::bucket(&bucket, "contract").await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dynamodb_keeps_the_contract_of_leaderboards() {
    let world = World::without_dataset(|config| config.functions.clear()).await;
    contract::leaderboards(&world.leaderboards(), "first")
        .await
        .unwrap();
    contract::leaderboards(&world.leaderboards(), "second")
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dynamodb_keeps_the_contract_of_upkeep() {
    let world = World::without_dataset(|config| config.functions.clear()).await;
    contract::maintenance(&world.leaderboards(), "contract")
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s3_reads_the_requested_version() {
    let world = World::without_dataset(|config| config.functions.clear()).await;
    let bucket = world.bucket("submissions");
    let first = world.put("key", "first").await;
    let second = world.put("key", "the second").await;
    let read = async |version: Option<&str>| match bucket.get("key", version, 10).await.unwrap() {
        Got::Object(object) => String::from_utf8(object.bytes.to_vec()).unwrap(),
        other => format!("{other:?}"),
    };
    assert_eq!(read(Some(&first.version)).await, "first");
    assert_eq!(read(Some(&second.version)).await, "the second");
    assert_eq!(read(None).await, "the second");
    assert_eq!(read(Some("0123456789abcdef0123456789abcdef")).await, "Missing");
    world
        .clients
        .s3
        .delete_object()
        .bucket("submissions")
        .key("key")
        .send()
        .await
        .unwrap();
    assert_eq!(read(None).await, "Missing");
    assert_eq!(
        read(Some(&first.version)).await,
        "first",
        "a delete marker leaves the versions"
    );
}

/// Larger than two parts, so that it is read in parts at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s3_reads_a_large_object_in_parts() {
    let world = World::without_dataset(|config| config.functions.clear()).await;
    let bucket = world.bucket("datasets");
    let numbers: Vec<u8> = (0..5_000_001_u32).flat_map(u32::to_le_bytes).collect();
    bucket.put("large", numbers.clone().into()).await.unwrap();
    let Got::Object(object) = bucket.get("large", None, 1 << 30).await.unwrap() else {
        panic!("it is there")
    };
    assert!(object.bytes == numbers, "the parts are put together in order");
    assert_eq!(
        bucket.get("large", None, 1 << 20).await.unwrap(),
        Got::TooLarge {
            n_bytes: numbers.len() as u64
        }
    );
}

/// Many ranges are read by presigned requests, into which faults are injected as into all others of a function. What is read is right or
/// is to be tried again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s3_reads_many_ranges_in_a_storm() {
    let world = World::without_dataset(|config| config.functions.clear()).await;
    // a function's requests are known by their session token
    let token = Some("some-function/1".to_owned());
    let function = Credentials::new(ACCESS_KEY_ID, SECRET_ACCESS_KEY, token, None, "test");
    let config = world.clients.s3.config().to_builder();
    let config = config
        .credentials_provider(function)
        .retry_config(RetryConfig::disabled());
    let bucket = S3Bucket::new(aws_sdk_s3::Client::from_conf(config.build()), "datasets");
    let numbers: Vec<u8> = (0..4_000_u32).flat_map(u32::to_le_bytes).collect();
    bucket.put("numbers", numbers.clone().into()).await.unwrap();
    world.cloud.faults().storm(Some(Storm {
        seed: 12,
        s3_unavailable: 100,
        s3_slow: 100,
        s3_cut: 100,
        ..Storm::default()
    }));
    let (mut n_right, mut n_transient) = (0, 0);
    for batch in 0..60_u64 {
        let begins = (0..10).map(|n| (batch * 10 + n) * 23);
        let ranges: Vec<_> = begins.map(|begin| begin..begin + 100).collect();
        match bucket.get_ranges("numbers", &ranges).await {
            Ok(parts) => {
                let expected = ranges
                    .iter()
                    .map(|range| &numbers[range.start as usize..range.end as usize]);
                assert!(parts.unwrap().iter().eq(expected), "batch {batch}");
                n_right += 1;
            }
            Err(error) => {
                assert!(error.is_transient(), "batch {batch}: {error}");
                n_transient += 1;
            }
        }
    }
    let injected = world.cloud.faults().injected();
    assert!(
        n_right > 0 && n_transient > 0,
        "{n_right} {n_transient} {injected:?}"
    );
    for kind in ["S3 503", "S3 slow", "S3 body cut off"] {
        assert!(injected[kind] >= 20, "600 ranges and more: {injected:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_sixteen_conditional_writers_one_wins() {
    let world = World::without_dataset(|config| config.functions.clear()).await;
    let writers: Vec<_> = (0..16_u8)
        .map(|n| {
            let bucket = world.bucket("results");
            tokio::spawn(async move { bucket.put_if_absent("key", Bytes::from(vec![n])).await.unwrap() })
        })
        .collect();
    let mut winners = Vec::new();
    for (n, writer) in writers.into_iter().enumerate() {
        if writer.await.unwrap() {
            winners.push(n as u8);
        }
    }
    let Got::Object(object) = world.bucket("results").get("key", None, 1).await.unwrap() else {
        panic!("it is there")
    };
    assert_eq!(winners, object.bytes.to_vec());
}
