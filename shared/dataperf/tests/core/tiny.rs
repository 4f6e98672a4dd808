//! A data set of two words and a few clips, small enough to reason about.

use std::collections::BTreeMap;

use dataperf::benchmark::FrozenPart;
use dataperf::benchmark::dataset::Dataset;
use dataperf::dataset::active::InForce;
use dataperf::dataset::frozen::{Dtype, FORMAT, FileEntry, MANIFEST, Manifest, TensorEntry};
use dataperf::dataset::{Integrity, dataset_prefix};
use dataperf::ports::bucket::Bucket;
use dataperf::ports::memory::MemoryBucket;
use dataperf::{Benchmark, Descriptor, Digest};
use dataperf_benchmarks::speech_selection::SpeechSelection;
use serde_json::json;

/// What the benchmark says of itself.
pub(crate) static HOSTED: Descriptor = Descriptor::for_benchmark::<SpeechSelection>();

/// Training clips by row: `job` has 0 to 3, `route` 4 to 7, the nontargets `about` and `over` 8 to 11.
pub(crate) const IDS: [&str; 12] = [
    "job/0", "job/1", "job/2", "job/3", "route/4", "route/5", "route/6", "route/7", "about/8", "over/9",
    "about/10", "over/11",
];

/// Two numbers a clip: each word has its corner.
fn embedding(class: u8, idx: usize) -> [f32; 2] {
    let jitter = idx as f32 * 0.01;
    match class {
        1 => [1.0 + jitter, -jitter],
        2 => [-1.0 - jitter, 0.5 + jitter],
        _ => [jitter, -1.0 + jitter],
    }
}

fn bytes_of(rows: impl Iterator<Item = [f32; 2]>) -> Vec<u8> {
    rows.flatten().flat_map(f32::to_le_bytes).collect()
}

fn entry(bytes: &[u8], tensors: &[(&str, Dtype, Vec<usize>, u64)]) -> FileEntry {
    let tensor = |(name, dtype, shape, begin): &(&str, Dtype, Vec<usize>, u64)| {
        (
            (*name).to_owned(),
            TensorEntry {
                dtype: *dtype,
                shape: shape.clone(),
                begin: *begin,
            },
        )
    };
    FileEntry {
        n_bytes: bytes.len() as u64,
        digest: Digest::compute(bytes),
        tensors: tensors.iter().map(tensor).collect(),
    }
}

/// The files by path, and the manifest.
pub(crate) fn files() -> (BTreeMap<String, Vec<u8>>, Manifest) {
    let train_classes = [1, 1, 1, 1, 2, 2, 2, 2, 0, 0, 0, 0];
    let eval_classes: Vec<u8> = (0..30).map(|idx| idx % 3).collect();
    let train = bytes_of(
        train_classes
            .iter()
            .enumerate()
            .map(|(idx, &class)| embedding(class, idx)),
    );
    let mut eval = bytes_of(
        eval_classes
            .iter()
            .enumerate()
            .map(|(idx, &class)| embedding(class, idx)),
    );
    let classes_begin = eval.len() as u64;
    eval.extend(&eval_classes);
    let ids = format!("{}\n", IDS.join("\n")).into_bytes();
    let entries = [
        (
            "en/train.safetensors",
            entry(&train, &[("embeddings", Dtype::F32, vec![12, 2], 0)]),
        ),
        (
            "en/eval.safetensors",
            entry(
                &eval,
                &[
                    ("embeddings", Dtype::F32, vec![30, 2], 0),
                    ("classes", Dtype::U8, vec![30], classes_begin),
                ],
            ),
        ),
        ("en/train_ids.txt", entry(&ids, &[])),
    ];
    let manifest = Manifest {
        format: FORMAT.into(),
        benchmark: "speech-selection".into(),
        parameters: json!({
            "languages": {"en": {"targets": {"job": {"first": 0, "n": 4}, "route": {"first": 4, "n": 4}},
                                  "nontargets": {"first": 8, "n": 4}}},
            "leaderboards": {"en-6": {"language": "en", "max_clips": 6}},
            "seeds": [5, 69],
        }),
        files: entries
            .into_iter()
            .map(|(path, entry)| (path.to_owned(), entry))
            .collect(),
        corrected: None,
    };
    let named = [
        ("en/train.safetensors", train),
        ("en/eval.safetensors", eval),
        ("en/train_ids.txt", ids),
    ];
    (
        named
            .into_iter()
            .map(|(path, bytes)| (path.to_owned(), bytes))
            .collect(),
        manifest,
    )
}

/// A bucket in which the data set is published.
pub(crate) fn published() -> (MemoryBucket, Digest) {
    let (files, manifest) = files();
    let bytes = manifest.to_bytes().expect("a manifest");
    let digest = Digest::compute(&bytes);
    let bucket = MemoryBucket::default();
    let prefix = dataset_prefix("speech-selection", digest);
    let mut in_force = InForce::default();
    let boards = <SpeechSelection as Benchmark>::Frozen::leaderboards(&manifest).expect("boards");
    in_force.put(boards.iter().map(|board| board.name.as_str()), digest);
    let current = in_force.to_json("speech-selection").expect("json");
    pollster::block_on(async {
        for (path, bytes) in files {
            bucket
                .put(&format!("{prefix}{path}"), bytes.into())
                .await
                .expect("stored");
        }
        bucket
            .put(&format!("{prefix}{MANIFEST}"), bytes.into())
            .await
            .expect("stored");
        bucket
            .put(&InForce::key("speech-selection"), current)
            .await
            .expect("stored");
    });
    (bucket, digest)
}

/// The data set, opened.
pub(crate) fn dataset() -> Dataset<SpeechSelection> {
    let (bucket, digest) = published();
    let prefix = dataset_prefix("speech-selection", digest);
    pollster::block_on(Dataset::open(bucket, prefix, Some(digest), Integrity::Digests)).expect("a data set")
}

/// A submission that obeys the rules.
pub(crate) fn good() -> Vec<u8> {
    json!({"targets": {"job": ["job/0", "job/1"], "route": ["route/4"]}, "nontargets": ["about/8", "over/9"]})
        .to_string()
        .into_bytes()
}
