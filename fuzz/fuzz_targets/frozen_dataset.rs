//! A hostile or damaged data set: an organizer's mistake is an error that says what, never a panic.
//!
//! Input: a letter for the benchmark, a manifest, a zero byte, and the bytes that each of its files has. Sizes and digests in the
//! manifest are made to fit, so that what is behind them is reached.
#![no_main]

use bytes::Bytes;
use dataperf_benchmarks::data_acquisition::DataAcquisition;
use dataperf_benchmarks::speech_selection::SpeechSelection;
use dataperf_benchmarks::vision_debugging::VisionDebugging;
use dataperf_benchmarks::vision_selection::VisionSelection;
use dataperf::benchmark::dataset::Dataset;
use dataperf::dataset::Integrity;
use dataperf::dataset::frozen::{MANIFEST, Manifest};
use dataperf::ports::bucket::Bucket;
use dataperf::ports::memory::MemoryBucket;
use dataperf::benchmark::FrozenPart;
use dataperf::{Benchmark, Digest};
use libfuzzer_sys::fuzz_target;

fn decode<B: Benchmark>(manifest: &[u8], content: &[u8]) {
    let Ok(mut manifest) = Manifest::parse(manifest, B::ID) else { return };
    for file in manifest.files.values_mut() {
        (file.n_bytes, file.digest) = (content.len() as u64, Digest::compute(content));
    }
    let Ok(bytes) = manifest.to_bytes() else { return };
    let Ok(boards) = B::Frozen::leaderboards(&manifest) else { return };
    let bucket = MemoryBucket::default();
    let content = Bytes::copy_from_slice(content);
    pollster::block_on(async {
        for path in manifest.files.keys() {
            bucket.put(path, content.clone()).await.expect("memory");
        }
        bucket.put(MANIFEST, bytes.into()).await.expect("memory");
        let opened = Dataset::<B>::open(bucket, String::new(), None, Integrity::Digests).await;
        let Ok(dataset) = opened else { return };
        for board in boards.iter().take(4) {
            let _ = dataset.frozen(&board.name).await;
        }
    });
}

fuzz_target!(|input: &[u8]| {
    let Some((&benchmark, rest)) = input.split_first() else { return };
    let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
    let (manifest, content) = (&rest[..end], rest.get(end + 1..).unwrap_or_default());
    match benchmark {
        b's' => decode::<SpeechSelection>(manifest, content),
        b'v' => decode::<VisionSelection>(manifest, content),
        b'd' => decode::<VisionDebugging>(manifest, content),
        _ => decode::<DataAcquisition>(manifest, content),
    }
});
