//! A data set of the right form with any numbers in it: the first byte chooses a file of the tiny data set, the rest replaces
//! what is in it. A good submission then has a score, or the data set is to blame; nothing panics.
#![no_main]

use dataperf_benchmarks::speech_selection::SpeechSelection;
use dataperf::benchmark::dataset::Dataset;
use dataperf::dataset::Integrity;
use dataperf::evaluation::evaluate::evaluate;
use dataperf::dataset::frozen::MANIFEST;
use dataperf::ports::bucket::Bucket;
use dataperf::ports::memory::MemoryBucket;
use dataperf::{Digest, Ending};
use libfuzzer_sys::fuzz_target;

#[allow(dead_code)] // the core's tests use more of it
#[path = "../../shared/dataperf/tests/core/tiny.rs"]
mod tiny;

fuzz_target!(|input: &[u8]| {
    let Some((&choice, rest)) = input.split_first() else { return };
    let (mut files, mut manifest) = tiny::files();
    let chosen = files.keys().nth(usize::from(choice) % files.len()).cloned().expect("there are some");
    if let Some(file) = files.get_mut(&chosen) {
        let n = rest.len().min(file.len()); // the same length: another one is refused before it is read
        file[..n].copy_from_slice(&rest[..n]);
        if let Some(entry) = manifest.files.get_mut(&chosen) {
            entry.digest = Digest::compute(file);
        }
    }
    let bucket = MemoryBucket::default();
    let judged = pollster::block_on(async {
        for (path, bytes) in files {
            bucket.put(&path, bytes.into()).await.expect("memory");
        }
        let bytes = manifest.to_bytes().expect("a manifest");
        bucket.put(MANIFEST, bytes.into()).await.expect("memory");
        let opened = Dataset::<SpeechSelection>::open(bucket, String::new(), None, Integrity::Digests).await;
        let dataset = opened.expect("the manifest is the tiny one");
        evaluate(&dataset, "en-6", &tiny::good()).await
    });
    if let Ok(verdict) = judged {
        assert_ne!(verdict.status, Ending::Failed);
        assert!(verdict.score.is_none_or(|score| (0.0..=1.0).contains(&score)), "{verdict:?}");
    }
});
