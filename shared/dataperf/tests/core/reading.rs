//! Counts how much a function reads for an upload. A rule without look-ups reads nothing, and no
//! upload causes large unneeded reads.

use std::collections::BTreeMap;
use std::io::{Cursor, Write as _};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use dataperf::benchmark::dataset::Dataset;
use dataperf::dataset::Integrity;
use dataperf::dataset::frozen::{Dtype, FORMAT, FileEntry, MANIFEST, Manifest, TensorEntry};
use dataperf::dataset::pool::{FINGERPRINTS, RECORDS, fingerprint};
use dataperf::evaluation::evaluate::evaluate;
use dataperf::ports::bucket::{Bucket, Got};
use dataperf::ports::memory::MemoryBucket;
use dataperf::ports::{PortError, async_trait};
use dataperf::{Digest, Ending, Verdict};
use dataperf_benchmarks::vision_selection::{
    EMBEDDINGS, LABELS, POOL_FILE, POOL_INDEX_FILE, VisionSelection, eval_file,
};
use serde_json::json;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const N_ROWS: usize = 100_000;
const N_FEATURES: usize = 254;
const ID_BYTES: usize = 8;
const ROW_BYTES: usize = ID_BYTES + 4 * N_FEATURES;
const MAX_EXAMPLES: usize = 400;
const MEGABYTE: u64 = 1 << 20;

/// A pool of 100 MB that is generated as it is read, with a count of the bytes.
struct CountingBucket {
    /// The whole files.
    small: MemoryBucket,
    /// The pool's ids in the order of its rows.
    ids: Vec<String>,
    counts: Arc<Counts>,
}

/// What was read of the pool.
#[derive(Default)]
struct Counts {
    n_ranges: AtomicU64,
    n_bytes: AtomicU64,
}

impl CountingBucket {
    fn record(&self, row: usize) -> Vec<u8> {
        let id = &self.ids[row];
        let mut record = id.clone().into_bytes();
        record.resize(ID_BYTES, 0);
        let number: usize = id.parse().expect("ids are numbers");
        let sign = if number.is_multiple_of(2) { 1.0_f32 } else { -1.0 };
        let vector = (0..N_FEATURES).map(|k| sign + (number % (k + 7)) as f32 / 100.0);
        record.extend(vector.flat_map(f32::to_le_bytes));
        record
    }
}

#[async_trait]
impl Bucket for CountingBucket {
    async fn get(&self, key: &str, version: Option<&str>, max_bytes: u64) -> Result<Got, PortError> {
        assert_ne!(key, POOL_FILE, "the pool is never read whole");
        self.small.get(key, version, max_bytes).await
    }

    async fn get_ranges(&self, key: &str, ranges: &[Range<u64>]) -> Result<Option<Vec<Bytes>>, PortError> {
        assert_eq!(key, POOL_FILE);
        let n_bytes = ranges.iter().map(|range| range.end - range.start).sum();
        self.counts.n_bytes.fetch_add(n_bytes, Ordering::Relaxed);
        self.counts
            .n_ranges
            .fetch_add(ranges.len() as u64, Ordering::Relaxed);
        let span = |range: &Range<u64>| {
            let rows = range.start as usize / ROW_BYTES..range.end as usize / ROW_BYTES;
            rows.flat_map(|row| self.record(row)).collect()
        };
        Ok(Some(ranges.iter().map(span).collect()))
    }

    async fn put(&self, key: &str, bytes: Bytes) -> Result<(), PortError> {
        self.small.put(key, bytes).await
    }

    async fn put_if_absent(&self, key: &str, bytes: Bytes) -> Result<bool, PortError> {
        self.small.put_if_absent(key, bytes).await
    }
}

fn entry(bytes: &[u8], tensors: &[(&str, Dtype, Vec<usize>, u64)]) -> FileEntry {
    let tensors = tensors.iter().map(|(name, dtype, shape, begin)| {
        let tensor = TensorEntry {
            dtype: *dtype,
            shape: shape.clone(),
            begin: *begin,
        };
        ((*name).to_owned(), tensor)
    });
    FileEntry {
        n_bytes: bytes.len() as u64,
        digest: Digest::compute(bytes),
        tensors: tensors.collect(),
    }
}

/// A data set of one concept with a counted pool; a submission may have `max_examples`.
fn dataset(max_examples: usize) -> Counted {
    let counts = Arc::new(Counts::default());
    let mut ids: Vec<String> = (0..N_ROWS).map(|number| number.to_string()).collect();
    ids.sort_by_cached_key(|id| (fingerprint(id), id.clone()));
    let index: Vec<u8> = ids.iter().flat_map(|id| fingerprint(id).to_le_bytes()).collect();
    let mut test: Vec<u8> = [1.0_f32, -1.0]
        .into_iter()
        .flat_map(|sign| vec![sign; N_FEATURES])
        .flat_map(f32::to_le_bytes)
        .collect();
    let labels_begin = test.len() as u64;
    test.extend([1, 0]);
    let pool = FileEntry {
        n_bytes: (N_ROWS * ROW_BYTES) as u64,
        ..entry(&[], &[(RECORDS, Dtype::U8, vec![N_ROWS, ROW_BYTES], 0)])
    };
    let tensors = [
        (EMBEDDINGS, Dtype::F32, vec![2, N_FEATURES], 0),
        (LABELS, Dtype::U8, vec![2], labels_begin),
    ];
    let files = [
        (POOL_FILE.to_owned(), pool),
        (
            POOL_INDEX_FILE.to_owned(),
            entry(&index, &[(FINGERPRINTS, Dtype::U32, vec![N_ROWS], 0)]),
        ),
        (eval_file("Hawk"), entry(&test, &tensors)),
    ];
    let manifest = Manifest {
        format: FORMAT.into(),
        benchmark: "vision-selection".into(),
        parameters: json!({
            "concepts": ["Hawk"], "max_examples": max_examples, "n_features": N_FEATURES, "id_bytes": ID_BYTES,
        }),
        files: BTreeMap::from(files),
        corrected: None,
    };
    let bucket = CountingBucket {
        small: MemoryBucket::default(),
        ids,
        counts: counts.clone(),
    };
    let manifest = manifest.to_bytes().expect("a manifest");
    let dataset = pollster::block_on(async {
        bucket.put(MANIFEST, manifest.into()).await.expect("stored");
        bucket.put(POOL_INDEX_FILE, index.into()).await.expect("stored");
        bucket.put(&eval_file("Hawk"), test.into()).await.expect("stored");
        Dataset::open(bucket, String::new(), None, Integrity::Digests)
            .await
            .expect("a data set")
    });
    Counted { dataset, counts }
}

/// A data set, and the bytes read of its pool.
struct Counted {
    dataset: Dataset<VisionSelection>,
    counts: Arc<Counts>,
}

/// Ids of the rows of the pool that are `step` from each other.
fn ids_apart(step: usize) -> Vec<String> {
    let mut ids: Vec<String> = (0..N_ROWS).map(|number| number.to_string()).collect();
    ids.sort_by_cached_key(|id| (fingerprint(id), id.clone()));
    ids.into_iter().step_by(step).collect()
}

fn judge(Counted { dataset, counts }: &Counted, artifact: &[u8]) -> (Verdict, u64, u64) {
    counts.n_bytes.store(0, Ordering::Relaxed);
    counts.n_ranges.store(0, Ordering::Relaxed);
    let verdict = pollster::block_on(evaluate(dataset, "open", artifact)).expect("the data set is whole");
    (
        verdict,
        counts.n_bytes.load(Ordering::Relaxed),
        counts.n_ranges.load(Ordering::Relaxed),
    )
}

fn of_json(ids: &[String]) -> Vec<u8> {
    let labels = ids.iter().map(|id| {
        (
            id.clone(),
            json!(u8::from(id.ends_with(['0', '2', '4', '6', '8']))),
        )
    });
    json!({"Hawk": labels.collect::<serde_json::Map<_, _>>()})
        .to_string()
        .into_bytes()
}

fn of_zip(ids: &[String]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default();
    writer.start_file("Hawk.csv", options).expect("a name");
    writeln!(writer, "ImageID,Confidence").expect("memory");
    for id in ids {
        writeln!(writer, "{id},1").expect("memory");
    }
    writer.finish().expect("memory").into_inner()
}

#[test]
fn too_many_examples_are_refused_before_reading() {
    let dataset = dataset(MAX_EXAMPLES);
    // some 100 KB that would make a function read all of the pool
    for artifact in [of_zip(&ids_apart(3)), of_json(&ids_apart(8))] {
        assert!(artifact.len() < 256 << 10, "{}", artifact.len());
        let (verdict, n_bytes, _) = judge(&dataset, &artifact);
        assert_eq!(verdict.status, Ending::Rejected);
        let codes: Vec<&str> = verdict
            .reasons
            .iter()
            .map(|reason| reason.code.as_str())
            .collect();
        assert!(codes.contains(&"too_many_examples"), "{codes:?}");
        assert!(!codes.contains(&"unknown_image"), "{codes:?}");
        assert_eq!(n_bytes, 0, "bytes of the pool");
    }
}

#[test]
fn too_many_examples_are_reported_with_other_errors() {
    let dataset = dataset(3);
    let artifact = json!({"Hawk": {"1": 1, "2": 2, "x": 1, "3": 1}, "Owl": {"1": 1}});
    let (verdict, n_bytes, _) = judge(&dataset, artifact.to_string().as_bytes());
    let shown: Vec<(&str, &str)> = verdict
        .reasons
        .iter()
        .map(|reason| (reason.code.as_str(), reason.at.as_str()))
        .collect();
    let expected = [
        ("bad_label", "/Hawk/2"),
        ("unknown_concept", "/Owl"),
        ("too_many_examples", ""),
    ];
    assert_eq!((shown.as_slice(), n_bytes), (expected.as_slice(), 0));
}

#[test]
fn distant_rows_are_read_without_the_gap() {
    let dataset = dataset(MAX_EXAMPLES);
    // 400 rows, each 60 KB from the next: with all that is between them they would be 25 MB
    let ids: Vec<String> = ids_apart(60).into_iter().take(MAX_EXAMPLES).collect();
    let wanted = (MAX_EXAMPLES * ROW_BYTES) as u64;
    let (verdict, n_bytes, _) = judge(&dataset, &of_json(&ids));
    assert_eq!(verdict.status, Ending::Scored, "{:?}", verdict.reasons);
    assert!(
        (wanted..=wanted + 8 * MEGABYTE).contains(&n_bytes),
        "{n_bytes} bytes for {wanted}"
    );
    // near ones are still read together
    let ids: Vec<String> = ids_apart(4).into_iter().take(MAX_EXAMPLES).collect();
    let (_, n_bytes, n_ranges) = judge(&dataset, &of_json(&ids));
    assert!(n_bytes <= 4 * wanted && n_ranges <= 2, "{n_ranges} ranges");
}

#[test]
fn a_lookup_limit_ignores_the_data_sets_limit() {
    let dataset = dataset(1_000_000);
    let ids: Vec<String> = (0..70_000).map(|number: u32| number.to_string()).collect();
    let (verdict, n_bytes, _) = judge(&dataset, &of_zip(&ids));
    assert_eq!(
        (verdict.reasons[0].code.as_str(), n_bytes),
        ("too_much_to_look_up", 0)
    );
    assert_eq!(verdict.reasons[0].limit, Some(64 * MEGABYTE));
}
