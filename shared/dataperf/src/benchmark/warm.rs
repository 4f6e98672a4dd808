//! The data sets that are kept in memory between uploads, within a budget of bytes.

use std::sync::{Arc, Mutex};

use crate::benchmark::dataset::Dataset;
use crate::dataset::DatasetError;
use crate::dataset::files::lock;
use crate::ports::bucket::Bucket;
use crate::{Benchmark, Digest};

/// Data sets in memory.
pub struct Warm<B: Benchmark>(Arc<Kept<B>>);

struct Kept<B: Benchmark> {
    budget: u64,
    /// The data sets, the one that was used last at the end.
    datasets: Mutex<Vec<Arc<Dataset<B>>>>,
}

impl<B: Benchmark> Warm<B> {
    /// Keeps nothing yet, and at most `budget` bytes.
    pub fn new(budget: u64) -> Self {
        Self(Arc::new(Kept {
            budget,
            datasets: Mutex::default(),
        }))
    }

    /// A published data set, opened unless it is in memory. Before it reads a file, other data sets are forgotten until there is room, first those
    /// that were not used for longest; if it alone is over the budget, all others are.
    ///
    /// # Errors
    /// [`DatasetError`] when the data set can't be opened.
    pub async fn dataset(
        &self,
        bucket: impl Bucket + 'static,
        digest: Digest,
    ) -> Result<Arc<Dataset<B>>, DatasetError> {
        let dataset = if let Some(dataset) = self.0.used(digest) {
            dataset
        } else {
            let kept = Arc::downgrade(&self.0);
            let make_room = move |n_bytes| {
                if let Some(kept) = kept.upgrade() {
                    kept.make_room(digest, n_bytes);
                }
            };
            let dataset = Dataset::published(bucket, digest).await?;
            Arc::new(dataset.making_room(Box::new(make_room)))
        };
        self.0.keep(&dataset);
        Ok(dataset)
    }
}

impl<B: Benchmark> Kept<B> {
    fn used(&self, digest: Digest) -> Option<Arc<Dataset<B>>> {
        let datasets = lock(&self.datasets);
        datasets
            .iter()
            .find(|dataset| dataset.digest() == digest)
            .cloned()
    }

    fn keep(&self, dataset: &Arc<Dataset<B>>) {
        {
            let mut datasets = lock(&self.datasets);
            datasets.retain(|other| other.digest() != dataset.digest());
            datasets.push(dataset.clone());
        }
        self.make_room(dataset.digest(), 0); // rows that were read since may be too many
    }

    /// Forgets data sets until `n_bytes` more of the one with this digest are within the budget.
    fn make_room(&self, digest: Digest, n_bytes: u64) {
        let mut datasets = lock(&self.datasets);
        let kept: u64 = datasets.iter().map(|dataset| dataset.kept_bytes()).sum();
        let mut n_bytes = n_bytes.saturating_add(kept);
        while n_bytes > self.budget {
            let Some(oldest) = datasets.iter().position(|dataset| dataset.digest() != digest) else {
                return;
            };
            let gone = datasets.remove(oldest);
            n_bytes = n_bytes.saturating_sub(gone.kept_bytes());
            tracing::info!(dataset = %gone.digest(), outcome = "forgotten", "data set");
        }
    }
}
