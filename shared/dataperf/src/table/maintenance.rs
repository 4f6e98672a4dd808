//! An organizer's later changes to boards: withdrawing a submission, and scoring a whole board
//! again.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::benchmark::descriptor::Descriptor;
use crate::board::Board;
use crate::board::rank_key::Direction;
use crate::ports::PortError;
use crate::receipt::verdict::Receipt;
use crate::rows::revision::{Finalized, Revision, Run};
use crate::submission::Submission;
use crate::table::leaderboard::Leaderboards;
use crate::upload::SubmissionId;
use crate::{Digest, Timestamp};

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
