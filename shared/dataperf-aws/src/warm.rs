//! The data sets that a function keeps in memory between uploads, within a budget of bytes.

use std::sync::{Arc, Mutex, PoisonError};

use dataperf::dataset::{Dataset, DatasetError};
use dataperf::ports::bucket::Bucket;
use dataperf::{Benchmark, Digest};

/// The variable with the budget, in MiB.
const VARIABLE: &str = "DATAPERF_WARM_MIB";
/// The budget unless the variable says otherwise: what the largest of the public data sets takes, and more than one of own data.
const DEFAULT_MIB: u64 = 512;

/// Data sets in memory, the one that was used last at the end.
pub(crate) struct Warm<B: Benchmark, S> {
    budget: u64,
    datasets: Mutex<Vec<Arc<Dataset<B, S>>>>,
}

/// The budget in bytes that the environment sets.
///
/// # Errors
/// When the variable is set to something else than a whole number.
pub(crate) fn budget_from_environment() -> Result<u64, lambda_runtime::Error> {
    let mib = match std::env::var(VARIABLE) {
        Ok(text) => text
            .parse::<u64>()
            .map_err(|_| format!("`{VARIABLE}` has to be a whole number of MiB, not `{text}`"))?,
        Err(_) => DEFAULT_MIB,
    };
    Ok(mib.saturating_mul(1 << 20))
}

impl<B: Benchmark, S: Bucket + Clone> Warm<B, S> {
    /// Nothing yet, and `budget` bytes at most.
    pub(crate) fn new(budget: u64) -> Self {
        Self {
            budget,
            datasets: Mutex::default(),
        }
    }

    /// A published data set, opened unless it is in memory. Others go, those first that were not used for longest, until there is
    /// room for what `leaderboard` needs of this one; where that alone is over the budget, all others go.
    ///
    /// # Errors
    /// [`DatasetError`] when the data set can't be opened.
    pub(crate) async fn dataset(
        &self,
        bucket: S,
        digest: Digest,
        leaderboard: &str,
    ) -> Result<Arc<Dataset<B, S>>, DatasetError> {
        let kept = self.used(digest);
        let dataset = match kept {
            Some(dataset) => dataset,
            None => Arc::new(Dataset::published(bucket, digest).await?),
        };
        self.keep(&dataset, leaderboard);
        Ok(dataset)
    }

    fn used(&self, digest: Digest) -> Option<Arc<Dataset<B, S>>> {
        let datasets = self.datasets.lock().unwrap_or_else(PoisonError::into_inner);
        datasets
            .iter()
            .find(|dataset| dataset.digest() == digest)
            .cloned()
    }

    fn keep(&self, dataset: &Arc<Dataset<B, S>>, leaderboard: &str) {
        let mut datasets = self.datasets.lock().unwrap_or_else(PoisonError::into_inner);
        datasets.retain(|other| other.digest() != dataset.digest());
        let mut n_bytes: u64 = datasets.iter().map(|other| other.kept_bytes()).sum();
        n_bytes = n_bytes.saturating_add(dataset.bytes_with(leaderboard));
        while n_bytes > self.budget && !datasets.is_empty() {
            let gone = datasets.remove(0);
            n_bytes = n_bytes.saturating_sub(gone.kept_bytes());
            tracing::info!(dataset = %gone.digest(), outcome = "forgotten", "data set");
        }
        datasets.push(dataset.clone());
    }
}
