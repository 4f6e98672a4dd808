//! The end of a submission that the platform could not evaluate: a receipt that says so, and that it does not count.

use crate::Timestamp;
use crate::challenge::Terms;
use crate::feedback::Feedback;
use crate::pipeline::{Delivered, Outlets, PipelineError, file, keep_receipt, names};
use crate::ports::PortError;
use crate::ports::bucket::Bucket;
use crate::ports::leaderboard::{Finished, Known, Leaderboards, Submission};
use crate::rank::Direction;
use crate::rejection::{Reason, quote};
use crate::upload::{Upload, UploadKey};
use crate::verdict::{Ending, Receipt, Verdict};

/// Why the platform gave an upload up, by whose fault it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The challenge's data set or configuration can't be used.
    Organizer,
    /// Storage or table did not answer in all tries.
    Unavailable,
    /// A service outside the platform, whose answer is needed, did not give one.
    Provider,
    /// The evaluation took longer than it may.
    TimeLimit,
    /// The evaluator was ended from outside: out of memory, for one.
    Crashed,
    /// A defect of the evaluator.
    Defect,
    /// Its turn did not come in time.
    Overloaded,
    /// It was begun, tried again, and did not end.
    Unfinished,
}

impl Cause {
    /// The stable code in the receipt.
    pub fn code(self) -> &'static str {
        match self {
            Self::Organizer => "organizer_fault",
            Self::Unavailable => "unavailable",
            Self::Provider => "provider_unavailable",
            Self::TimeLimit => "time_limit",
            Self::Crashed => "evaluator_crashed",
            Self::Defect => "evaluator_defect",
            Self::Overloaded => "overloaded",
            Self::Unfinished => "unfinished",
        }
    }

    fn what_happened(self) -> &'static str {
        match self {
            Self::Organizer => "the challenge's data set or its configuration can't be used at the moment",
            Self::Unavailable => "storage or table did not answer, in all tries",
            Self::Provider => "the service that makes the images did not answer as it should, in all tries",
            Self::TimeLimit => "the evaluation took longer than the platform allows, in all tries",
            Self::Crashed => "the evaluator was ended before it was done, in all tries",
            Self::Defect => "the evaluator met a defect of its own",
            Self::Overloaded => "so many uploads came before it that its turn did not come in time",
            Self::Unfinished => "it was begun and tried again, and never came to an end",
        }
    }

    /// What the submitter reads. `reference` is what the organizer finds the cause in the logs by; nothing else of the
    /// error is shown, because its words may tell what is hidden.
    pub fn reason(self, reference: &str) -> Reason {
        let message = format!(
            "{}: this is the platform's fault and does not count against you; the file is kept, and the organizer can have it \
             evaluated again, so there is no need to upload it once more. Quote {} when you ask",
            self.what_happened(),
            quote(reference)
        );
        Reason::new(self.code(), "", message)
    }
}

/// Ends an upload as failed, unless it has ended; files it first when its event never got that far. Its receipt is
/// written like any other, and a later delivery of its event finds it ended.
///
/// # Errors
/// [`PipelineError`] when a bucket or the table does not answer.
pub async fn give_up<L: Leaderboards, R: Bucket>(
    benchmark: &str,
    upload: &Upload,
    reason: Reason,
    outlets: &Outlets<'_, L, R>,
    now: impl Fn() -> Timestamp,
) -> Result<Delivered, PipelineError> {
    let fail = async |submission: &Submission| -> Result<Verdict, PipelineError> {
        Ok(Verdict::failed(benchmark, &submission.board.leaderboard, reason))
    };
    // Which round it is for is decided when it is evaluated again.
    let terms = |submitter: &str| Terms::outside_any_challenge(submitter);
    settle(benchmark, upload, terms, outlets, fail, now).await
}

/// Ends an upload with what `judge` says of it, unless it has ended; files it first when no delivery of its event got that
/// far. `terms` are those of a submitter, without limits. A failure leaves
/// the submission in the round that it is filed under.
///
/// # Errors
/// `judge`'s, and [`PipelineError`] when a bucket or the table does not answer.
pub async fn settle<L: Leaderboards, R: Bucket, E: From<PipelineError>>(
    benchmark: &str,
    upload: &Upload,
    terms: impl FnOnce(&str) -> Terms,
    outlets: &Outlets<'_, L, R>,
    judge: impl AsyncFnOnce(&Submission) -> Result<Verdict, E>,
    now: impl Fn() -> Timestamp,
) -> Result<Delivered, E> {
    let names = names(benchmark, upload, &UploadKey::parse(benchmark, &upload.key));
    let terms = terms(&names.submitter);
    let received = file(benchmark, upload, &names, terms.clone());
    let received = outlets.leaderboards.receive(&received).await;
    let submission = match received.map_err(PipelineError::Port)? {
        Known::New(submission) | Known::Unfinished(submission) => submission,
        Known::Ended(receipt) => {
            keep_receipt(outlets.results, &receipt, Feedback::Score).await?;
            return Ok(Delivered {
                receipt,
                recorded: false,
            });
        }
    };
    let verdict = judge(&submission).await?;
    let mut receipt = Receipt::of(submission, now(), verdict);
    if receipt.verdict.status != Ending::Failed {
        receipt.round.clone_from(&terms.round);
    }
    // a failure has no score, and all other scores without a challenge are better when higher
    let finished = outlets
        .leaderboards
        .conclude(&receipt, Direction::HigherIsBetter, &terms)
        .await;
    let (receipt, recorded) = match finished.map_err(PipelineError::Port)? {
        Finished::Recorded => (receipt, true),
        Finished::EndedBefore(other) => (other, false),
        Finished::OverLimit(_) => unreachable_limit(&receipt)?,
    };
    keep_receipt(outlets.results, &receipt, Feedback::Score).await?;
    Ok(Delivered { receipt, recorded })
}

/// Where the terms have no limits.
fn unreachable_limit<T>(receipt: &Receipt) -> Result<T, PipelineError> {
    Err(PipelineError::Port(PortError::Malformed {
        what: format!("submission `{}`", receipt.submission),
        why: "it was counted against a limit where there is none".into(),
    }))
}
