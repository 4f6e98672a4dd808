//! The active data set, which contains the organizer's decisions.

use std::sync::{Arc, Mutex, PoisonError};

use dataperf::challenge::Challenge;
use dataperf::dataset::active::InForce;
use dataperf::dataset::frozen::FrozenError;
use dataperf::dataset::{DatasetError, FrozenFiles, Integrity, dataset_prefix};
use dataperf::{Digest, Rejection};
use dataperf_aws::{S3Bucket, now};

use crate::common::collection::Collection;

/// The rules by which uploads are judged.
pub struct Rules<T> {
    /// The organizer's configuration.
    pub configuration: T,
    /// The digest of the data set that has them.
    pub dataset: Digest,
    /// The files of that data set.
    pub files: FrozenFiles,
}

/// By which rules an item is decided. Rules may be replaced in a round that pins no data set, and the verdicts on what was taken before go by what held then.
pub struct RulesOfItem<'a, T> {
    /// The rules of its submission: for the consensus of its verdicts, and for duplicates.
    pub own: &'a Rules<T>,
    /// The rules of its round as they are now: the scores that follow, which all items of a submitter's have a part in, and the data set that a board ranks.
    pub of_round: &'a Rules<T>,
}

impl<'a, T> From<&'a Rules<T>> for RulesOfItem<'a, T> {
    /// Of an item that was taken by the rules of its round as they are now.
    fn from(rules: &'a Rules<T>) -> Self {
        Self {
            own: rules,
            of_round: rules,
        }
    }
}

/// The rules read last; they are read again when others are active.
pub struct Kept<C: Collection>(Mutex<Option<Arc<Rules<C::Configuration>>>>);

impl<C: Collection> Default for Kept<C> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<C: Collection> Kept<C> {
    /// The rules of the data set `pinned`, or of the active one.
    ///
    /// # Errors
    /// [`DatasetError`] if it is missing, or its configuration can't be used.
    pub async fn rules(
        &self,
        datasets: S3Bucket,
        pinned: Option<Digest>,
    ) -> Result<Arc<Rules<C::Configuration>>, DatasetError> {
        let benchmark = C::SPACE.benchmark;
        let dataset = match pinned {
            Some(dataset) => dataset,
            None => InForce::read(&datasets, benchmark).await?.only(benchmark)?,
        };
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rules) = kept().as_ref().filter(|rules| rules.dataset == dataset) {
            return Ok(rules.clone());
        }
        let prefix = dataset_prefix(benchmark, dataset);
        let files = FrozenFiles::open(datasets, benchmark, prefix, Some(dataset), Integrity::Digests).await?;
        let rules = Arc::new(Rules {
            configuration: C::configuration(&files).await?,
            dataset,
            files,
        });
        *kept() = Some(rules.clone());
        Ok(rules)
    }

    /// The rules of a round: from the round's pinned data set, or else from the active one.
    ///
    /// # Errors
    /// [`DatasetError`] if it is missing, or its configuration can't be used.
    pub(crate) async fn of_round(
        &self,
        datasets: &S3Bucket,
        challenge: Option<&Challenge>,
        round: &str,
    ) -> Result<Arc<Rules<C::Configuration>>, DatasetError> {
        let round = challenge.and_then(|challenge| challenge.round(round));
        let pinned = round.and_then(|round| round.dataset_at(now()));
        self.rules(datasets.clone(), pinned).await
    }
}

/// The error that a file of the data set breaks rules, with the first reason.
pub fn broken(file: &str, rejection: &Rejection) -> DatasetError {
    let first = rejection.reasons().first();
    let first = first.map_or_else(String::new, |reason| format!("{} {}", reason.at, reason.message));
    let why = format!("{} rules are broken, first: {first}", rejection.n_reasons());
    FrozenError::damaged(file, why).into()
}
