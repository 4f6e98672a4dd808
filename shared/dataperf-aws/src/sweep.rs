//! Looks for uploads that nobody is going to end any more: announced by no event, or begun and left unfinished.
//!
//! Evaluating twice does no harm, but costs; so an upload is left alone as long as Lambda itself may still have its event,
//! and objects that an earlier sweep has seen evaluated are not asked for again.
//!
//! What can't be looked after is reported at the end, and is looked at again by the next sweep: it stops nothing else.

use std::time::{Duration, SystemTime};

use dataperf::failure::Cause;
use dataperf::ports::PortError;
use dataperf::ports::leaderboard::{Entry, Leaderboards};
use dataperf::rescoring::Request;
use dataperf::workflow::WorkflowError;
use dataperf::{Descriptor, Timestamp, Upload};
use futures_util::{StreamExt, stream};

use crate::give_up::{Release, give_up};
use crate::in_parts::is_in_parts;
use crate::listing::versions;
use crate::runtime::now;
use crate::sweep_state::{State, load, save};
use crate::{Evaluators, KmsKey, S3Bucket, Table};

/// An object may be listed later than the time that it has: so long before an earlier sweep is looked at again. One that came in
/// parts, whose time is that of its beginning, is looked at in every sweep.
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
    pub(crate) signer: KmsKey,
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
    /// What did not work; the rest was done all the same.
    pub(crate) faults: Vec<PortError>,
}

impl Sweep<'_> {
    /// Sweeps one benchmark.
    pub(crate) async fn run(&self, hosted: &Descriptor) -> Swept {
        let mut swept = Swept::default();
        let unfinished = self.unfinished(hosted, &mut swept).await;
        swept.faults.extend(unfinished.err());
        let unannounced = self.unannounced(hosted, &mut swept).await;
        swept.faults.extend(unannounced.err());
        swept
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
            let ended = self.end(hosted, &entry, swept).await;
            swept.faults.extend(ended.err());
        }
        Ok(())
    }

    async fn end(&self, hosted: &Descriptor, entry: &Entry, swept: &mut Swept) -> Result<(), PortError> {
        let age = age_millis(entry.received_at);
        if age >= self.limits.patience_seconds * 1000 {
            self.give_up(hosted.id, entry).await?;
            swept.n_given_up += 1;
        } else if age >= self.limits.quiet_seconds * 1000
            && let Some(submission) = self.table.submission(hosted.id, &entry.id).await?
        {
            self.evaluate(hosted, &submission.upload, "unfinished").await?;
            swept.n_evaluated += 1;
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
        let prefix = format!("{benchmark}/");
        loop {
            let page = match versions(self.s3, self.submissions, &prefix, state.place.as_ref()).await {
                Ok(page) => page,
                Err(error) => {
                    if !error.is_transient() && state.place.take().is_some() {
                        // it would not be better the next time: that one begins at the beginning
                        save(&self.table, benchmark, &state).await?;
                    }
                    return Err(error);
                }
            };
            swept.n_listed += page.uploads.len();
            let due = page.uploads.into_iter().filter(|upload| {
                let stored = upload.received_at.unix_millis();
                let is_due = stored >= state.checked_until.unix_millis() && stored <= newest;
                (is_due || is_in_parts(upload))
                    && !upload.is_folder_marker()
                    && !Request::is_one(benchmark, upload)
            });
            let lookups = due.map(|upload| async move {
                let known = self.table.submission(benchmark, &upload.id()).await;
                (upload, known)
            });
            let lookups: Vec<_> = stream::iter(lookups).buffered(LOOKUPS_AT_ONCE).collect().await;
            for (upload, known) in lookups {
                let stored_at = (!is_in_parts(&upload)).then_some(upload.received_at);
                let looked_after = match known {
                    Ok(known) => {
                        let newest = Timestamp::from_unix_millis(newest);
                        let Some(upload) = state.in_parts.due(upload, known.is_some(), now(), newest) else {
                            continue;
                        };
                        self.evaluate(hosted, &upload, "unannounced").await
                    }
                    Err(error) => Err(error),
                };
                match looked_after {
                    Ok(()) => swept.n_evaluated += 1,
                    Err(error) => {
                        // as if this listing had begun before it: then the next one looks at it again, as it does at those in parts
                        state.began = stored_at.map_or(state.began, |stored_at| state.began.min(stored_at));
                        swept.faults.push(error);
                    }
                }
            }
            let next = page.next;
            swept.is_complete = next.is_none();
            if next.is_none() {
                state.in_parts.forget(now());
                let seen = state.began.unix_millis() - self.limits.quiet_seconds * 1000;
                state = State {
                    place: None,
                    began: now(),
                    checked_until: Timestamp::from_unix_millis(seen - LONGEST_UPLOAD_MILLIS),
                    in_parts: state.in_parts,
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
        match give_up(
            benchmark,
            &submission.upload,
            reason,
            &self.table,
            &self.results,
            &self.signer,
        )
        .await
        {
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
