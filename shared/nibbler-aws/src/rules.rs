//! The data set in force, whose one file that matters is the organizer's configuration.

use std::sync::{Arc, Mutex, PoisonError};

use dataperf::Digest;
use dataperf::dataset::{DatasetError, FrozenFiles, Integrity, dataset_prefix};
use dataperf::frozen::FrozenError;
use dataperf::in_force::InForce;
use dataperf_aws::S3Bucket;
use dataperf_nibbler::{BENCHMARK, CONFIGURATION_FILE, Configuration};

/// What uploads are judged by.
pub struct Rules {
    /// What the organizer has decided.
    pub configuration: Configuration,
    /// The data set that says so.
    pub dataset: Digest,
    /// Its files.
    pub files: FrozenFiles,
}

/// The rules that were read last; read anew when others are in force.
#[derive(Default)]
pub struct Kept(Mutex<Option<Arc<Rules>>>);

impl Kept {
    /// The rules of the data set `pinned`, or of the one in force.
    ///
    /// # Errors
    /// [`DatasetError`] when there is none, or its configuration can't be used.
    pub async fn rules(
        &self,
        datasets: S3Bucket,
        pinned: Option<Digest>,
    ) -> Result<Arc<Rules>, DatasetError> {
        let dataset = match pinned {
            Some(dataset) => dataset,
            None => InForce::read(&datasets, BENCHMARK).await?.only(BENCHMARK)?,
        };
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rules) = kept().as_ref().filter(|rules| rules.dataset == dataset) {
            return Ok(rules.clone());
        }
        let prefix = dataset_prefix(BENCHMARK, dataset);
        let files = FrozenFiles::open(datasets, BENCHMARK, prefix, Some(dataset), Integrity::Digests).await?;
        let bytes = files.file(CONFIGURATION_FILE).await?;
        let configuration = Configuration::parse(&bytes).map_err(|rejection| {
            let first = rejection.reasons().first();
            let first = first.map_or_else(String::new, |reason| format!("{} {}", reason.at, reason.message));
            let why = format!("{} rules are broken, first: {first}", rejection.n_reasons());
            FrozenError::damaged(CONFIGURATION_FILE, why)
        })?;
        let rules = Arc::new(Rules {
            configuration,
            dataset,
            files,
        });
        *kept() = Some(rules.clone());
        Ok(rules)
    }
}
