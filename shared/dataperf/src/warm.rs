//! The data sets that are kept in memory between uploads, within a budget of bytes.

use std::sync::{Arc, Mutex, PoisonError};

use crate::dataset::{Dataset, DatasetError};
use crate::ports::bucket::Bucket;
use crate::{Benchmark, Digest};

/// Data sets in memory, the one that was used last at the end.
pub struct Warm<B: Benchmark, S> {
    budget: u64,
    datasets: Mutex<Vec<Arc<Dataset<B, S>>>>,
}

impl<B: Benchmark, S: Bucket + Clone> Warm<B, S> {
    /// Nothing yet, and `budget` bytes at most.
    pub fn new(budget: u64) -> Self {
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
    pub async fn dataset(
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
