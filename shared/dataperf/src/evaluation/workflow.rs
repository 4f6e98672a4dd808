//! The one way from an upload to its receipt: receive, judge, record, write the receipt.
//!
//! The table decides. An upload is received as an unfinished submission before anything else, and its verdict is recorded in
//! one transaction that only one delivery of its event can win. The receipt is written after it, from what the table holds,
//! by every delivery that finds it missing. A crash at any point leaves a state that the next delivery completes.
//!
//! A submission that has ended can be judged again, in a run over its board: the new verdict takes the place of the one before, once in that run.

use std::future::Future;

use tracing::{Instrument, info_span};

use crate::benchmark::descriptor::Descriptor;
use crate::benchmark::feedback::Feedback;
use crate::board::{Board, Order, Ranking};
use crate::challenge::{Challenge, ChallengeError, Terms, shown_of_receipt};
use crate::dataset::DatasetError;
use crate::ports::PortError;
use crate::ports::bucket::Bucket;
use crate::ports::signer::Signer;
use crate::receipt::fault::FaultKind;
use crate::receipt::redaction::Shown;
use crate::receipt::verdict::{Ending, FIRST_REVISION, Receipt, Verdict};
use crate::receipt::write::write_receipt;
use crate::rows::facts::Rules;
use crate::submission::Submission;
use crate::table::leaderboard::{Leaderboards, Projected, Recorded};
use crate::table::maintenance::{Maintenance, Revised};
use crate::upload::{SubmissionId, Upload};
use crate::{Timestamp, programs};

/// How often a verdict is compared with the submitter's Ladder, which other submissions may change
/// meanwhile. No pause is needed: each change means that another of these submissions has been
/// recorded.
const MAX_TRIES: usize = 100;

/// How often one upload projects its board for the uploads that come meanwhile. After that the next upload or the caretaker does.
const MAX_PROJECTIONS: usize = 20;

/// Decides the result of a submission. A benchmark judges its artifact, the caretaker judges one
/// that the platform failed on, and a run over a board judges one that has ended before.
pub trait Judge {
    /// The description of the upload's benchmark.
    fn hosted(&self) -> &'static Descriptor;

    /// Returns this judge if it could read everything that decides what may be shown. Otherwise nobody may write the
    /// receipt, even of a submission that has ended, or project its board.
    ///
    /// # Errors
    /// [`WorkflowError`] when something can't be read this time.
    fn ready(self) -> Result<Self, WorkflowError>
    where
        Self: Sized,
    {
        Ok(self)
    }

    /// The terms of a submission, by its names and the time of its upload.
    fn terms(&self, submission: &Submission) -> Terms;

    /// The challenge that is published, if one is: it says how much of a receipt is shown. Of a judge that is not [`Self::ready`] it is `None`.
    fn challenge(&self) -> Option<Challenge> {
        None
    }

    /// Whether the caller knows what is published. The caretaker does not: it has no right to read challenges.
    fn knows_challenge(&self) -> bool {
        true
    }

    /// The time until which nobody but the organizer sees a board, if that is after `at`.
    fn hidden_until(&self, board: &Board, at: Timestamp) -> Option<Timestamp> {
        self.challenge()?.hidden_until(board, at)
    }

    /// Whether the caller projects the board of a score. The caretaker does not: it has no right to write rows.
    fn projects(&self) -> bool {
        true
    }

    /// The verdict on a submission that has been received, and has not ended unless it is judged again.
    ///
    /// # Errors
    /// [`WorkflowError`] when there can't be a verdict this time.
    fn judge(
        self,
        submission: &Submission,
        terms: &Terms,
    ) -> impl Future<Output = Result<Verdict, WorkflowError>>;
}

/// The stores that the workflow writes to, and the clock.
#[derive(Clone, Copy)]
pub struct Ports<'a> {
    /// The table.
    pub leaderboards: &'a dyn Leaderboards,
    /// The results bucket.
    pub results: &'a dyn Bucket,
    /// The signer of receipts.
    pub signer: &'a dyn Signer,
    /// The time.
    pub now: &'a dyn Fn() -> Timestamp,
}

/// Why an upload could not be settled this time. The event's next delivery tries again.
#[derive(Debug, thiserror::Error)]
pub enum WorkflowError {
    /// A bucket or the table returned an error.
    #[error(transparent)]
    Port(#[from] PortError),
    /// The data set can't be used.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    /// The challenge can't be read.
    #[error(transparent)]
    Challenge(#[from] ChallengeError),
    /// A run's time is up, and some of the work is done that the next one need not do again.
    #[error("the upload takes longer than one run: another run continues")]
    GoesOn,
    /// A judge could not judge.
    #[error("{message}")]
    Judge {
        /// Who has to act.
        fault: FaultKind,
        /// The failure.
        message: String,
    },
}

impl WorkflowError {
    /// A judge failed.
    pub fn judge(fault: FaultKind, message: impl Into<String>) -> Self {
        Self::Judge {
            fault,
            message: message.into(),
        }
    }

    /// A judge failed until the organizer acts.
    pub fn organizer(message: impl Into<String>) -> Self {
        Self::judge(FaultKind::Organizer, message)
    }

    /// A judge failed this time, and may succeed the next time.
    pub fn transient(message: impl Into<String>) -> Self {
        Self::judge(FaultKind::Transient, message)
    }

    /// Who has to act.
    pub fn fault(&self) -> FaultKind {
        let is_transient = match self {
            Self::Port(PortError::Expired { .. })
            | Self::Dataset(DatasetError::Port(PortError::Expired { .. })) => return FaultKind::Expired,
            Self::Port(port)
            | Self::Dataset(DatasetError::Port(port))
            | Self::Challenge(ChallengeError::Port(port)) => port.is_transient(),
            Self::Dataset(DatasetError::Frozen(_))
            | Self::Challenge(ChallengeError::Malformed { .. } | ChallengeError::Gone { .. }) => false,
            Self::GoesOn => true,
            Self::Judge { fault, .. } => return *fault,
        };
        if is_transient {
            FaultKind::Transient
        } else {
            FaultKind::Organizer
        }
    }
}

/// The judge's knowledge of the rules that write a board's rows.
#[derive(Clone, Copy)]
struct RowsBy {
    ranking: Ranking,
    hidden_until: Option<Timestamp>,
}

/// How much of a receipt is shown follows from this.
#[derive(Clone, Copy)]
enum ShownBy<'a> {
    /// The published challenge; `None` if there is none.
    Challenge(Option<&'a Challenge>),
    /// The visible part at the time of recording, because the challenge is unknown.
    Recording,
}

impl ShownBy<'_> {
    fn challenge(&self) -> Option<&Challenge> {
        match self {
            Self::Challenge(challenge) => *challenge,
            Self::Recording => None,
        }
    }

    fn shown(&self, receipt: &Receipt, at: Timestamp) -> Shown {
        match self {
            Self::Challenge(challenge) => shown_of_receipt(*challenge, receipt, at),
            Self::Recording => {
                // a failure tells nothing of hidden data
                let without = if receipt.verdict.status == Ending::Failed {
                    Feedback::Score
                } else {
                    Feedback::Nothing
                };
                receipt.shown_at_first.unwrap_or(without).into()
            }
        }
    }
}

/// An upload that has its verdict and its receipt.
#[derive(Debug, Clone, PartialEq)]
pub struct Settled {
    /// The valid receipt.
    pub receipt: Receipt,
    /// Whether this delivery's verdict is the one that was recorded; `false` for a duplicate.
    pub recorded: bool,
}

/// Receives an upload, judges it unless it has ended before, records the verdict and writes the receipt.
///
/// # Errors
/// The judge's error, or [`WorkflowError`] if a bucket or the table returns an error. Then the
/// submission is known and unfinished, unless the table could not be reached.
pub async fn settle<J: Judge>(upload: &Upload, judge: J, ports: Ports<'_>) -> Result<Settled, WorkflowError> {
    let hosted = judge.hosted();
    let mut submission = Submission::for_upload(hosted.id, upload);
    let terms = judge.terms(&submission);
    submission.board.round = terms.round;
    submission.is_baseline = terms.is_baseline;
    let submission = ports
        .leaderboards
        .receive(&submission)
        .instrument(info_span!("receive"))
        .await?;
    let judge = judge.ready()?; // the upload is known even if it can't be judged now
    let terms = judge.terms(&submission); // the first delivery's time stands
    let challenge = judge.challenge();
    let by = if judge.knows_challenge() {
        ShownBy::Challenge(challenge.as_ref())
    } else {
        ShownBy::Recording
    };
    let board = Board {
        round: terms.round.clone(),
        ..submission.board.clone()
    };
    let rows = judge.projects().then(|| RowsBy {
        ranking: terms.ranking,
        hidden_until: judge.hidden_until(&board, (ports.now)()),
    });
    if let Some(receipt) = submission.receipt {
        return settled(receipt, false, rows, hosted, by, ports).await;
    }
    let verdict = judge.judge(&submission, &terms).await?;
    record(&submission, verdict, &terms, (hosted, rows), by, ports).await
}

/// A run over a board in which submissions that have ended are judged again.
pub(crate) struct Again<'a> {
    /// The table, which is also the ports' table.
    pub table: &'a dyn Maintenance,
    /// The run.
    pub run: &'a str,
    /// Which submission of a submitter the board shows.
    pub ranking: Ranking,
}

/// Judges again a submission that has ended, replaces its verdict, once in a run, and writes the receipt.
///
/// # Errors
/// The judge's, and [`WorkflowError`] when a bucket or the table returns an error, or the submission has not ended or was judged again by another run
/// meanwhile.
pub(crate) async fn settle_again<J: Judge>(
    submission: &Submission,
    judge: J,
    again: Again<'_>,
    ports: Ports<'_>,
) -> Result<Settled, WorkflowError> {
    let hosted = judge.hosted();
    let challenge = judge.challenge();
    let terms = judge.terms(submission);
    let rows = RowsBy {
        ranking: again.ranking,
        hidden_until: judge.hidden_until(&submission.board, (ports.now)()),
    };
    let verdict = judge.judge(submission, &terms).await?;
    let moved = |source: &str| PortError::Transient {
        subject: format!("scoring `{}` again", submission.id),
        source: source.into(),
    };
    let mut before = submission
        .receipt
        .clone()
        .ok_or_else(|| moved("it has not ended"))?;
    let mut receipt = Receipt {
        revision: before.revision + 1,
        finished_at: finished_at(submission, &verdict, ports),
        verdict,
        ..before.clone()
    };
    for _ in 0..MAX_TRIES {
        let by = ShownBy::Challenge(challenge.as_ref());
        release(&mut receipt, Some(&before), &terms, hosted, by, ports).await?;
        match again.table.revise(&receipt, hosted, again.run).await? {
            Revised::Recorded => {
                return settled(receipt, true, Some(rows), hosted, by, ports).await;
            }
            Revised::Settled(other) => {
                return settled(other, false, Some(rows), hosted, by, ports).await;
            }
            Revised::Moved => {
                let now = ports
                    .leaderboards
                    .submission(&submission.board.benchmark, &submission.id)
                    .await?;
                before = now
                    .and_then(|now| now.receipt)
                    .filter(|now| now.revision == before.revision)
                    // whether this run still is to judge it, its next call finds out
                    .ok_or_else(|| moved("another run has scored it meanwhile"))?;
            }
        }
    }
    Err(ladder_moved(submission).into())
}

/// Adds the Ladder's released score to a receipt. A verdict that replaces another with the same
/// data set keeps the score released `before`. With another data set the Ladder decides again, in
/// the order of the run.
async fn release(
    receipt: &mut Receipt,
    before: Option<&Receipt>,
    terms: &Terms,
    hosted: &Descriptor,
    by: ShownBy<'_>,
    ports: Ports<'_>,
) -> Result<(), PortError> {
    release_score(receipt, before, terms, hosted, by, ports).await?;
    receipt.shown_at_first = Some(by.shown(receipt, (ports.now)()).level);
    Ok(())
}

async fn release_score(
    receipt: &mut Receipt,
    before: Option<&Receipt>,
    terms: &Terms,
    hosted: &Descriptor,
    by: ShownBy<'_>,
    ports: Ports<'_>,
) -> Result<(), PortError> {
    if let Some(before) = before {
        let has_score = receipt.verdict.score.is_some();
        let is_same = before.verdict.dataset == receipt.verdict.dataset && before.verdict.score.is_some();
        if is_same || !has_score {
            receipt.ladder = before.ladder.clone().filter(|_| has_score);
            return Ok(());
        }
    }
    receipt.ladder = match terms.ladder {
        Some(ladder) if by.shown(receipt, (ports.now)()).level < Feedback::Full => {
            let evaluation = terms.ladder_of(&receipt.verdict.leaderboard);
            let rung = ports
                .leaderboards
                .rung(hosted.id, evaluation, &receipt.submitter)
                .await?;
            ladder.release(receipt, &rung, hosted, ports.results).await?
        }
        _ => None,
    };
    Ok(())
}

fn ladder_moved(submission: &Submission) -> PortError {
    PortError::Transient {
        subject: format!("submission `{}`", submission.id),
        source: format!("what the Ladder has released changed {MAX_TRIES} times in a row").into(),
    }
}

/// The time of a verdict. For a program's run on hidden data it is rounded to the steps in which
/// verdicts are held.
fn finished_at(submission: &Submission, verdict: &Verdict, ports: Ports<'_>) -> Timestamp {
    let now = (ports.now)();
    match verdict.program {
        Some(_) => programs::finished_at(submission.received_at, now),
        None => now,
    }
}

/// Records the verdict, or that its score came over a limit, and writes the receipt.
#[tracing::instrument(name = "record", skip_all)]
async fn record(
    submission: &Submission,
    verdict: Verdict,
    terms: &Terms,
    (hosted, rows): (&Descriptor, Option<RowsBy>),
    by: ShownBy<'_>,
    ports: Ports<'_>,
) -> Result<Settled, WorkflowError> {
    let mut receipt = submission.to_receipt(finished_at(submission, &verdict, ports), verdict);
    // In which round a failed submission counts is decided when it is evaluated again.
    if receipt.verdict.status != Ending::Failed {
        receipt.round.clone_from(&terms.round);
    }
    for _ in 0..MAX_TRIES {
        release(&mut receipt, None, terms, hosted, by, ports).await?;
        match ports.leaderboards.record(&receipt, hosted, terms).await? {
            Recorded::LadderMoved => {}
            Recorded::Now => return settled(receipt, true, rows, hosted, by, ports).await,
            Recorded::Before(other) => {
                return settled(other, false, rows, hosted, by, ports).await;
            }
            Recorded::OverLimit(over) => {
                receipt.verdict = terms.over_limit_verdict(over, &receipt);
            }
        }
    }
    Err(ladder_moved(submission).into())
}

/// Projects the board's rows, unless `rows` is `None`, and then writes the receipt. So a reader of the receipt finds the upload on its board.
async fn settled(
    receipt: Receipt,
    recorded: bool,
    rows: Option<RowsBy>,
    hosted: &Descriptor,
    by: ShownBy<'_>,
    ports: Ports<'_>,
) -> Result<Settled, WorkflowError> {
    let board = receipt.board();
    // a verdict of before may be of a data set that is active no more
    let scored_with = receipt.verdict.dataset.filter(|_| recorded);
    let rules = Rules::new(hosted, by.challenge(), &board, scored_with, (ports.now)());
    let hidden_until = rules
        .hidden_until
        .or_else(|| rows.and_then(|rows| rows.hidden_until));
    let rules = Rules {
        order: Order {
            direction: hosted.direction,
            ranking: rows.map_or_else(Ranking::default, |rows| rows.ranking),
        },
        hidden_until,
        next_change: rules.next_change.or(hidden_until),
        ..rules
    };
    let may_move_rows =
        rows.is_some() && (receipt.verdict.status == Ending::Scored || receipt.revision > FIRST_REVISION);
    let project = async |changed| ports.leaderboards.project(&board, &rules, changed).await;
    let mut is_behind = may_move_rows && project(Some(&receipt.submitter)).await? == Projected::Behind;
    let at = (ports.now)();
    write_receipt(
        ports.results,
        ports.signer,
        &receipt,
        hosted,
        by.shown(&receipt, at),
        at,
    )
    .await?;
    for _ in 0..MAX_PROJECTIONS {
        if !is_behind {
            break;
        }
        is_behind = project(None).await? == Projected::Behind;
    }
    Ok(Settled { receipt, recorded })
}

/// Writes the receipt of a submission that has ended, in case the function that recorded it stopped before it
/// wrote the receipt. `hosted` describes the submission's benchmark.
///
/// # Errors
/// [`PortError`] when the table, the signer or the bucket returns an error.
pub async fn keep_receipt(
    id: &SubmissionId,
    hosted: &Descriptor,
    challenge: Option<&Challenge>,
    ports: Ports<'_>,
) -> Result<(), PortError> {
    let known = ports.leaderboards.submission(hosted.id, id).await?;
    match known.and_then(|known| known.receipt) {
        Some(receipt) => write_shown(&receipt, hosted, challenge, ports).await,
        None => Ok(()),
    }
}

/// Writes a receipt, as much of it as may be shown by now.
pub(crate) async fn write_shown(
    receipt: &Receipt,
    hosted: &Descriptor,
    challenge: Option<&Challenge>,
    ports: Ports<'_>,
) -> Result<(), PortError> {
    let now = (ports.now)();
    let shown = shown_of_receipt(challenge, receipt, now);
    write_receipt(ports.results, ports.signer, receipt, hosted, shown, now).await
}
