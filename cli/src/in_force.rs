//! The boards of a benchmark that are in force in a cloud, with what their data sets say of them.

use std::collections::BTreeMap;

use dataperf::benchmark::Leaderboard;
use dataperf::dataset::DatasetError;
use dataperf::frozen::{FrozenError, Manifest};
use dataperf::in_force::{InForce, published_manifest};
use dataperf::ports::bucket::Bucket;
use dataperf::{Descriptor, Digest};

/// A board that is in force.
#[derive(Debug, Clone)]
pub(crate) struct BoardInForce {
    /// What its data set says of it.
    pub(crate) leaderboard: Leaderboard,
    /// Its data set.
    pub(crate) dataset: Digest,
}

/// The boards in force by name, and the manifests of their data sets.
#[derive(Debug, Default)]
pub(crate) struct Boards {
    /// The boards.
    pub(crate) boards: BTreeMap<String, BoardInForce>,
    /// The manifests by data set.
    pub(crate) manifests: BTreeMap<Digest, Manifest>,
}

impl Boards {
    /// What is in force for a benchmark.
    ///
    /// # Errors
    /// [`DatasetError`] when nothing is, the bucket does not answer, or a data set in force can't be used.
    pub(crate) async fn of(bucket: &impl Bucket, descriptor: &Descriptor) -> Result<Self, DatasetError> {
        let in_force = InForce::read(bucket, descriptor.id).await?;
        if in_force.is_empty() {
            let key = InForce::key(descriptor.id);
            return Err(FrozenError::NotInForce { key }.into());
        }
        let mut found = Self::default();
        for dataset in in_force.datasets() {
            let manifest = published_manifest(bucket, descriptor.id, dataset).await?;
            for leaderboard in (descriptor.leaderboards)(&manifest)? {
                if in_force.dataset_of(&leaderboard.name) == Some(dataset) {
                    let name = leaderboard.name.clone();
                    let board = BoardInForce { leaderboard, dataset };
                    found.boards.insert(name, board);
                }
            }
            found.manifests.insert(dataset, manifest);
        }
        Ok(found)
    }

    /// The names, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        self.boards.keys()
    }
}
