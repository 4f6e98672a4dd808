//! State shared by the handlers.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use dataperf::Digest;
use dataperf::board::Board;
use dataperf::closing::finishing::FinalReport;
use dataperf_aws::{Resources, S3Bucket, Table, variable};
use dataperf_http::{Problem, s3_as_reached};

use crate::cursor::Seal;
use crate::dataset::{Described, OneContext};

/// The state kept between invocations; clones share it.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

struct Inner {
    resources: Resources,
    submissions: String,
    seal: Seal,
    /// Descriptions of data sets, which are immutable, by digest.
    described: Recent<Digest, Described>,
    /// Reports on final boards that are finished, by board, with the time when they were read.
    finished: Recent<Board, (Instant, Arc<FinalReport>)>,
    /// The contexts of data sets, which are large, by digest.
    contexts: Recent<Digest, Vec<OneContext>>,
    /// Data sets that have a participants' kit, which is there for good.
    kits: Mutex<BTreeSet<Digest>>,
    /// The address of S3, for a cloud on one machine.
    local_s3: Option<String>,
}

/// The maximum number of data set descriptions in memory: more than there are active data sets.
const MAX_DESCRIBED: usize = 256;
/// The most reports in memory, for boards that are looked at after one another; a report has two numbers for each submission.
const MAX_FINISHED: usize = 16;
/// The maximum number of data sets whose contexts are in memory; one data set's contexts take up to
/// 64 MiB.
const MAX_CONTEXTS: usize = 1;

/// Recently read values, at most `most`; the oldest is dropped first.
pub(crate) struct Recent<K, V> {
    most: usize,
    all: Mutex<VecDeque<(K, Arc<V>)>>,
}

impl<K: PartialEq, V> Recent<K, V> {
    fn at_most(most: usize) -> Self {
        Self {
            most,
            all: Mutex::default(),
        }
    }

    pub(crate) fn get(&self, key: &K) -> Option<Arc<V>> {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = all.iter().find(|(kept_key, _)| kept_key == key);
        entry.map(|(_, value)| value.clone())
    }

    pub(crate) fn keep(&self, key: K, value: Arc<V>) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(kept_key, _)| *kept_key != key);
        if all.len() >= self.most {
            all.pop_front();
        }
        all.push_back((key, value));
    }
}

impl App {
    pub(crate) fn from_environment() -> Result<Self, lambda_http::Error> {
        // The variables are read in this order, so that the first missing one is the one that is named.
        variable("DATAPERF_TABLE")?;
        variable("DATAPERF_DATASETS_BUCKET")?;
        let submissions = variable("DATAPERF_SUBMISSIONS_BUCKET")?;
        Ok(Self(Arc::new(Inner {
            resources: Resources::from_environment()?,
            submissions,
            seal: Seal::new(&variable("DATAPERF_CURSOR_KEY")?)?,
            described: Recent::at_most(MAX_DESCRIBED),
            finished: Recent::at_most(MAX_FINISHED),
            contexts: Recent::at_most(MAX_CONTEXTS),
            kits: Mutex::default(),
            local_s3: variable("AWS_ENDPOINT_URL_S3").ok(),
        })))
    }

    pub(crate) async fn table(&self) -> Table {
        self.0.resources.leaderboards().await
    }

    pub(crate) async fn datasets(&self) -> S3Bucket {
        self.0.resources.datasets().await
    }

    pub(crate) async fn bucket(&self, name: &str) -> S3Bucket {
        self.0.resources.bucket(name).await
    }

    pub(crate) async fn results(&self) -> S3Bucket {
        self.0.resources.results().await
    }

    /// The bucket that submitters upload to.
    pub(crate) fn submissions(&self) -> &str {
        &self.0.submissions
    }

    /// The address of S3 on one machine, by the name that this request came by: a browser or another machine reaches both by it. None
    /// in AWS.
    pub(crate) fn local_s3(&self, headers: &HeaderMap) -> Option<String> {
        let endpoint = self.0.local_s3.as_ref()?;
        Some(s3_as_reached(endpoint, headers))
    }

    pub(crate) fn has_kit(&self, dataset: Digest) -> bool {
        let kits = self.0.kits.lock().unwrap_or_else(PoisonError::into_inner);
        kits.contains(&dataset)
    }

    pub(crate) fn keep_kit(&self, dataset: Digest) {
        let mut kits = self.0.kits.lock().unwrap_or_else(PoisonError::into_inner);
        kits.insert(dataset);
    }

    pub(crate) fn described(&self) -> &Recent<Digest, Described> {
        &self.0.described
    }

    pub(crate) fn finished(&self) -> &Recent<Board, (Instant, Arc<FinalReport>)> {
        &self.0.finished
    }

    pub(crate) fn contexts(&self) -> &Recent<Digest, Vec<OneContext>> {
        &self.0.contexts
    }
}

impl FromRequestParts<App> for Seal {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        app.0.seal.for_list(&parts.uri)
    }
}
