//! Looks for uploads that nobody is going to end any more: announced by no event, or begun and left unfinished.
//!
//! A second evaluation is harmless but costs money. So a sweep leaves an upload alone as long as
//! Lambda may still have its event. It does not check objects again that an earlier sweep has seen
//! evaluated.
//!
//! A problem is reported at the end and retried by the next sweep; it stops nothing else.

mod marks;
mod misplaced;
mod state;

use std::time::SystemTime;

use dataperf::evaluation::rescoring::Request;
use dataperf::ports::PortError;
use dataperf::programs::Output;
use dataperf::table::leaderboard::Leaderboards;
use dataperf::upload::misplaced::is_of_no_kind;
use dataperf::{Descriptor, Timestamp, Upload};
use futures_util::{StreamExt, stream};

use crate::bucket::listing::versions;
use crate::bucket::multipart::is_in_parts;
use crate::caretaker::misplaced_notes::Notes;
use crate::caretaker::sweep::state::{State, load, save};
use crate::function::fail_upload::GiveBack;
use crate::runtime::now;
use crate::{Evaluators, ReceiptKeys, S3Bucket, Table};

/// How far before the beginning of an earlier listing objects are checked again, in milliseconds:
/// an object may be listed later than its time says. An object in parts has the time of its
/// beginning, so every sweep checks it.
pub(crate) const LONGEST_UPLOAD_MILLIS: i64 = 24 * 3600 * 1000;
/// Submissions that are looked up, evaluated again or given up at once.
pub(crate) const AT_ONCE: usize = 16;
/// How many faults of a benchmark are kept to be logged; further ones are only counted.
const MAX_FAULTS: usize = 20;

/// When a sweep acts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// After how long an upload without an outcome is evaluated again.
    pub(crate) quiet_seconds: i64,
    /// The age at which an unfinished submission is given up.
    pub(crate) patience_seconds: i64,
}

/// The resources of a sweep.
pub(crate) struct Sweep<'a> {
    pub(crate) s3: &'a aws_sdk_s3::Client,
    pub(crate) submissions: &'a str,
    pub(crate) table: Table,
    pub(crate) results: &'a S3Bucket,
    pub(crate) signer: ReceiptKeys,
    pub(crate) give_back: GiveBack,
    pub(crate) evaluators: Evaluators,
    pub(crate) limits: Limits,
    pub(crate) notes: Notes<'a>,
    pub(crate) request_id: &'a str,
}

/// The result of a sweep.
#[derive(Debug, Default)]
pub(crate) struct Swept {
    /// Marks that the sweep came to.
    pub(crate) n_unfinished: usize,
    pub(crate) oldest_seconds: f64,
    pub(crate) n_listed: usize,
    pub(crate) n_evaluated: usize,
    pub(crate) n_given_up: usize,
    /// Notes that were written on files that are where no submission belongs.
    pub(crate) n_misplaced: usize,
    /// Whether marks and listing came to their end.
    pub(crate) is_complete: bool,
    /// How many things did not work; the rest was done all the same.
    pub(crate) n_faults: usize,
    /// The first things that did not work.
    pub(crate) faults: Vec<PortError>,
}

impl Swept {
    /// Notes what did not work.
    pub(crate) fn note(&mut self, fault: PortError) {
        self.n_faults += 1;
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(fault);
        }
    }
}

impl Sweep<'_> {
    /// Sweeps one benchmark until a time. Unfinished submissions get half of it, and the listing
    /// gets the rest. The next sweep continues at the same place.
    pub(crate) async fn run(&self, hosted: &'static Descriptor, until: SystemTime) -> Swept {
        let mut swept = Swept::default();
        let loaded = load(&self.table, hosted.id).await;
        let mut state = match loaded {
            Ok(state) => state.unwrap_or_else(|| State {
                began: now(),
                ..State::default()
            }),
            Err(error) => {
                swept.note(error);
                return swept; // the table does not answer
            }
        };
        let all_marks = self
            .unfinished(hosted, &mut state, half_way(until), &mut swept)
            .await;
        let all_objects = match self.unannounced(hosted, &mut state, until, &mut swept).await {
            Ok(is_complete) => is_complete,
            Err(error) => {
                swept.note(error);
                false
            }
        };
        swept.is_complete = all_marks && all_objects;
        swept
    }

    /// Looks for objects that the table does not know. Says whether the listing came to its end.
    async fn unannounced(
        &self,
        hosted: &'static Descriptor,
        state: &mut State,
        until: SystemTime,
        swept: &mut Swept,
    ) -> Result<bool, PortError> {
        let benchmark = hosted.id;
        let newest = Timestamp::from_unix_millis(now().unix_millis() - self.limits.quiet_seconds * 1000);
        let prefix = format!("{benchmark}/");
        loop {
            let page = match versions(self.s3, self.submissions, &prefix, state.place.as_ref()).await {
                Ok(page) => page,
                Err(error) => {
                    if !error.is_transient() && state.place.take().is_some() {
                        // it would fail again the next time: the next listing begins at the beginning
                        save(&self.table, benchmark, state).await?;
                    }
                    return Err(error);
                }
            };
            swept.n_listed += page.uploads.len();
            self.look_after(hosted, page.uploads, state, newest, swept).await;
            let is_complete = page.next.is_none();
            state.place = page.next;
            if is_complete {
                state.in_parts.forget(now());
                let seen = state.began.unix_millis() - self.limits.quiet_seconds * 1000;
                state.began = now();
                state.checked_until = Timestamp::from_unix_millis(seen - LONGEST_UPLOAD_MILLIS);
            }
            save(&self.table, benchmark, state).await?;
            if is_complete || is_over(until) {
                return Ok(is_complete);
            }
        }
    }

    /// Evaluates the objects of a page that the table does not know and that no event will announce any more.
    async fn look_after(
        &self,
        hosted: &'static Descriptor,
        uploads: Vec<Upload>,
        state: &mut State,
        newest: Timestamp,
        swept: &mut Swept,
    ) {
        let benchmark = hosted.id;
        // misplaced uploads have a receipt, but filed where their submitter does not look for it
        let answered = self.notes.answer(&uploads, state.checked_until).await;
        swept.n_misplaced += answered.n_written;
        for (stored_at, error) in answered.failed {
            state.began = state.began.min(stored_at);
            swept.note(error);
        }
        let due = uploads.into_iter().filter(|upload| {
            let is_due = upload.received_at >= state.checked_until && upload.received_at <= newest;
            (is_due || is_in_parts(upload))
                && !upload.is_folder_marker()
                && !is_of_no_kind(&upload.key, hosted.kinds)
                && !Request::is_one(benchmark, upload)
                && Output::parse_upload(benchmark, upload).is_none()
        });
        let lookups = due.map(|upload| async move {
            let known = self.table.submission(benchmark, &upload.id()).await;
            (upload, known)
        });
        let lookups: Vec<_> = stream::iter(lookups).buffered(AT_ONCE).collect().await;
        let (mut lost, mut failed) = (Vec::new(), Vec::new());
        for (upload, known) in lookups {
            let stored_at = (!is_in_parts(&upload)).then_some(upload.received_at);
            match known {
                Ok(known) => {
                    let due = state.in_parts.due(upload, known.is_some(), now(), newest);
                    lost.extend(due.map(|upload| (upload, stored_at)));
                }
                Err(error) => failed.push((stored_at, error)),
            }
        }
        let evaluated = lost.into_iter().map(|(upload, stored_at)| async move {
            let evaluated = self.evaluate(hosted, &upload, "unannounced").await;
            (stored_at, evaluated)
        });
        let evaluated: Vec<_> = stream::iter(evaluated).buffer_unordered(AT_ONCE).collect().await;
        for (stored_at, evaluated) in evaluated {
            match evaluated {
                Ok(()) => swept.n_evaluated += 1,
                Err(error) => failed.push((stored_at, error)),
            }
        }
        for (stored_at, error) in failed {
            // the listing counts as begun before this object was stored: then the next one looks at it again, as it does at those in parts
            state.began = stored_at.map_or(state.began, |stored_at| state.began.min(stored_at));
            swept.note(error);
        }
    }

    pub(crate) async fn evaluate(
        &self,
        hosted: &'static Descriptor,
        upload: &Upload,
        why: &str,
    ) -> Result<(), PortError> {
        tracing::warn!(
            request_id = self.request_id, benchmark = hosted.id, submission = %upload.id(), key = upload.key, why, "evaluated again"
        );
        self.evaluators.evaluate(hosted, upload).await
    }
}

/// The middle between now and a time.
fn half_way(until: SystemTime) -> SystemTime {
    let now = SystemTime::now();
    now + until.duration_since(now).unwrap_or_default() / 2
}

/// Whether a time has come.
pub(crate) fn is_over(until: SystemTime) -> bool {
    SystemTime::now() >= until
}
