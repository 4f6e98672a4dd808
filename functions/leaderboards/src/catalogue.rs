//! The benchmarks there are, and the data sets in force.

use std::sync::Arc;

use dataperf::benchmark::Leaderboard;
use dataperf::challenge::Challenge;
use dataperf::dataset::{Current, DatasetError, dataset_prefix};
use dataperf::frozen::{FrozenError, MANIFEST, MAX_MANIFEST_BYTES, Manifest};
use dataperf::ports::bucket::{Bucket, Got};
use dataperf::{Descriptor, Digest, Receipt, Shown};
use dataperf_hosted::{IDS, hosted};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::caller::Caller;
use crate::problem::Problem;

/// What is below this path of a data set is for participants, everything else is the organizer's.
const PUBLIC: &str = "public/";
const MAX_CURRENT_BYTES: u64 = 4096;

/// The benchmark with this id.
pub(crate) fn benchmark(id: &str) -> Result<&'static Descriptor, Problem> {
    hosted(id).ok_or_else(|| {
        let known = IDS.join("`, `");
        Problem::not_found(
            "unknown_benchmark",
            "benchmark",
            format!("there is no such benchmark: choose one of `{known}`"),
        )
    })
}

/// A data set in force.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Described {
    /// Its digest, which names it for good: receipts repeat it.
    #[schema(example = "sha256:…")]
    digest: String,
    /// The boards it defines.
    #[serde(skip)]
    pub(crate) leaderboards: Vec<Leaderboard>,
    /// Files in all.
    n_files: usize,
    /// Bytes in all.
    n_bytes: u64,
    /// Bytes that participants may have.
    n_public_bytes: u64,
    /// The files.
    files: Vec<DatasetFile>,
}

/// A file of a data set.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct DatasetFile {
    /// Its path in the data set.
    path: String,
    /// Its size.
    n_bytes: u64,
    /// Whether participants may have it.
    is_public: bool,
    /// Its tensors.
    tensors: Vec<Tensor>,
}

/// A tensor of a file.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Tensor {
    /// Its name.
    name: String,
    /// `U8`, `F32` or `F64`.
    dtype: String,
    /// Its length along each axis.
    shape: Vec<usize>,
}

impl Described {
    pub(crate) fn digest(&self) -> &str {
        &self.digest
    }
}

/// The challenge that is published, if one is.
pub(crate) async fn challenge(app: &App, benchmark: &str) -> Result<Option<Challenge>, Problem> {
    Ok(Challenge::published(&app.datasets().await, benchmark).await?)
}

/// What the caller sees of a receipt now: the organizer everything.
pub(crate) async fn shown(app: &App, caller: &Caller, receipt: &Receipt) -> Result<Shown, Problem> {
    if caller.is_organizer() {
        return Ok(Shown::WHOLE);
    }
    let challenge = challenge(app, &receipt.verdict.benchmark).await?;
    Ok(now_shown(challenge.as_ref(), receipt))
}

/// What submitters and the public see of a receipt now.
pub(crate) fn now_shown(challenge: Option<&Challenge>, receipt: &Receipt) -> Shown {
    let dataset = receipt.verdict.dataset;
    dataperf::challenge::shown(challenge, &receipt.board(), dataset, dataperf_aws::now())
}

/// The data set in force, `None` when none is.
pub(crate) async fn in_force(app: &App, facts: &Descriptor) -> Result<Option<Arc<Described>>, DatasetError> {
    let bucket = app.datasets().await;
    let key = Current::key(facts.id);
    let Got::Object(object) = bucket.get(&key, None, MAX_CURRENT_BYTES).await? else {
        return Ok(None);
    };
    let current: Current = serde_json::from_slice(&object.bytes).map_err(|error| FrozenError::Manifest {
        why: format!("`{key}`: {error}"),
    })?;
    let digest = current.dataset;
    if let Some(described) = app.described(digest) {
        return Ok(Some(described));
    }
    let place = dataset_prefix(facts.id, digest);
    let manifest = bucket
        .get(&format!("{place}{MANIFEST}"), None, MAX_MANIFEST_BYTES)
        .await?;
    let Got::Object(object) = manifest else {
        return Err(FrozenError::Missing { place }.into());
    };
    let manifest = Manifest::parse(&object.bytes, facts.id)?;
    let described = Arc::new(described(facts, digest, &manifest)?);
    app.keep(digest, described.clone());
    Ok(Some(described))
}

fn described(facts: &Descriptor, digest: Digest, manifest: &Manifest) -> Result<Described, FrozenError> {
    let files: Vec<DatasetFile> = manifest
        .files
        .iter()
        .map(|(path, file)| DatasetFile {
            path: path.clone(),
            n_bytes: file.n_bytes,
            is_public: path.starts_with(PUBLIC),
            tensors: file
                .tensors
                .iter()
                .map(|(name, tensor)| Tensor {
                    name: name.clone(),
                    dtype: format!("{:?}", tensor.dtype),
                    shape: tensor.shape.clone(),
                })
                .collect(),
        })
        .collect();
    Ok(Described {
        digest: digest.to_string(),
        leaderboards: (facts.leaderboards)(manifest)?,
        n_files: files.len(),
        n_bytes: files.iter().map(|file| file.n_bytes).sum(),
        n_public_bytes: files
            .iter()
            .filter(|file| file.is_public)
            .map(|file| file.n_bytes)
            .sum(),
        files,
    })
}
