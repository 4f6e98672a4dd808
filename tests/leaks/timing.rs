//! The cost of a rejection: the same reads for any hidden labels, and no model, so that its
//! duration reveals nothing about them.

use std::fs;
use std::io::Write as _;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use dataperf::benchmark::FrozenPart;
use dataperf::benchmark::dataset::Dataset;
use dataperf::dataset::Integrity;
use dataperf::evaluation::evaluate::check;
use dataperf::ports::bucket::{Bucket, Got};
use dataperf::ports::{PortError, async_trait};
use dataperf::{Digest, Rejection};
use dataperf_benchmarks::data_acquisition::DataAcquisition;
use dataperf_benchmarks::own_data::acquisition::Acquisition;
use dataperf_benchmarks::own_data::curation::Curation;
use dataperf_benchmarks::own_data::debugging::Debugging;
use dataperf_benchmarks::own_data::selection::Selection;
use dataperf_benchmarks::speech_selection::SpeechSelection;
use dataperf_benchmarks::vision_debugging::VisionDebugging;
use dataperf_benchmarks::vision_selection::VisionSelection;
use dataperf_datasets::{DirectoryBucket, Import, Silent, import};
use serde_json::Value;

use crate::support::project::root;

/// A read: of which file, and of how many bytes.
type Read = (String, u64);

/// A directory that notes what is read of it.
struct Noting {
    directory: DirectoryBucket,
    reads: Arc<Mutex<Vec<Read>>>,
}

#[async_trait]
impl Bucket for Noting {
    async fn get(&self, key: &str, version: Option<&str>, max_bytes: u64) -> Result<Got, PortError> {
        let got = self.directory.get(key, version, max_bytes).await?;
        let n_bytes = match &got {
            Got::Object(object) => object.bytes.len() as u64,
            _ => 0,
        };
        self.reads.lock().unwrap().push((key.to_owned(), n_bytes));
        Ok(got)
    }

    fn gap_bytes(&self) -> u64 {
        self.directory.gap_bytes()
    }

    async fn get_ranges(&self, key: &str, ranges: &[Range<u64>]) -> Result<Option<Vec<Bytes>>, PortError> {
        let read = ranges
            .iter()
            .map(|range| (key.to_owned(), range.end - range.start));
        self.reads.lock().unwrap().extend(read);
        self.directory.get_ranges(key, ranges).await
    }

    async fn put(&self, _: &str, _: Bytes) -> Result<(), PortError> {
        unreachable!("a data set is only read")
    }

    async fn put_if_absent(&self, _: &str, _: Bytes) -> Result<bool, PortError> {
        unreachable!("a data set is only read")
    }
}

/// Gives hidden items each other's labels; returns how many files have changed.
fn with_other_labels<B: Import>(frozen: &Path) -> usize {
    let path = frozen.join("manifest.json");
    let mut manifest: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let mut n_changed = 0;
    for (name, entry) in manifest["files"].as_object_mut().unwrap() {
        if B::Frozen::is_public(name) {
            continue;
        }
        let file = frozen.join(name);
        let before = fs::read(&file).unwrap();
        let mut bytes = before.clone();
        if Path::new(name).extension().is_some_and(|end| end == "csv") {
            bytes = with_labels_turned(&String::from_utf8(bytes).unwrap()).into_bytes();
        } else if let Some(tensors) = entry["tensors"].as_object() {
            for tensor in tensors.values().filter(|tensor| tensor["dtype"] == "U8") {
                let shape = tensor["shape"].as_array().unwrap();
                let begin = tensor["begin"].as_u64().unwrap() as usize;
                let n_bytes: u64 = shape.iter().map(|n| n.as_u64().unwrap()).product();
                bytes[begin..begin + n_bytes as usize].reverse();
            }
        }
        if bytes != before {
            n_changed += 1;
            entry["digest"] = serde_json::json!(Digest::compute(&bytes));
            fs::write(&file, bytes).unwrap();
        }
    }
    fs::write(&path, format!("{manifest:#}\n")).unwrap();
    n_changed
}

/// A table whose labels have changed places; one without labels as it is.
fn with_labels_turned(text: &str) -> String {
    let mut lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let Some(column) = lines[0].iter().position(|name| *name == "label") else {
        return text.to_owned();
    };
    let labels: Vec<&str> = lines[1..].iter().map(|line| line[column]).collect();
    for (n, line) in lines[1..].iter_mut().enumerate() {
        line[column] = labels[(n + labels.len() / 2) % labels.len()];
    }
    let lines: Vec<String> = lines.iter().map(|line| line.join(",")).collect();
    lines.join("\n") + "\n"
}

/// Why an artifact is rejected, before any model is fitted, and what was read for it.
async fn rejected<B: Import>(frozen: &Path, leaderboard: &str, artifact: &[u8]) -> (Rejection, Vec<Read>) {
    let reads = Arc::new(Mutex::new(Vec::new()));
    let bucket = Noting {
        directory: DirectoryBucket::new(frozen),
        reads: reads.clone(),
    };
    let dataset = Dataset::<B>::open(bucket, String::new(), None, Integrity::Sizes).await;
    let checked = check(&dataset.unwrap(), leaderboard, artifact).await;
    let rejection = checked.expect_err("it breaks a rule").rejection().unwrap();
    let reads = reads.lock().unwrap().clone();
    (rejection, reads)
}

async fn costs_the_same<B: Import>() {
    let demo = root().join("demo").join(B::ID);
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let [own, other] = ["own", "other"].map(|name| dir.path().join(name));
    for frozen in [&own, &other] {
        import::<B>(&demo, frozen, &Silent).unwrap();
    }
    let manifest = own.join("manifest.json");
    let read: Value = serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    fs::write(&manifest, format!("{read:#}\n")).unwrap(); // in the form of the other one
    assert!(with_other_labels::<B>(&other) > 0, "{}: labels are hidden", B::ID);
    let (mut n_artifacts, mut n_reads, mut n_bytes) = (0, 0, 0);
    for board in fs::read_dir(demo.join("submissions")).unwrap() {
        let board = board.unwrap();
        let leaderboard = board.file_name().into_string().unwrap();
        let Ok(bad) = fs::read_dir(board.path().join("hasty")) else {
            continue;
        };
        for artifact in bad {
            let artifact = fs::read(artifact.unwrap().path()).unwrap();
            let (one, reads) = rejected::<B>(&own, &leaderboard, &artifact).await;
            let (two, others) = rejected::<B>(&other, &leaderboard, &artifact).await;
            assert_eq!(one, two, "{} {leaderboard}: the same reasons", B::ID);
            assert_eq!(reads, others, "{} {leaderboard}: the same reads", B::ID);
            n_artifacts += 1;
            n_reads += reads.len();
            n_bytes += reads.iter().map(|(_, n_bytes)| n_bytes).sum::<u64>();
        }
    }
    // Not captured by the test harness: for docs/security.md.
    let _ = writeln!(
        std::io::stderr(),
        "{}: {n_artifacts} rejections, {n_reads} reads of {n_bytes} bytes, with other hidden labels the same",
        B::ID
    );
    assert!(n_artifacts > 0 && n_reads > n_artifacts, "{}", B::ID);
}

#[tokio::test]
async fn rejections_cost_the_same_for_any_hidden_labels() {
    costs_the_same::<SpeechSelection>().await;
    costs_the_same::<VisionSelection>().await;
    costs_the_same::<VisionDebugging>().await;
    costs_the_same::<DataAcquisition>().await;
    costs_the_same::<Selection>().await;
    costs_the_same::<Debugging>().await;
    costs_the_same::<Acquisition>().await;
    costs_the_same::<Curation>().await;
}
