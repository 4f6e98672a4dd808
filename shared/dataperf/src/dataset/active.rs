//! The active data sets of a benchmark: one of them scores each board.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::Digest;
use crate::dataset::dataset_prefix;
use crate::dataset::errors::{DatasetError, unknown_leaderboard};
use crate::dataset::files::read_manifest;
use crate::dataset::frozen::{FrozenError, Manifest};
use crate::ports::bucket::{Bucket, Got};
use crate::rejection::Reason;

pub use crate::dataset::errors::no_leaderboard;

/// The largest object in bytes: some ten thousand boards.
const MAX_BYTES: u64 = 1 << 20;

/// `BENCHMARK/current.json` in the datasets bucket: the data set of each board.
///
/// ```
/// use dataperf::{Digest, dataset::active::InForce};
/// let (one, two) = (Digest::compute(b"one"), Digest::compute(b"two"));
/// let mut in_force = InForce::default();
/// in_force.put(["en-25"], one);
/// in_force.put(["xray-50"], two);
/// assert_eq!(in_force.dataset_of("xray-50"), Some(two));
/// assert_eq!(in_force.others_of(["en-25", "pt-25"], two), [("en-25".to_owned(), one)].into());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InForce {
    boards: BTreeMap<String, Digest>,
}

/// The object's form.
#[derive(Serialize, Deserialize)]
struct Form {
    schema: u32,
    boards: BTreeMap<String, Digest>,
}

impl InForce {
    /// The version of the form written today.
    pub const SCHEMA: u32 = 2;

    /// The object's key.
    pub fn key(benchmark: &str) -> String {
        format!("{benchmark}/current.json")
    }

    /// The active data sets of a benchmark; none if there is no object.
    ///
    /// # Errors
    /// [`DatasetError`] when the bucket does not answer or the object is malformed.
    pub async fn read(bucket: &impl Bucket, benchmark: &str) -> Result<Self, DatasetError> {
        let key = Self::key(benchmark);
        Ok(match bucket.get(&key, None, MAX_BYTES).await? {
            Got::Missing => Self::default(),
            Got::Object(object) => Self::parse(benchmark, &object.bytes)?,
            Got::TooLarge { n_bytes } => {
                let why = format!("it has {n_bytes} bytes, more than {MAX_BYTES}");
                return Err(FrozenError::Current { key, why }.into());
            }
        })
    }

    /// Reads the active data sets from the object's bytes.
    ///
    /// # Errors
    /// [`FrozenError::Current`] when they are not of this form.
    pub fn parse(benchmark: &str, bytes: &[u8]) -> Result<Self, FrozenError> {
        let malformed = |why: String| FrozenError::Current {
            key: Self::key(benchmark),
            why,
        };
        let form: Form = serde_json::from_slice(bytes).map_err(|error| malformed(error.to_string()))?;
        if form.schema != Self::SCHEMA {
            return Err(malformed(format!("its `schema` is not {}", Self::SCHEMA)));
        }
        Ok(Self { boards: form.boards })
    }

    /// The object's bytes.
    ///
    /// # Errors
    /// [`FrozenError::Current`] when it can't be written as JSON.
    pub fn to_json(&self, benchmark: &str) -> Result<Bytes, FrozenError> {
        let form = Form {
            schema: Self::SCHEMA,
            boards: self.boards.clone(),
        };
        let mut json = serde_json::to_vec_pretty(&form).map_err(|error| FrozenError::Current {
            key: Self::key(benchmark),
            why: error.to_string(),
        })?;
        json.push(b'\n');
        Ok(json.into())
    }

    /// Whether no data set is active.
    pub fn is_empty(&self) -> bool {
        self.boards.is_empty()
    }

    /// The data set of a board.
    pub fn dataset_of(&self, leaderboard: &str) -> Option<Digest> {
        self.boards.get(leaderboard).copied()
    }

    /// The active data sets, each once.
    pub fn datasets(&self) -> BTreeSet<Digest> {
        self.boards.values().copied().collect()
    }

    /// The boards with their data sets.
    pub fn boards(&self) -> &BTreeMap<String, Digest> {
        &self.boards
    }

    /// Those of `boards` whose active data set is not `dataset`, each with its data set.
    pub fn others_of<'a>(
        &self,
        boards: impl IntoIterator<Item = &'a str>,
        dataset: Digest,
    ) -> BTreeMap<String, Digest> {
        let others = boards.into_iter().filter_map(|board| {
            let other = self.dataset_of(board).filter(|&other| other != dataset)?;
            Some((board.to_owned(), other))
        });
        others.collect()
    }

    /// Makes `dataset` active for `boards`, and leaves the other boards unchanged.
    pub fn put<'a>(&mut self, boards: impl IntoIterator<Item = &'a str>, dataset: Digest) {
        let boards = boards.into_iter().map(|board| (board.to_owned(), dataset));
        self.boards.extend(boards);
    }

    /// Deactivates a board. Returns its data set, if it was active.
    pub fn remove(&mut self, leaderboard: &str) -> Option<Digest> {
        self.boards.remove(leaderboard)
    }

    /// The data set that an upload to a board is scored with.
    ///
    /// # Errors
    /// The rejection of an upload to an inactive board, with the active boards.
    pub fn scoring(&self, benchmark: &str, leaderboard: &str) -> Result<Digest, Reason> {
        if self.is_empty() {
            return Err(no_leaderboard(benchmark));
        }
        self.dataset_of(leaderboard)
            .ok_or_else(|| unknown_leaderboard(leaderboard, self.boards.keys()))
    }

    /// The one data set of a benchmark whose boards all have the same.
    ///
    /// # Errors
    /// [`FrozenError`] if no data set is active, or several are.
    pub fn only(&self, benchmark: &str) -> Result<Digest, FrozenError> {
        let mut datasets = self.datasets().into_iter();
        let key = Self::key(benchmark);
        match (datasets.next(), datasets.next()) {
            (Some(one), None) => Ok(one),
            (None, _) => Err(FrozenError::NotInForce { key }),
            (Some(_), Some(_)) => Err(FrozenError::Current {
                key,
                why: format!("all boards of {benchmark} have one data set, it names several"),
            }),
        }
    }
}

/// The manifest of a published data set.
///
/// # Errors
/// [`DatasetError`] if no data set has this digest, or if it belongs to another benchmark.
pub async fn published_manifest(
    bucket: &impl Bucket,
    benchmark: &str,
    dataset: Digest,
) -> Result<Manifest, DatasetError> {
    let prefix = dataset_prefix(benchmark, dataset);
    Ok(read_manifest(bucket, benchmark, &prefix, Some(dataset)).await?.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::memory::MemoryBucket;

    fn read(text: Option<&str>) -> Result<InForce, DatasetError> {
        let bucket = MemoryBucket::default();
        pollster::block_on(async {
            if let Some(text) = text {
                let bytes = Bytes::from(text.to_owned());
                bucket.put("b/current.json", bytes).await.expect("stored");
            }
            InForce::read(&bucket, "b").await
        })
    }

    #[test]
    fn boards_are_put_and_removed_one_by_one() {
        let (one, two) = (Digest::compute(b"one"), Digest::compute(b"two"));
        let mut in_force = InForce::default();
        in_force.put(["a", "b"], one);
        in_force.put(["c"], two);
        assert_eq!(in_force.datasets(), BTreeSet::from([one, two]));
        assert!(in_force.others_of(["c", "d"], two).is_empty());
        in_force.put(["b"], two);
        assert_eq!(
            ["a", "b", "c"].map(|board| in_force.dataset_of(board)),
            [Some(one), Some(two), Some(two)]
        );
        assert_eq!(in_force.remove("a"), Some(one));
        assert_eq!(in_force.remove("a"), None);
        assert_eq!(in_force.only("b").expect("one is left"), two);
    }

    #[test]
    fn uploads_to_missing_boards_are_rejected() {
        let mut in_force = read(None).expect("nothing");
        let reason = in_force.scoring("b", "a").expect_err("nothing is in force");
        assert_eq!(reason.code, "unknown_leaderboard");
        assert!(
            reason.message.contains("no data set is published"),
            "{}",
            reason.message
        );
        in_force.put(["a"], Digest::compute(b"one"));
        let reason = in_force.scoring("b", "c").expect_err("there is no such board");
        assert_eq!(reason.code, "unknown_leaderboard");
        assert!(reason.message.contains("`a`"), "{}", reason.message);
    }

    #[test]
    fn a_malformed_object_is_refused_with_a_remedy() {
        for text in ["{}", "{\"schema\": 3, \"boards\": {}}", "[]", "{\"schema\": 2}"] {
            let error = read(Some(text)).expect_err(text).to_string();
            assert!(
                error.contains("b/current.json") && error.contains("--replace"),
                "{error}"
            );
        }
    }
}
