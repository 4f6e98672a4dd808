//! The active boards of a benchmark in a cloud, with their data sets' descriptions.

use std::collections::BTreeMap;

use dataperf::benchmark::Leaderboard;
use dataperf::dataset::DatasetError;
use dataperf::dataset::active::{InForce, published_manifest};
use dataperf::dataset::frozen::{FrozenError, Manifest};
use dataperf::ports::bucket::Bucket;
use dataperf::{Descriptor, Digest};

/// An active board.
#[derive(Debug, Clone)]
pub(crate) struct BoardInForce {
    /// Its description in its data set.
    pub(crate) leaderboard: Leaderboard,
    /// Its data set.
    pub(crate) dataset: Digest,
}

/// The active boards by name, and the manifests of their data sets.
#[derive(Debug, Default)]
pub(crate) struct Boards {
    /// The boards.
    pub(crate) boards: BTreeMap<String, BoardInForce>,
    /// The manifests by data set.
    pub(crate) manifests: BTreeMap<Digest, Manifest>,
}

impl Boards {
    /// Reads the active data sets of a benchmark.
    ///
    /// # Errors
    /// [`DatasetError`] if none is active, the bucket does not answer, or an active data set can't
    /// be used.
    pub(crate) async fn read(bucket: &impl Bucket, descriptor: &Descriptor) -> Result<Self, DatasetError> {
        let in_force = InForce::read(bucket, descriptor.id).await?;
        if in_force.is_empty() {
            let key = InForce::key(descriptor.id);
            return Err(FrozenError::NotInForce { key }.into());
        }
        let mut facts = Self::default();
        for dataset in in_force.datasets() {
            let manifest = published_manifest(bucket, descriptor.id, dataset).await?;
            for leaderboard in (descriptor.leaderboards)(&manifest)? {
                if in_force.dataset_of(&leaderboard.name) == Some(dataset) {
                    let name = leaderboard.name.clone();
                    let board = BoardInForce { leaderboard, dataset };
                    facts.boards.insert(name, board);
                }
            }
            facts.manifests.insert(dataset, manifest);
        }
        Ok(facts)
    }
}
