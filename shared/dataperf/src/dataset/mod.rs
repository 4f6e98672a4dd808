//! The files of data sets: how they are named, read and kept in memory, and which data sets are active.

pub mod active;
pub mod encoding;
pub(crate) mod errors;
pub(crate) mod files;
pub mod frozen;
pub(crate) mod leaderboard;
pub mod pool;
mod row_cache;

use crate::Digest;

pub use crate::dataset::errors::DatasetError;
pub use crate::dataset::files::{Files, FrozenFiles, Integrity};

/// The prefix of a data set's objects in the datasets bucket, with the slash at its end.
pub fn dataset_prefix(benchmark: &str, dataset: Digest) -> String {
    format!("{benchmark}/{}/", dataset.hex())
}

/// The object of a published data set's participants' kit: a zip archive next to the data set's
/// files, which its manifest does not list.
pub fn kit_key(benchmark: &str, dataset: Digest) -> String {
    format!("{}kit.zip", dataset_prefix(benchmark, dataset))
}

/// The object with the summary of a published data set, if it has one: a description of its contest
/// for people. Its manifest does not list it.
pub fn summary_key(benchmark: &str, dataset: Digest) -> String {
    format!("{}public/_summary.json", dataset_prefix(benchmark, dataset))
}

/// The object with the rules of a published data set for participants, in Markdown. Its manifest does not list it.
pub fn rules_key(benchmark: &str, dataset: Digest) -> String {
    format!("{}public/_rules.md", dataset_prefix(benchmark, dataset))
}
