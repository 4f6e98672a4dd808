//! Looks for uploads that nobody is going to end any more: announced by no event, or begun and left unfinished.
//!
//! Evaluating twice does no harm, but costs; so an upload is left alone as long as Lambda itself may still have its event,
//! and objects that an earlier sweep has seen evaluated are not asked for again.

use std::time::{Duration, SystemTime};

use dataperf::failure::Cause;
use dataperf::ports::PortError;
use dataperf::ports::leaderboard::{Entry, Leaderboards};
use dataperf::rescoring::Request;
use dataperf::workflow::WorkflowError;
use dataperf::{Descriptor, Timestamp, Upload};
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::fault::port_error;
use crate::give_up::{Release, give_up};
use crate::runtime::now;
use crate::sweep_state::{Place, State, load, save};
use crate::{Evaluators, S3Bucket, Table};

/// An upload in parts carries the time at which it began: so long before an earlier sweep is looked at again.
const LONGEST_UPLOAD_MILLIS: i64 = 24 * 3600 * 1000;
/// A sweep stops listing when so much of its time is left, and the next one goes on from there.
const RESERVE: Duration = Duration::from_secs(20);
const LOOKUPS_AT_ONCE: usize = 16;

/// When a sweep acts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// An upload without an outcome is evaluated again after so long.
    pub(crate) quiet_seconds: i64,
    /// One that is unfinished after so long is given up.
    pub(crate) patience_seconds: i64,
}

/// What a sweep works with.
pub(crate) struct Sweep<'a> {
    pub(crate) s3: &'a aws_sdk_s3::Client,
    pub(crate) submissions: &'a str,
    pub(crate) table: Table,
    pub(crate) results: S3Bucket,
    pub(crate) release: Release,
    pub(crate) evaluators: Evaluators,
    pub(crate) limits: Limits,
    pub(crate) request_id: &'a str,
    pub(crate) deadline: SystemTime,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Swept {
    pub(crate) n_unfinished: usize,
    pub(crate) oldest_seconds: f64,
    pub(crate) n_listed: usize,
    pub(crate) n_evaluated: usize,
    pub(crate) n_given_up: usize,
    /// Whether the listing came to its end.
    pub(crate) is_complete: bool,
}

impl Sweep<'_> {
    /// Sweeps one benchmark.
    pub(crate) async fn run(&self, hosted: &Descriptor) -> Result<Swept, PortError> {
        let mut swept = Swept::default();
        self.unfinished(hosted, &mut swept).await?;
        self.unannounced(hosted, &mut swept).await?;
        Ok(swept)
    }

    /// Submissions that were begun and did not end.
    async fn unfinished(&self, hosted: &Descriptor, swept: &mut Swept) -> Result<(), PortError> {
        let benchmark = hosted.id;
        let entries = self.table.unfinished(benchmark).await?;
        swept.n_unfinished = entries.len();
        swept.oldest_seconds = entries
            .iter()
            .map(|entry| age_millis(entry.received_at))
            .max()
            .unwrap_or(0) as f64
            / 1e3;
        for entry in entries {
            let age = age_millis(entry.received_at);
            if age >= self.limits.patience_seconds * 1000 {
                self.give_up(benchmark, &entry).await?;
                swept.n_given_up += 1;
            } else if age >= self.limits.quiet_seconds * 1000
                && let Some(submission) = self.table.submission(benchmark, &entry.id).await?
            {
                self.evaluate(hosted, &submission.upload, "unfinished").await?;
                swept.n_evaluated += 1;
            }
        }
        Ok(())
    }

    /// Objects that the table does not know.
    async fn unannounced(&self, hosted: &Descriptor, swept: &mut Swept) -> Result<(), PortError> {
        let benchmark = hosted.id;
        let mut state = load(&self.table, benchmark).await?.unwrap_or_else(|| State {
            began: now(),
            ..State::default()
        });
        let newest = now().unix_millis() - self.limits.quiet_seconds * 1000;
        loop {
            let (uploads, next) = self.page(benchmark, state.place.as_ref()).await?;
            swept.n_listed += uploads.len();
            let due = uploads.into_iter().filter(|upload| {
                let stored = upload.received_at.unix_millis();
                let is_due = stored >= state.checked_until.unix_millis() && stored <= newest;
                is_due && !upload.is_folder_marker() && !Request::is_one(benchmark, upload)
            });
            let lookups = due.map(|upload| async move {
                let known = self.table.submission(benchmark, &upload.id()).await?;
                Ok::<_, PortError>(known.is_none().then_some(upload))
            });
            let unknown: Vec<Option<Upload>> = stream::iter(lookups)
                .buffered(LOOKUPS_AT_ONCE)
                .try_collect()
                .await?;
            for upload in unknown.into_iter().flatten() {
                self.evaluate(hosted, &upload, "unannounced").await?;
                swept.n_evaluated += 1;
            }
            swept.is_complete = next.is_none();
            if next.is_none() {
                let seen = state.began.unix_millis() - self.limits.quiet_seconds * 1000;
                state = State {
                    place: None,
                    began: now(),
                    checked_until: Timestamp::from_unix_millis(seen - LONGEST_UPLOAD_MILLIS),
                };
            } else {
                state.place = next;
            }
            save(&self.table, benchmark, &state).await?;
            if swept.is_complete || self.is_late() {
                return Ok(());
            }
        }
    }

    /// One page of the versions of a benchmark's uploads, and where the next begins.
    async fn page(
        &self,
        benchmark: &str,
        place: Option<&Place>,
    ) -> Result<(Vec<Upload>, Option<Place>), PortError> {
        let what = || format!("listing `s3://{}/{benchmark}/`", self.submissions);
        let request = self
            .s3
            .list_object_versions()
            .bucket(self.submissions)
            .prefix(format!("{benchmark}/"))
            .set_key_marker(place.map(|place| place.key.clone()))
            .set_version_id_marker(place.and_then(|place| place.version.clone()));
        let page = request.send().await.map_err(|error| port_error(what(), error))?;
        let uploads = page.versions().iter().filter_map(|version| {
            Some(Upload {
                bucket: self.submissions.to_owned(),
                key: version.key()?.to_owned(),
                version: version.version_id().filter(|id| *id != "null").map(str::to_owned),
                e_tag: version.e_tag().map(|tag| tag.trim_matches('"').to_owned()),
                received_at: Timestamp::from_unix_millis(version.last_modified()?.to_millis().ok()?),
            })
        });
        let next = page
            .next_key_marker()
            .filter(|_| page.is_truncated() == Some(true))
            .map(|key| Place {
                key: key.to_owned(),
                version: page.next_version_id_marker().map(str::to_owned),
            });
        Ok((uploads.collect(), next))
    }

    async fn evaluate(&self, hosted: &Descriptor, upload: &Upload, why: &str) -> Result<(), PortError> {
        tracing::warn!(
            request_id = self.request_id, benchmark = hosted.id, submission = %upload.id(), key = upload.key, why, "evaluated again"
        );
        self.evaluators.evaluate(hosted, upload).await
    }

    async fn give_up(&self, benchmark: &str, entry: &Entry) -> Result<(), PortError> {
        let Some(submission) = self.table.submission(benchmark, &entry.id).await? else {
            return Ok(());
        };
        let reason = Cause::Unfinished.reason(self.request_id);
        tracing::warn!(request_id = self.request_id, benchmark, submission = %entry.id, "given up by the sweep");
        (self.release)(&self.table, benchmark, &submission.upload).await?;
        match give_up(benchmark, &submission.upload, reason, &self.table, &self.results).await {
            Ok(_) => Ok(()),
            Err(WorkflowError::Port(error)) => Err(error),
            Err(error) => Err(PortError::Malformed {
                what: format!("submission `{}`", entry.id),
                why: error.to_string(),
            }),
        }
    }

    fn is_late(&self) -> bool {
        self.deadline
            .duration_since(SystemTime::now())
            .unwrap_or_default()
            < RESERVE
    }
}

fn age_millis(since: Timestamp) -> i64 {
    now().unix_millis() - since.unix_millis()
}
