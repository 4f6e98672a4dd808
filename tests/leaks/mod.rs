//! Attacks on hidden labels through the documents that participants can get, with real scores of
//! the demo's data.
//!
//! docs/security.md has the numbers. Each attack reads documents and nothing else, and finds what it looks for where the
//! organizer shows everything, so that it could find it elsewhere.

mod acquisition;
mod areas;
mod debugging;
mod digits;
mod documents;
mod fractions;
mod hidden_board;
mod hidden_labels;
mod intervals;
mod own_data;
mod selection;
mod timing;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use dataperf::benchmark::dataset::Dataset;
use dataperf::dataset::Integrity;
use dataperf::evaluation::evaluate::evaluate;
use dataperf::{Benchmark, Ending, Feedback, Verdict};
use dataperf_datasets::{DirectoryBucket, Import, Silent, import};
use safetensors::SafeTensors;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::project::{hosted, imported};

const LEVELS: [Feedback; 3] = [Feedback::Score, Feedback::Metrics, Feedback::Full];

/// A data set of the demo, with what is hidden of it.
struct Target<B: Benchmark> {
    frozen: PathBuf,
    _dir: Option<TempDir>,
    dataset: Dataset<B>,
}

impl<B: Import> Target<B> {
    async fn new() -> Self {
        Self::open(imported::<B>(), None).await
    }

    /// Of another folder than the demo's.
    async fn import(folder: &Path) -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let frozen = dir.path().join("frozen");
        import::<B>(folder, &frozen, &Silent).unwrap();
        Self::open(&frozen, Some(dir)).await
    }

    async fn open(frozen: &Path, dir: Option<TempDir>) -> Self {
        let bucket = DirectoryBucket::new(frozen);
        let dataset = Dataset::open(bucket, String::new(), None, Integrity::Sizes).await;
        Self {
            dataset: dataset.unwrap(),
            frozen: frozen.to_owned(),
            _dir: dir,
        }
    }

    /// The whole verdict on an artifact.
    async fn judge(&self, leaderboard: &str, artifact: &[u8]) -> Verdict {
        evaluate(&self.dataset, leaderboard, artifact).await.unwrap()
    }

    async fn score(&self, leaderboard: &str, artifact: &Value) -> Verdict {
        let verdict = self.judge(leaderboard, artifact.to_string().as_bytes()).await;
        assert_eq!(verdict.status, Ending::Scored, "{:?}", verdict.reasons);
        let described = hosted(B::ID).metrics;
        for leaf in dataperf::benchmark::scorecard::leaves(described, &verdict.metrics) {
            assert!(leaf.metric.is_some(), "`{}` has no description", leaf.name());
        }
        verdict
    }

    /// One tensor of bytes of a file, which may be hidden.
    fn bytes(&self, file: &str, tensor: &str) -> Vec<u8> {
        let bytes = fs::read(self.frozen.join(file)).unwrap();
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        tensors.tensor(tensor).unwrap().data().to_vec()
    }
}

/// The part of a verdict that its submitter sees.
fn read(verdict: &Verdict, level: Feedback) -> Value {
    serde_json::to_value(verdict.shown(level, hosted(&verdict.benchmark))).unwrap()
}

/// Artifacts with what their submitter reads of them.
fn seen(verdicts: &[(Value, Verdict)], level: Feedback) -> Vec<(Value, Value)> {
    let one = |(artifact, verdict): &(Value, Verdict)| (artifact.clone(), read(verdict, level));
    verdicts.iter().map(one).collect()
}

/// The best score.
fn best(verdicts: &[(Value, Verdict)]) -> f64 {
    let scores = verdicts.iter().filter_map(|(_, verdict)| verdict.score);
    scores.fold(0.0, f64::max)
}

/// A metric of each part: `name` of each of `parts`.
fn of_each(read: &Value, parts: &str, name: &str) -> Option<BTreeMap<String, f64>> {
    let parts = read["metrics"][parts].as_object()?;
    let of_part = |(part, numbers): (&String, &Value)| Some((part.clone(), numbers[name].as_f64()?));
    parts.iter().map(of_part).collect()
}

/// Numbers that look drawn and are the same on every machine.
struct Draws(u64);

impl Draws {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for idx in (1..items.len()).rev() {
            let other = self.below(idx + 1);
            items.swap(idx, other);
        }
    }
}
