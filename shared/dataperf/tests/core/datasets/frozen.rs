//! A data set that is not what it says is never scored with.

use bytes::Bytes;
use dataperf::Digest;
use dataperf::benchmark::dataset::Dataset;
use dataperf::dataset::frozen::{FrozenError, MANIFEST, Manifest};
use dataperf::dataset::{DatasetError, Integrity};
use dataperf::evaluation::evaluate::evaluate;
use dataperf::ports::bucket::Bucket;
use dataperf::ports::memory::MemoryBucket;
use dataperf_benchmarks::speech_selection::SpeechSelection;

use crate::tiny;

type Opened = Result<Dataset<SpeechSelection>, DatasetError>;

/// The tiny data set in a bucket of its own after a change of its files or its manifest.
fn changed(
    change: impl FnOnce(&mut std::collections::BTreeMap<String, Vec<u8>>, &mut Manifest),
    integrity: Integrity,
) -> Opened {
    let (mut files, mut manifest) = tiny::files();
    change(&mut files, &mut manifest);
    let bucket = MemoryBucket::default();
    pollster::block_on(async {
        for (path, bytes) in files {
            bucket.put(&path, bytes.into()).await?;
        }
        bucket.put(MANIFEST, manifest.to_bytes()?.into()).await?;
        Dataset::open(bucket, String::new(), None, integrity).await
    })
}

fn score(opened: Opened) -> Result<(), DatasetError> {
    pollster::block_on(evaluate(&opened?, "en-6", &tiny::good())).map(drop)
}

#[test]
fn damage_is_detected_before_scoring() {
    let flip = |path: &'static str| {
        score(changed(
            |files, _| files.get_mut(path).expect("a file")[3] ^= 1,
            Integrity::Digests,
        ))
    };
    for path in ["en/eval.safetensors", "en/train_ids.txt"] {
        let error = flip(path).expect_err("damaged").to_string();
        assert!(error.contains(path) && error.contains("digest"), "{error}");
    }
    let cut = |files: &mut std::collections::BTreeMap<String, Vec<u8>>, _: &mut Manifest| {
        files
            .get_mut("en/eval.safetensors")
            .expect("a file")
            .truncate(100);
    };
    let short = score(changed(cut, Integrity::Sizes));
    assert!(short.expect_err("short").to_string().contains("bytes instead of"));
    let gone = score(changed(
        |files, _| drop(files.remove("en/train.safetensors")),
        Integrity::Sizes,
    ));
    assert!(gone.expect_err("gone").to_string().contains("missing"));
}

#[test]
fn an_inconsistent_manifest_is_refused() {
    let refused = |change: fn(&mut Manifest)| match changed(|_, manifest| change(manifest), Integrity::Sizes)
    {
        Ok(_) => panic!("it was opened"),
        Err(error) => error.to_string(),
    };
    assert!(refused(|manifest| manifest.format = "dataperf-frozen/9".into()).contains("dataperf-frozen/9"));
    assert!(
        refused(|manifest| manifest.benchmark = "vision-debugging".into()).contains("`vision-debugging`")
    );
    let escape = refused(|manifest| {
        let entry = manifest.files["en/train_ids.txt"].clone();
        manifest.files.insert("../secret".into(), entry);
    });
    assert!(escape.contains("../secret"), "{escape}");
    let beyond = refused(|manifest| {
        let file = manifest.files.get_mut("en/eval.safetensors").expect("a file");
        file.tensors.get_mut("embeddings").expect("a tensor").shape = vec![usize::MAX, 2];
    });
    assert!(beyond.contains("does not fit"), "{beyond}");
    // no bytes at all, and more rows than an array can have
    let empty = refused(|manifest| {
        let file = manifest.files.get_mut("en/eval.safetensors").expect("a file");
        file.tensors.get_mut("embeddings").expect("a tensor").shape = vec![1 << 63, 0];
    });
    assert!(
        empty.contains("`embeddings`") && empty.contains("`en/eval.safetensors`"),
        "{empty}"
    );
    assert!(empty.contains("[9223372036854775808, 0]"), "{empty}");
}

#[test]
fn another_digest_than_expected_is_refused() {
    let (bucket, digest) = tiny::published();
    let prefix = dataperf::dataset::dataset_prefix("speech-selection", digest);
    let opened: Opened = pollster::block_on(Dataset::open(
        bucket,
        prefix,
        Some(Digest::compute(b"other")),
        Integrity::Digests,
    ));
    assert!(matches!(
        opened,
        Err(DatasetError::Frozen(FrozenError::Damaged { .. }))
    ));
}

#[test]
fn rows_come_in_the_requested_order() {
    let dataset = tiny::dataset();
    let files = dataset.files();
    let rows = |idx: &[usize]| {
        let read = files.rows("en/train.safetensors", "embeddings", idx);
        pollster::block_on(read).map(|rows| rows.concatenated())
    };
    let first_number = |bytes: &Bytes, row: usize| {
        f32::from_le_bytes(bytes[8 * row..8 * row + 4].try_into().expect("four bytes"))
    };
    let read = rows(&[7, 0, 7]).expect("rows");
    assert_eq!(read.len(), 24);
    let bits = [0, 1, 2].map(|row| first_number(&read, row).to_bits());
    assert_eq!(bits, [-1.07f32, 1.0, -1.07].map(f32::to_bits));
    assert!(rows(&[12]).is_err());
}

#[test]
fn rows_already_read_are_not_requested_again() {
    let (bucket, digest) = tiny::published();
    let prefix = dataperf::dataset::dataset_prefix("speech-selection", digest);
    let opened = Dataset::open(bucket.clone(), prefix.clone(), Some(digest), Integrity::Digests);
    let dataset: Dataset<SpeechSelection> = pollster::block_on(opened).expect("a data set");
    let files = dataset.files();
    let rows = |rows: &[usize]| {
        let read = files.rows("en/train.safetensors", "embeddings", rows);
        pollster::block_on(read).map(|rows| rows.concatenated())
    };
    let read = rows(&[7, 0]).expect("rows");
    let train = format!("{prefix}en/train.safetensors");
    pollster::block_on(bucket.put(&train, Bytes::from(vec![0; 4096]))).expect("stored");
    assert_eq!(rows(&[7, 0]).expect("kept"), read);
    assert_eq!(rows(&[0, 0]).expect("kept")[8..], read[8..]);
    assert_ne!(rows(&[7, 1]).expect("read")[8..], read[8..]);
}
