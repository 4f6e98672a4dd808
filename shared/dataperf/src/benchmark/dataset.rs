//! A data set of one benchmark: its files, and the frozen parts of its leaderboards, which are kept in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::Digest;
use crate::benchmark::closed::{ClosedBoards, ClosedTask, Seed};
use crate::benchmark::{Benchmark, FrozenPart};
use crate::dataset::errors::{NotScored, unknown_leaderboard};
use crate::dataset::files::{MakeRoom, lock};
use crate::dataset::frozen::Manifest;
use crate::dataset::{DatasetError, Files, FrozenFiles, Integrity, dataset_prefix};
use crate::ports::bucket::Bucket;

/// The frozen part of a leaderboard.
struct Decoded<F> {
    frozen: Arc<F>,
    /// The bytes of the files it was decoded from.
    n_bytes: u64,
}

/// A data set of one benchmark.
pub struct Dataset<B: Benchmark> {
    files: FrozenFiles,
    make_room: Box<MakeRoom>,
    /// By leaderboard.
    frozen: Mutex<BTreeMap<String, Decoded<B::Frozen>>>,
}

impl<B: Benchmark> Dataset<B> {
    /// Opens the data set whose manifest is at `prefix` (empty, or ending in a slash).
    ///
    /// # Errors
    /// [`DatasetError`] if the data set is missing, differs from `expected`, or belongs to another
    /// benchmark.
    pub async fn open(
        bucket: impl Bucket + 'static,
        prefix: String,
        expected: Option<Digest>,
        integrity: Integrity,
    ) -> Result<Self, DatasetError> {
        Ok(Self {
            files: FrozenFiles::open(bucket, B::ID, prefix, expected, integrity).await?,
            make_room: Box::new(|_| ()),
            frozen: Mutex::default(),
        })
    }

    /// Opens a data set in the bucket of published data sets, whose bytes are compared with their digests.
    ///
    /// # Errors
    /// [`DatasetError`] if no data set has this digest, or if it belongs to another benchmark.
    pub async fn published(bucket: impl Bucket + 'static, digest: Digest) -> Result<Self, DatasetError> {
        let prefix = dataset_prefix(B::ID, digest);
        Self::open(bucket, prefix, Some(digest), Integrity::Digests).await
    }

    /// The same data set, which calls `make_room` with a number of bytes before it reads a file of a frozen part.
    pub(crate) fn making_room(self, make_room: Box<MakeRoom>) -> Self {
        Self { make_room, ..self }
    }

    /// Keeps only the files whose paths are `kept`, as if the data set had no others. The digest
    /// stays that of the full data set.
    #[must_use]
    pub fn retaining(mut self, kept: impl Fn(&str) -> bool) -> Self {
        self.files.retain(kept);
        self
    }

    /// Returns the same files with other parameters, for tests of cases that the data set itself
    /// can't produce. The digest does not change.
    #[must_use]
    pub fn with_parameters(mut self, change: impl FnOnce(&mut serde_json::Value)) -> Self {
        self.files.change_parameters(change);
        self
    }

    /// The data set's digest.
    pub fn digest(&self) -> Digest {
        self.files.digest()
    }

    /// The data set's table of contents.
    pub fn manifest(&self) -> &Manifest {
        self.files.manifest()
    }

    /// Reads the data set's files. Two leaderboards that share a file share its bytes.
    pub fn files(&self) -> Files<'_> {
        Files::making_room(&self.files, &*self.make_room)
    }

    /// The frozen part of a leaderboard, opened on first use and kept.
    ///
    /// # Errors
    /// [`DatasetError`].
    #[tracing::instrument(name = "load data set", skip_all)]
    pub async fn frozen(&self, leaderboard: &str) -> Result<Arc<B::Frozen>, DatasetError> {
        if let Some(decoded) = lock(&self.frozen).get(leaderboard) {
            return Ok(decoded.frozen.clone());
        }
        let files = self.files();
        let frozen = Arc::new(B::Frozen::open(&files, leaderboard).await?);
        let decoded = Decoded {
            frozen: frozen.clone(),
            n_bytes: files.n_bytes(),
        };
        lock(&self.frozen).insert(leaderboard.to_owned(), decoded);
        Ok(frozen)
    }

    /// Refuses a board that the data set does not have.
    ///
    /// # Errors
    /// [`NotScored`]: the rejection of a submission to such a board, or the error of reading the
    /// manifest.
    pub fn check_board(&self, leaderboard: &str) -> Result<(), NotScored> {
        let boards = B::Frozen::leaderboards(self.manifest())?;
        if boards.iter().any(|board| board.name == leaderboard) {
            return Ok(());
        }
        let names = boards.iter().map(|board| &board.name);
        Err(unknown_leaderboard(leaderboard, names).into())
    }

    /// The input of a program for a board that [the data set has](Self::check_board), and the seed
    /// of its random numbers; `None` if the benchmark has no closed boards.
    ///
    /// # Errors
    /// [`DatasetError`] when the data set can't be read.
    pub async fn closed_task(
        &self,
        leaderboard: &str,
    ) -> Result<Option<(ClosedTask, [u8; 32])>, DatasetError> {
        if !B::ClosedBoards::EXIST {
            return Ok(None);
        }
        let seed = Seed::new(B::ID, self.manifest(), leaderboard)?;
        let task = B::ClosedBoards::task(&self.files(), leaderboard, seed).await?;
        Ok(Some((task, seed.of_random_numbers())))
    }

    /// About how many bytes are kept in memory: the whole files that were read, as much again for what they were decoded to, and rows.
    pub fn kept_bytes(&self) -> u64 {
        let decoded: u64 = lock(&self.frozen).values().map(|decoded| decoded.n_bytes).sum();
        self.files.kept_bytes() + decoded
    }
}
