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
    whole: Option<Digest>,
}

/// The object's form. In schema 2 it has `boards`, before that the one `dataset` that all boards were scored with.
#[derive(Serialize, Deserialize)]
struct Form {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    schema: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    boards: Option<BTreeMap<String, Digest>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dataset: Option<Digest>,
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
        match form {
            Form {
                schema: Some(Self::SCHEMA),
                boards: Some(boards),
                ..
            } => Ok(Self { boards, whole: None }),
            Form {
                schema: None | Some(1),
                dataset: Some(whole),
                ..
            } => Ok(Self {
                boards: BTreeMap::new(),
                whole: Some(whole),
            }),
            _ => Err(malformed(format!(
                "it has neither `schema: {}` with `boards` nor `dataset`",
                Self::SCHEMA
            ))),
        }
    }

    /// The object's bytes, of schema 2. Call [`spelt_out`](Self::spelt_out) first on an old object.
    ///
    /// # Errors
    /// [`FrozenError::Current`] when it can't be written as JSON.
    pub fn to_json(&self, benchmark: &str) -> Result<Bytes, FrozenError> {
        let form = Form {
            schema: Some(Self::SCHEMA),
            boards: Some(self.boards.clone()),
            dataset: None,
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
        self.boards.is_empty() && self.whole.is_none()
    }

    /// The data set of a board. An object of the old form gives its one data set for every name: only the data set knows its boards.
    pub fn dataset_of(&self, leaderboard: &str) -> Option<Digest> {
        self.whole.or_else(|| self.boards.get(leaderboard).copied())
    }

    /// The active data sets, each once.
    pub fn datasets(&self) -> BTreeSet<Digest> {
        self.boards.values().copied().chain(self.whole).collect()
    }

    /// The boards with their data sets; none of an object of the old form that was not [spelt out](Self::spelt_out).
    pub fn boards(&self) -> &BTreeMap<String, Digest> {
        &self.boards
    }

    /// The one data set of an object of the old form.
    pub fn whole(&self) -> Option<Digest> {
        self.whole
    }

    /// The active data sets with each board named. `boards_of` are the boards of
    /// [`whole`](Self::whole), if there is one.
    #[must_use]
    pub fn spelt_out<'a>(mut self, boards_of: impl IntoIterator<Item = &'a str>) -> Self {
        if let Some(whole) = self.whole.take() {
            self.put(boards_of, whole);
        }
        self
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
    fn the_old_form_covers_all_boards() {
        let digest = Digest::compute(b"one");
        let old = read(Some(&format!("{{\"dataset\": \"{digest}\"}}"))).expect("the old form");
        assert_eq!(old.dataset_of("anything"), Some(digest));
        assert_eq!((old.whole(), old.only("b").expect("one")), (Some(digest), digest));
        let spelt_out = old.spelt_out(["a", "b"]);
        assert_eq!(spelt_out.dataset_of("b"), Some(digest));
        assert_eq!(spelt_out.dataset_of("anything"), None);
        let written = spelt_out.to_json("b").expect("JSON");
        assert_eq!(
            InForce::parse("b", &written).expect("what was written"),
            spelt_out
        );
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
