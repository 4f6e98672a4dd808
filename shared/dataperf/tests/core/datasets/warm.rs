//! Which data sets stay in memory.

use std::sync::Arc;

use dataperf::Digest;
use dataperf::benchmark::dataset::Dataset;
use dataperf::benchmark::warm::Warm;
use dataperf::dataset::dataset_prefix;
use dataperf::dataset::frozen::MANIFEST;
use dataperf::ports::bucket::Bucket;
use dataperf::ports::memory::MemoryBucket;
use dataperf_benchmarks::speech_selection::SpeechSelection;
use serde_json::json;

use crate::tiny;

const BOARD: &str = "en-6";

/// A bucket with `n` data sets that differ in their seeds.
async fn published(n: u32) -> (MemoryBucket, Vec<Digest>) {
    let bucket = MemoryBucket::default();
    let (files, mut manifest) = tiny::files();
    let mut digests = Vec::new();
    for seed in 0..n {
        manifest.parameters["seeds"] = json!([seed]);
        let bytes = manifest.to_bytes().expect("a manifest");
        let digest = Digest::compute(&bytes);
        let prefix = dataset_prefix("speech-selection", digest);
        for (path, bytes) in &files {
            let key = format!("{prefix}{path}");
            bucket.put(&key, bytes.clone().into()).await.expect("stored");
        }
        let key = format!("{prefix}{MANIFEST}");
        bucket.put(&key, bytes.into()).await.expect("stored");
        digests.push(digest);
    }
    (bucket, digests)
}

type Opened = Arc<Dataset<SpeechSelection>>;

async fn used(warm: &Warm<SpeechSelection>, bucket: &MemoryBucket, digest: Digest) -> Opened {
    let opened = warm.dataset(bucket.clone(), digest).await;
    let dataset = opened.expect("a data set");
    dataset.frozen(BOARD).await.expect("a frozen part");
    dataset
}

#[test]
fn the_most_recently_used_stay_within_budget() {
    pollster::block_on(async {
        let (bucket, digests) = published(3).await;
        let [one, two, three] = digests[..] else {
            panic!("three")
        };
        let roomy = Warm::new(u64::MAX);
        let first = used(&roomy, &bucket, one).await;
        used(&roomy, &bucket, two).await;
        assert!(Arc::ptr_eq(&first, &used(&roomy, &bucket, one).await));

        let n_bytes = first.kept_bytes();
        let fresh = Dataset::<SpeechSelection>::published(bucket.clone(), one).await;
        assert_eq!(
            fresh.expect("a data set").kept_bytes(),
            0,
            "nothing is read before it is needed"
        );

        let for_two = Warm::new(2 * n_bytes);
        let first = used(&for_two, &bucket, one).await;
        let second = used(&for_two, &bucket, two).await;
        assert!(Arc::ptr_eq(&first, &used(&for_two, &bucket, one).await));
        used(&for_two, &bucket, three).await;
        assert!(
            Arc::ptr_eq(&first, &used(&for_two, &bucket, one).await),
            "used after the second"
        );
        assert!(
            !Arc::ptr_eq(&second, &used(&for_two, &bucket, two).await),
            "it has gone"
        );
    });
}

#[test]
fn data_in_use_stay_regardless_of_budget() {
    pollster::block_on(async {
        let (bucket, digests) = published(2).await;
        let none = Warm::new(0);
        let first = used(&none, &bucket, digests[0]).await;
        assert!(Arc::ptr_eq(&first, &used(&none, &bucket, digests[0]).await));
        used(&none, &bucket, digests[1]).await;
        assert!(!Arc::ptr_eq(&first, &used(&none, &bucket, digests[0]).await));
    });
}
