//! What the handlers share.

use std::sync::{Arc, Mutex, PoisonError};

use dataperf::Digest;
use dataperf_aws::{Clients, DynamoLeaderboards, S3Bucket};
use tokio::sync::OnceCell;

use crate::catalogue::Described;
use crate::cursor::Seal;

/// What is kept between invocations; clones share it.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

struct Inner {
    table: String,
    datasets: String,
    submissions: String,
    results: String,
    seal: Seal,
    /// Made with the first request, not at the start: a cold start should be ready for it at once.
    clients: OnceCell<Clients>,
    /// Descriptions of data sets, which are immutable, by digest.
    described: Mutex<Vec<(Digest, Arc<Described>)>>,
}

/// More data sets than are in force at once; the oldest goes first.
const MAX_DESCRIBED: usize = 32;

impl App {
    pub(crate) fn from_environment() -> Result<Self, lambda_http::Error> {
        let read = |name: &str| {
            std::env::var(name).map_err(|_| format!("the environment variable `{name}` is not set"))
        };
        Ok(Self(Arc::new(Inner {
            table: read("DATAPERF_TABLE")?,
            datasets: read("DATAPERF_DATASETS_BUCKET")?,
            submissions: read("DATAPERF_SUBMISSIONS_BUCKET")?,
            results: read("DATAPERF_RESULTS_BUCKET")?,
            seal: Seal::new(&read("DATAPERF_CURSOR_KEY")?)?,
            clients: OnceCell::new(),
            described: Mutex::default(),
        })))
    }

    async fn clients(&self) -> &Clients {
        self.0.clients.get_or_init(Clients::from_environment).await
    }

    pub(crate) async fn table(&self) -> DynamoLeaderboards {
        DynamoLeaderboards::new(self.clients().await.dynamodb.clone(), &self.0.table)
    }

    pub(crate) async fn datasets(&self) -> S3Bucket {
        S3Bucket::new(self.clients().await.s3.clone(), &self.0.datasets)
    }

    pub(crate) async fn bucket(&self, name: &str) -> S3Bucket {
        S3Bucket::new(self.clients().await.s3.clone(), name)
    }

    pub(crate) async fn results(&self) -> S3Bucket {
        self.bucket(&self.0.results).await
    }

    /// The bucket that submitters upload to.
    pub(crate) fn submissions(&self) -> &str {
        &self.0.submissions
    }

    /// What cursors are sealed with.
    pub(crate) fn seal(&self) -> &Seal {
        &self.0.seal
    }

    pub(crate) fn described(&self, digest: Digest) -> Option<Arc<Described>> {
        let kept = self.0.described.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().find(|(of, _)| *of == digest);
        found.map(|(_, described)| described.clone())
    }

    pub(crate) fn keep(&self, digest: Digest, described: Arc<Described>) {
        let mut kept = self.0.described.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == MAX_DESCRIBED {
            kept.remove(0);
        }
        kept.push((digest, described));
    }
}
