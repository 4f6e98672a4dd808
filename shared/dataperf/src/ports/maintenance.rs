//! An organizer's later changes to boards: withdrawing a submission, and scoring a whole board
//! again.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::PortError;
use super::leaderboard::{Board, Leaderboards, Submission};
use crate::benchmark::descriptor::Descriptor;
use crate::benchmark::rank_key::Direction;
use crate::board::facts::{Fact, FinalOutcome};
use crate::receipt::verdict::{Ending, Receipt, Verdict};
use crate::submission::upload::SubmissionId;
use crate::{Digest, Timestamp};

pub use crate::board::{Order, Ranking};

/// The result of [`Maintenance::withdraw`].
#[derive(Debug, Clone, PartialEq)]
pub enum Withdrawn {
    /// It is withdrawn now; the submissions behind it have moved up.
    Now(Submission),
    /// It was withdrawn before.
    Before(Submission),
    /// It has no score that could be withdrawn, or there is no such submission.
    NothingToWithdraw(Option<Submission>),
}

/// The result of [`Maintenance::reinstate`].
#[derive(Debug, Clone, PartialEq)]
pub enum Reinstated {
    /// It is back at its old place.
    Now(Submission),
    /// It is not withdrawn, or there is no such submission.
    NotWithdrawn(Option<Submission>),
}

/// A note in the table about a data set, on no board.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DataNote {
    /// Uploads may have been scored with it.
    Seen {
        /// The data set.
        dataset: Digest,
    },
    /// A round's data set is retired for another one.
    Retired {
        /// The round.
        round: String,
        /// The data set that follows.
        successor: Digest,
    },
}

impl DataNote {
    /// The note's place among the notes of a benchmark. Nobody reads it back.
    pub fn key(&self) -> String {
        match self {
            Self::Seen { dataset } => format!("seen.{}", dataset.hex()),
            Self::Retired { round, successor } => format!("retired.{round}.{}", successor.hex()),
        }
    }
}

/// A run over a board in which every submission is scored again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Its id: the time of its start, as text.
    pub id: String,
    /// When the run began. Later uploads are scored with the active data set anyway.
    pub begun_at: Timestamp,
    /// When it came to its end, if it has.
    pub ended_at: Option<Timestamp>,
    /// The runs before it on the same board, newest first; at most [`MAX_BEFORE`](Self::MAX_BEFORE). Each may have found submissions against
    /// the rules to which the next did not come.
    pub before: Vec<String>,
    /// How many submissions were restored during or after the run. Whoever ends the run must have
    /// looked for them.
    pub n_back: u64,
    /// When it had ended first, if a submission came back after that: from then on the run is about such submissions alone.
    pub first_ended_at: Option<Timestamp>,
}

impl Run {
    /// How many earlier runs a run knows of.
    pub const MAX_BEFORE: usize = 16;

    /// A run that begins after the `newest` one.
    pub fn begun(at: Timestamp, newest: Option<&Self>) -> Self {
        let before = newest.map(|newest| [std::slice::from_ref(&newest.id), &newest.before].concat());
        let mut before = before.unwrap_or_default();
        before.truncate(Self::MAX_BEFORE);
        Self {
            id: at.to_string(),
            begun_at: at,
            ended_at: None,
            before,
            n_back: 0,
            first_ended_at: None,
        }
    }
}

/// A run's result for one submission.
#[derive(Debug, Clone, PartialEq)]
pub struct Revision {
    /// The submission.
    pub id: SubmissionId,
    /// The submitter.
    pub submitter: String,
    /// When it was uploaded.
    pub received_at: Timestamp,
    /// Whether it is a baseline.
    pub is_baseline: bool,
    /// The score before, if it had one.
    pub before: Option<f64>,
    /// The data set of that score; `None` if it is unknown.
    pub dataset_before: Option<Digest>,
    /// How it ended now.
    pub ending: Ending,
    /// The score now, if it has one.
    pub after: Option<f64>,
}

/// A submission that was scored with the final data set of its round.
#[derive(Debug, Clone, PartialEq)]
pub struct Finalized {
    /// The final board.
    pub board: Board,
    /// The score on the public board, and that on the final one.
    pub revision: Revision,
    /// The verdict with the final data set, whole.
    pub verdict: Verdict,
}

impl Finalized {
    /// The outcome as the board's facts have it.
    pub fn outcome(&self) -> FinalOutcome {
        FinalOutcome {
            ending: self.verdict.status,
            score: self.verdict.score,
            dataset: self.verdict.dataset,
            before: self.revision.before,
            dataset_before: self.revision.dataset_before,
        }
    }
}

/// The result of [`Maintenance::revise`].
#[derive(Debug, Clone, PartialEq)]
pub enum Revised {
    /// The new verdict is the submission's.
    Recorded,
    /// This run has revised it before, with this receipt, or it was withdrawn meanwhile.
    Settled(Receipt),
    /// Nothing was recorded: the submission has another revision than the one before the receipt's, shows its own score by now, or the
    /// submitter's rung has changed since the receipt's `ladder` was worked out.
    Moved,
}

/// An organizer's operations on the table.
#[async_trait]
pub trait Maintenance: Leaderboards {
    /// Takes a scored submission off its board and out of its series; its receipt and its line of
    /// history stay. It still counts against the limits. If the Ladder released it last, the next
    /// best one becomes the released one. `reason` is noted in the history. As with the other
    /// changes here, the rows change when the board is [projected](Leaderboards::project), at the
    /// latest by the caretaker.
    ///
    /// # Errors
    /// [`PortError`].
    async fn withdraw(
        &self,
        benchmark: &str,
        id: &SubmissionId,
        at: Timestamp,
        direction: Direction,
        reason: Option<&str>,
    ) -> Result<Withdrawn, PortError>;

    /// Undoes [`withdraw`](Self::withdraw). Submission, history, series and released scores return
    /// to their earlier state, and the history records both changes. `direction` is the
    /// benchmark's.
    ///
    /// # Errors
    /// [`PortError`].
    async fn reinstate(
        &self,
        benchmark: &str,
        id: &SubmissionId,
        at: Timestamp,
        direction: Direction,
        reason: Option<&str>,
    ) -> Result<Reinstated, PortError>;

    /// The newest run over a board.
    ///
    /// # Errors
    /// [`PortError`].
    async fn run(&self, board: &Board) -> Result<Option<Run>, PortError>;

    /// Notes something about a data set, unless it is noted already.
    ///
    /// # Errors
    /// [`PortError`].
    async fn note(&self, benchmark: &str, note: &DataNote, at: Timestamp) -> Result<(), PortError>;

    /// All that is noted about a benchmark's data sets.
    ///
    /// # Errors
    /// [`PortError`].
    async fn notes(&self, benchmark: &str) -> Result<Vec<(DataNote, Timestamp)>, PortError>;

    /// Begins a run over a board, or continues an unfinished one.
    ///
    /// # Errors
    /// [`PortError`].
    async fn begin_run(&self, board: &Board, at: Timestamp) -> Result<Run, PortError>;

    /// Begins the only run that a board ever has. If one has begun, it is returned, finished or
    /// not.
    ///
    /// # Errors
    /// [`PortError`].
    async fn begin_only_run(&self, board: &Board, at: Timestamp) -> Result<Run, PortError>;

    /// Ends a run, and at the same time marks the rows of `changed` boards for comparison, because
    /// whoever changed them may have stopped earlier. Returns `false` if another run has begun, or
    /// if a submission was restored since the run was read.
    ///
    /// # Errors
    /// [`PortError`].
    async fn end_run(
        &self,
        board: &Board,
        run: &Run,
        at: Timestamp,
        changed: &[Board],
    ) -> Result<bool, PortError>;

    /// Replaces the verdict of a submission, once in a run: submission, history and fact change together or
    /// not at all. `receipt` has the number of the revision; `hosted` describes its benchmark.
    ///
    /// # Errors
    /// [`PortError`], also when the submission has not ended.
    async fn revise(&self, receipt: &Receipt, hosted: &Descriptor, run: &str) -> Result<Revised, PortError>;

    /// Shows a submission's own score in place of the Ladder's. Submission, history and fact change
    /// together or not at all. Returns the receipt if there was something to do. Withdrawn
    /// submissions stay unchanged.
    ///
    /// # Errors
    /// [`PortError`].
    async fn lift(
        &self,
        benchmark: &str,
        id: &SubmissionId,
        hosted: &Descriptor,
    ) -> Result<Option<Receipt>, PortError>;

    /// Records how a submission ended with the final data set of its round. Repeating the call
    /// changes nothing. Returns `false` and does nothing if its public score has changed, or if it
    /// was withdrawn.
    ///
    /// # Errors
    /// [`PortError`].
    async fn finalize(&self, last: &Finalized, hosted: &Descriptor) -> Result<bool, PortError>;

    /// The run's result for one submission, if it has reached the submission.
    ///
    /// # Errors
    /// [`PortError`].
    async fn revision(
        &self,
        board: &Board,
        run: &str,
        id: &SubmissionId,
    ) -> Result<Option<Revision>, PortError>;

    /// All that a run did. Of the run on a final board: what the final data set has judged.
    ///
    /// # Errors
    /// [`PortError`].
    async fn revisions(&self, board: &Board, run: &str) -> Result<Vec<Revision>, PortError>;
}

impl Revision {
    /// The final data set's result for a submission of the public board; `None` if it has not
    /// judged the submission.
    pub fn of_final(fact: &Fact) -> Option<Self> {
        let last = fact.last.as_ref()?;
        Some(Self {
            id: fact.entry.id.clone(),
            submitter: fact.entry.submitter.clone(),
            received_at: fact.entry.received_at,
            is_baseline: fact.entry.is_baseline,
            before: last.before,
            dataset_before: last.dataset_before,
            ending: last.ending,
            after: last.score,
        })
    }

    /// The changes when `receipt` replaces the verdict of `submission`.
    pub fn new(submission: &Submission, receipt: &Receipt) -> Self {
        Self {
            id: submission.id.clone(),
            submitter: submission.submitter.clone(),
            received_at: submission.received_at,
            is_baseline: submission.is_baseline,
            before: submission
                .receipt
                .as_ref()
                .and_then(|receipt| receipt.verdict.score),
            dataset_before: submission
                .receipt
                .as_ref()
                .and_then(|receipt| receipt.verdict.dataset),
            ending: receipt.verdict.status,
            after: receipt.verdict.score,
        }
    }
}
