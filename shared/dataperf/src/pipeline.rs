//! From an upload to a row on a leaderboard, so that it ends exactly once whatever happens on the way.
//!
//! The table decides: a submission is filed as unfinished before anything else, and ends in one transaction that
//! only one delivery of its event can win. The receipt is written after it, from what the table holds, by every
//! delivery that finds it missing. A crash at any point leaves a state that the next delivery completes.

use bytes::Bytes;

use crate::benchmark::Benchmark;
use crate::dataset::{Dataset, DatasetError};
use crate::evaluate::{evaluate, too_large};
use crate::ports::PortError;
use crate::ports::bucket::{Bucket, Got, PutIfAbsent};
use crate::ports::leaderboard::{Board, Finished, Known, Leaderboards, OPEN_ROUND, Received};
use crate::rejection::{Reason, Rejection};
use crate::upload::{SubmissionId, Upload, UploadKey};
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

/// Brings one upload to its end. `dataset` gives the data set in force, and is only asked when there is something
/// to evaluate; `now` is the clock.
///
/// # Errors
/// [`PipelineError`] when a bucket, the table or the data set does not play along.
pub async fn deliver<B, S, D, L, R>(
    upload: &Upload,
    submissions: &impl Bucket,
    dataset: impl AsyncFnOnce() -> Result<D, DatasetError>,
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
    let (received, place) = file(B::ID, upload);
    let submission = match outlets.leaderboards.receive(&received).await? {
        Known::New(submission) | Known::Unfinished(submission) => submission,
        Known::Ended(receipt) => {
            keep_receipt(outlets.results, &receipt).await?;
            return Ok(Delivered {
                receipt,
                recorded: false,
            });
        }
    };
    let verdict = match place {
        Err(rejection) => Verdict::rejected(B::ID, &submission.board.leaderboard, None, None, &rejection),
        Ok(_) => judge(upload, &submission.board.leaderboard, submissions, dataset).await?,
    };
    let receipt = Receipt::of(submission, now(), verdict);
    let (receipt, recorded) = match outlets.leaderboards.finish(&receipt, B::DIRECTION).await? {
        Finished::Recorded => (receipt, true),
        Finished::EndedBefore(other) => (other, false),
    };
    keep_receipt(outlets.results, &receipt).await?;
    Ok(Delivered { receipt, recorded })
}

/// How an upload is filed, and the parts of its key or what is wrong with them.
pub(crate) fn file(benchmark: &str, upload: &Upload) -> (Received, Result<UploadKey, Rejection>) {
    let place = UploadKey::parse(benchmark, &upload.key);
    let names = place
        .clone()
        .unwrap_or_else(|_| UploadKey::salvage(benchmark, &upload.key));
    let received = Received {
        board: Board {
            benchmark: benchmark.into(),
            leaderboard: names.leaderboard,
            round: OPEN_ROUND.into(),
        },
        submitter: names.submitter,
        upload: upload.clone(),
    };
    (received, place)
}

/// Reads the artifact within its limit and evaluates it.
async fn judge<B, S, D>(
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
    let reject =
        |dataset: Option<Digest>, rejection| Verdict::rejected(B::ID, leaderboard, dataset, None, &rejection);
    match submissions
        .get(&upload.key, upload.version.as_deref(), B::MAX_ARTIFACT_BYTES)
        .await?
    {
        Got::Object(object) => {
            let dataset = dataset().await?;
            Ok(evaluate(dataset.as_ref(), leaderboard, &object.bytes).await?)
        }
        Got::TooLarge { n_bytes } => Ok(reject(None, too_large::<B>(n_bytes))),
        Got::Missing => {
            let message = "the file was deleted before it could be evaluated: upload it again";
            Ok(reject(None, Reason::new("deleted", "", message).into()))
        }
    }
}

/// The largest receipt that is read back.
const MAX_RECEIPT_BYTES: u64 = 4 << 20;

/// Writes the receipt unless it is there: the table holds the same facts, so whoever comes first is right. Only the
/// receipt of a failure is ever replaced, by what came of the submission when it was evaluated again.
///
/// # Errors
/// [`PipelineError`] when the bucket does not answer.
pub async fn keep_receipt(results: &impl Bucket, receipt: &Receipt) -> Result<(), PipelineError> {
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

/// Whether the stored receipt is of a failure that `receipt` came after.
fn is_superseded(stored: &Receipt, receipt: &Receipt) -> bool {
    stored.verdict.status == Ending::Failed
        && (receipt.verdict.status != Ending::Failed || receipt.finished_at > stored.finished_at)
}
