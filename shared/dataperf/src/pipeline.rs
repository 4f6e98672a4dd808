//! From an upload to a row on a leaderboard, so that it ends exactly once whatever happens on the way.
//!
//! The table decides: a submission is filed as unfinished before anything else, and ends in one transaction that
//! only one delivery of its event can win. The receipt is written after it, from what the table holds, by every
//! delivery that finds it missing. A crash at any point leaves a state that the next delivery completes.

use bytes::Bytes;
use tracing::{Instrument, info_span};

use crate::benchmark::Benchmark;
use crate::challenge::{Challenge, ChallengeError, OverLimit, Terms, shown};
use crate::dataset::{Dataset, DatasetError};
use crate::evaluate::{evaluate, too_large};
use crate::feedback::Feedback;
use crate::ports::bucket::{Bucket, Got, PutIfAbsent};
use crate::ports::leaderboard::{Board, Finished, Known, Leaderboards, Received, Submission};
use crate::ports::{PortError, Unreadable};
use crate::rejection::{Reason, Rejection};
use crate::upload::{FiledUnder, SubmissionId, Upload, UploadKey};
use crate::verdict::{Ending, Receipt, Verdict};
use crate::{Digest, Timestamp};

/// Where an upload's outcome goes.
pub struct Outlets<'a, L, R> {
    /// The table.
    pub leaderboards: &'a L,
    /// The results bucket.
    pub results: &'a R,
}

/// Why an upload could not be brought to its end this time. The event's next delivery tries again.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    /// A bucket or the table did not answer.
    #[error(transparent)]
    Port(#[from] PortError),
    /// The data set can't be used.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    /// The challenge can't be read.
    #[error(transparent)]
    Challenge(#[from] ChallengeError),
    /// A receipt could not be written as JSON.
    #[error("the receipt of `{id}` can't be written as JSON: {why}")]
    Receipt {
        /// The submission.
        id: SubmissionId,
        /// The cause.
        why: String,
    },
}

/// What one delivery did.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivered {
    /// The receipt that stands.
    pub receipt: Receipt,
    /// Whether this delivery's verdict is the one that was recorded; `false` for a duplicate.
    pub recorded: bool,
}

/// Where what an upload is judged by comes from; each is asked once at most.
pub struct Sources<'a, S, C, D> {
    /// The submissions bucket.
    pub submissions: &'a S,
    /// Gives the challenge that is published, if one is.
    pub challenge: C,
    /// Gives the data set of the digest, or the one in force; only asked when there is something to evaluate.
    pub dataset: D,
}

/// Brings one upload to its end. `now` is the clock.
///
/// # Errors
/// [`PipelineError`] when a bucket, the table, the challenge or the data set does not play along.
pub async fn deliver<B, S, D, L, R>(
    upload: &Upload,
    sources: Sources<
        '_,
        impl Bucket,
        impl AsyncFnOnce() -> Result<Option<Challenge>, ChallengeError>,
        impl AsyncFnOnce(Option<Digest>) -> Result<D, DatasetError>,
    >,
    outlets: &Outlets<'_, L, R>,
    now: impl Fn() -> Timestamp,
) -> Result<Delivered, PipelineError>
where
    B: Benchmark,
    S: Bucket,
    D: AsRef<Dataset<B, S>>,
    L: Leaderboards,
    R: Bucket,
{
    let place = UploadKey::parse(B::ID, &upload.key);
    let challenge = (sources.challenge)()
        .instrument(info_span!("read challenge"))
        .await;
    let names = names(B::ID, upload, &place);
    let terms = |at: Timestamp| {
        let challenge = challenge.as_ref().ok().and_then(Option::as_ref);
        Terms::of(challenge, &names.leaderboard, &names.submitter, at)
    };
    let received = file(B::ID, upload, &names, terms(upload.received_at));
    // Also when the challenge can't be read: nobody's upload is unknown because of a mistake in it.
    let submission = match outlets
        .leaderboards
        .receive(&received)
        .instrument(info_span!("file"))
        .await?
    {
        Known::New(submission) | Known::Unfinished(submission) => submission,
        Known::Ended(receipt) => {
            let challenge = challenge.as_ref().ok().and_then(Option::as_ref);
            keep_receipt(outlets.results, &receipt, level(challenge, &receipt, now())).await?;
            return Ok(Delivered {
                receipt,
                recorded: false,
            });
        }
    };
    let terms = terms(submission.received_at); // the first delivery's time stands
    let challenge = challenge?;
    let leaderboard = &submission.board.leaderboard;
    let refused = if let Err(rejection) = place {
        Some(Verdict::rejected(B::ID, leaderboard, None, None, &rejection))
    } else {
        let reason = refusal(&submission, &terms, outlets.leaderboards).await?;
        reason.map(|reason| refused::<B>(&submission, reason, None))
    };
    let verdict = if let Some(verdict) = refused {
        verdict
    } else {
        let dataset = async || (sources.dataset)(terms.dataset).await;
        judge(upload, leaderboard, sources.submissions, dataset).await?
    };
    end::<B>(submission, verdict, &terms, challenge.as_ref(), outlets, now).await
}

/// Why a submission is not evaluated at all: its round is not open, or a limit is used up already.
async fn refusal(
    submission: &Submission,
    terms: &Terms,
    leaderboards: &impl Leaderboards,
) -> Result<Option<Reason>, PipelineError> {
    let limited = terms
        .limits
        .filter(|limits| limits.daily.or(limits.total).is_some());
    if terms.refusal.is_some() || limited.is_none() {
        return Ok(terms.refusal.clone());
    }
    let Submission {
        board,
        submitter,
        received_at,
        ..
    } = submission;
    let board = Board {
        round: terms.round.clone(),
        ..board.clone()
    };
    let usage = leaderboards
        .usage(&terms.counter(&board), submitter, *received_at)
        .await?;
    let over = terms.over_limit(usage);
    Ok(over.map(|over| terms.limit_reason(over, &board.leaderboard, *received_at)))
}

fn refused<B: Benchmark>(submission: &Submission, reason: Reason, read: Option<&Verdict>) -> Verdict {
    let (dataset, artifact) = read.map_or((None, None), |verdict| (verdict.dataset, verdict.artifact));
    Verdict::rejected(
        B::ID,
        &submission.board.leaderboard,
        dataset,
        artifact,
        &reason.into(),
    )
}

/// Records the verdict, or that it came over a limit, and writes the receipt.
#[tracing::instrument(name = "record", skip_all)]
async fn end<B: Benchmark>(
    submission: Submission,
    verdict: Verdict,
    terms: &Terms,
    challenge: Option<&Challenge>,
    outlets: &Outlets<'_, impl Leaderboards, impl Bucket>,
    now: impl Fn() -> Timestamp,
) -> Result<Delivered, PipelineError> {
    let mut receipt = Receipt::of(submission.clone(), now(), verdict);
    receipt.round.clone_from(&terms.round);
    let (receipt, recorded) = loop {
        match outlets
            .leaderboards
            .conclude(&receipt, B::DIRECTION, terms)
            .await?
        {
            Finished::Recorded => break (receipt, true),
            Finished::EndedBefore(other) => break (other, false),
            Finished::OverLimit(over) => {
                receipt.verdict = over_limit::<B>(&submission, terms, over, &receipt.verdict);
            }
        }
    };
    keep_receipt(outlets.results, &receipt, level(challenge, &receipt, now())).await?;
    Ok(Delivered { receipt, recorded })
}

/// How much of a receipt is shown at a time.
pub fn level(challenge: Option<&Challenge>, receipt: &Receipt, at: Timestamp) -> Feedback {
    shown(challenge, &receipt.board(), receipt.verdict.dataset, at).level
}

/// The names an upload is filed under, whether or not its key can be used.
pub(crate) fn names(benchmark: &str, upload: &Upload, place: &Result<UploadKey, Rejection>) -> FiledUnder {
    let salvage = |_| FiledUnder::salvage(benchmark, &upload.key);
    place.clone().map_or_else(salvage, FiledUnder::from)
}

/// How an upload is filed.
pub(crate) fn file(benchmark: &str, upload: &Upload, names: &FiledUnder, terms: Terms) -> Received {
    Received {
        board: Board {
            benchmark: benchmark.into(),
            leaderboard: names.leaderboard.clone(),
            round: terms.round,
        },
        submitter: names.submitter.clone(),
        is_baseline: terms.is_baseline,
        upload: upload.clone(),
    }
}

/// What becomes of a score that others were faster than.
fn over_limit<B: Benchmark>(
    submission: &Submission,
    terms: &Terms,
    over: OverLimit,
    scored: &Verdict,
) -> Verdict {
    let reason = terms.limit_reason(over, &submission.board.leaderboard, submission.received_at);
    refused::<B>(submission, reason, Some(scored))
}

/// Reads the artifact within its limit and evaluates it.
pub(crate) async fn judge<B, S, D>(
    upload: &Upload,
    leaderboard: &str,
    submissions: &impl Bucket,
    dataset: impl AsyncFnOnce() -> Result<D, DatasetError>,
) -> Result<Verdict, PipelineError>
where
    B: Benchmark,
    S: Bucket,
    D: AsRef<Dataset<B, S>>,
{
    match artifact(upload, submissions, B::MAX_ARTIFACT_BYTES).await? {
        Ok(bytes) => {
            let dataset = dataset().instrument(info_span!("open data set")).await?;
            Ok(evaluate(dataset.as_ref(), leaderboard, &bytes).await?)
        }
        Err(rejection) => Ok(Verdict::rejected(B::ID, leaderboard, None, None, &rejection)),
    }
}

/// An upload's bytes, of which there may be `max_bytes`.
///
/// # Errors
/// [`PortError`] when the bucket does not answer; a file that is too large, gone, or stored so that it can't be read is a
/// rejection.
#[tracing::instrument(name = "read artifact", skip_all)]
pub async fn artifact(
    upload: &Upload,
    submissions: &impl Bucket,
    max_bytes: u64,
) -> Result<Result<Bytes, Rejection>, PortError> {
    let got = submissions.get(&upload.key, upload.version.as_deref(), max_bytes);
    let got = match got.await {
        Err(PortError::Unreadable { why, .. }) => return Ok(Err(unreadable(why))),
        got => got?,
    };
    Ok(match got {
        Got::Object(object) => Ok(object.bytes),
        Got::TooLarge { n_bytes } => Err(too_large(max_bytes, n_bytes)),
        Got::Missing => {
            let message = "the file was deleted before it could be evaluated: upload it again";
            Err(Reason::new("deleted", "", message).into())
        }
    })
}

/// The rejection of an upload whose submitter stored it so that nobody else can read it.
fn unreadable(why: Unreadable) -> Rejection {
    Reason::new(why.code(), "", why.description()).into()
}

/// The largest receipt that is read back.
const MAX_RECEIPT_BYTES: u64 = 4 << 20;

/// Writes the receipt as `level` shows it, unless it is there: the table holds the same facts, so whoever comes first is
/// right. It is replaced when it is of a failure, by what came of the submission when it was evaluated again, and when more
/// may be shown by now.
///
/// # Errors
/// [`PipelineError`] when the bucket does not answer.
pub async fn keep_receipt(
    results: &impl Bucket,
    receipt: &Receipt,
    level: Feedback,
) -> Result<(), PipelineError> {
    let receipt = &receipt.shown(level);
    let mut json = serde_json::to_vec_pretty(receipt).map_err(|error| PipelineError::Receipt {
        id: receipt.submission.clone(),
        why: error.to_string(),
    })?;
    json.push(b'\n');
    let (key, json) = (receipt.object_key(), Bytes::from(json));
    if results.put_if_absent(&key, json.clone()).await? == PutIfAbsent::Stored {
        return Ok(());
    }
    if let Got::Object(object) = results.get(&key, None, MAX_RECEIPT_BYTES).await?
        && serde_json::from_slice(&object.bytes).is_ok_and(|stored| is_superseded(&stored, receipt))
    {
        results.put(&key, json).await?;
    }
    Ok(())
}

/// Whether the stored receipt is of a failure that `receipt` came after, or shows less of the same.
fn is_superseded(stored: &Receipt, receipt: &Receipt) -> bool {
    let is_retried = stored.verdict.status == Ending::Failed
        && (receipt.verdict.status != Ending::Failed || receipt.finished_at > stored.finished_at);
    let shows_less = stored.feedback.is_some() && stored.feedback < receipt.feedback;
    is_retried || shows_less && stored.finished_at == receipt.finished_at
}
