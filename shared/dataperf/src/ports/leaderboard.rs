//! The table: submissions, their history, what is unfinished, and the ranked boards.

use async_trait::async_trait;

use super::PortError;
use crate::challenge::{OverLimit, Reserved, Terms};
use crate::descriptor::Descriptor;
use crate::facts::{Fact, Rules};
use crate::ladder::Rung;
use crate::upload::SubmissionId;
use crate::verdict::Receipt;
use crate::{SubmitterName, Timestamp};

pub use crate::board::{Board, FINAL_ROUND, OPEN_ROUND, POST_ROUND, Stage, Usage, parse_round};
pub use crate::ranking::{Ranked, is_of_other_dataset, rank_key_of, standing, with_shared_ranks};
pub use crate::submission::{Entry, Submission, Withdrawal};

/// What came of [`Leaderboards::record`].
#[derive(Debug, Clone, PartialEq)]
pub enum Recorded {
    /// This verdict is now the submission's.
    Now,
    /// Another delivery was faster; its receipt stands.
    Before(Receipt),
    /// Nothing was recorded: this score would be one too many.
    OverLimit(OverLimit),
    /// Nothing was recorded: the submitter's [`Rung`] has changed since the receipt's `ladder` was worked out.
    LadderMoved,
}

/// What came of [`Leaderboards::project`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Projected {
    /// The rows follow from all facts that were recorded before the call.
    Current,
    /// Facts were recorded meanwhile, and nobody has taken the board up for them: call again.
    Behind,
    /// Somebody else projects the board, and goes on until the rows follow from these facts as well.
    TakenOver,
}

/// What came of [`Leaderboards::reopen`].
#[derive(Debug, Clone, PartialEq)]
pub enum Reopened {
    /// It had failed and is unfinished now.
    Reopened(Submission),
    /// It has not ended: nothing was to be done.
    Unfinished(Submission),
    /// It was scored or rejected, which stands.
    Final(Receipt),
    /// There is no such submission.
    Unknown,
}

/// The table's operations. Each query pattern is one query of the real table, never a scan.
#[async_trait]
pub trait Leaderboards: Send + Sync {
    /// Receives a submission, which is unfinished from now on, and returns it as the table has it: one that the table knew before keeps the
    /// time of its first delivery, and has a receipt if it has ended.
    ///
    /// # Errors
    /// [`PortError`].
    async fn receive(&self, submission: &Submission) -> Result<Submission, PortError>;

    /// Notes that a name is somebody's in a benchmark. Where another one is noted that it [looks like](SubmitterName::looks_like), nothing
    /// is noted, and the other is returned: of names that look alike the one that is noted first stands. Whoever has a submission
    /// that was scored or accepted keeps the name all the same.
    ///
    /// # Errors
    /// [`PortError`].
    async fn note_name(
        &self,
        benchmark: &str,
        name: &SubmitterName,
        at: Timestamp,
    ) -> Result<Option<SubmitterName>, PortError>;

    /// Counts a received submission against the limits of its terms before it is evaluated, once, unless that is one too many.
    ///
    /// # Errors
    /// [`PortError`].
    async fn reserve(&self, submission: &Submission, terms: &Terms) -> Result<Reserved, PortError>;

    /// Records how a received submission ended, once: the submission, its submitter's history and count and the board's facts change together or not
    /// at all. The board's rows follow when it is [projected](Self::project). `hosted` describes the submission's benchmark. What
    /// counts is counted unless it was [before](Self::reserve), and what does not count is counted no longer. Where the receipt has a
    /// `ladder`, it is recorded only after the rung that this names, which becomes another one if it has climbed.
    ///
    /// # Errors
    /// [`PortError`], also when the submission was never received.
    async fn record(
        &self,
        receipt: &Receipt,
        hosted: &Descriptor,
        terms: &Terms,
    ) -> Result<Recorded, PortError>;

    /// How far a submitter has come on the boards whose scores one Ladder releases, by the [name](Terms::ladder_of) of their evaluation data.
    ///
    /// # Errors
    /// [`PortError`].
    async fn rung(&self, benchmark: &str, evaluation: &str, submitter: &str) -> Result<Rung, PortError>;

    /// What counts against a submitter's limits, what is being evaluated included, on a board, or on what it is [counted](Terms::counter) with, for uploads of the
    /// day of `at`.
    ///
    /// # Errors
    /// [`PortError`].
    async fn usage(&self, board: &Board, submitter: &str, at: Timestamp) -> Result<Usage, PortError>;

    /// One submission by its id.
    ///
    /// # Errors
    /// [`PortError`].
    async fn submission(&self, benchmark: &str, id: &SubmissionId) -> Result<Option<Submission>, PortError>;

    /// The facts of a board, in the order of the uploads. A final board has those of the public one.
    ///
    /// # Errors
    /// [`PortError`].
    async fn facts(&self, board: &Board) -> Result<Vec<Fact>, PortError>;

    /// Writes the rows of a board, and those of its final board, that [follow](crate::facts::board) from its facts by `rules`. Only one caller at a time
    /// does so. `changed` is the submitter whose facts the caller has changed.
    ///
    /// # Errors
    /// [`PortError`]; the caretaker projects the board within a minute.
    async fn project(
        &self,
        board: &Board,
        rules: &Rules,
        changed: Option<&str>,
    ) -> Result<Projected, PortError>;

    /// The rows of a board as they were projected last, in no order; [`top`](Self::top) may be moments behind.
    ///
    /// # Errors
    /// [`PortError`].
    async fn rows(&self, board: &Board) -> Result<Vec<Entry>, PortError>;

    /// The first `n` rows of a board, best first, ranked as if all were scored with one data set: [`with_shared_ranks`] ranks
    /// them by what the board is scored with.
    ///
    /// # Errors
    /// [`PortError`].
    async fn top(&self, board: &Board, n: usize) -> Result<Vec<Ranked>, PortError>;

    /// A submitter's newest `n` submissions to a benchmark, newest first.
    ///
    /// # Errors
    /// [`PortError`].
    async fn history(&self, benchmark: &str, submitter: &str, n: usize) -> Result<Vec<Entry>, PortError>;

    /// All scored submissions of a board that are not withdrawn, oldest first: the running best of it is its best over time.
    ///
    /// # Errors
    /// [`PortError`].
    async fn series(&self, board: &Board) -> Result<Vec<Entry>, PortError> {
        let facts = self.facts(board).await?.into_iter();
        Ok(facts.filter_map(|fact| fact.line_on(board)).collect())
    }

    /// What was withdrawn from a board and is so still, in the order of the uploads.
    ///
    /// # Errors
    /// [`PortError`].
    async fn withdrawn(&self, board: &Board) -> Result<Vec<Entry>, PortError> {
        let lines = self.facts(board).await?.into_iter().map(|fact| fact.entry);
        Ok(lines.filter(|line| line.withdrawn_at.is_some()).collect())
    }

    /// What has been received and not ended, oldest first.
    ///
    /// # Errors
    /// [`PortError`].
    async fn unfinished(&self, benchmark: &str) -> Result<Vec<Entry>, PortError>;

    /// What has failed and was not reopened, oldest first.
    ///
    /// # Errors
    /// [`PortError`].
    async fn failed(&self, benchmark: &str) -> Result<Vec<Entry>, PortError>;

    /// Makes a failed submission unfinished again, so that its event's next delivery evaluates it.
    ///
    /// # Errors
    /// [`PortError`].
    async fn reopen(&self, benchmark: &str, id: &SubmissionId) -> Result<Reopened, PortError>;

    /// The boards of a benchmark that have at least one score.
    ///
    /// # Errors
    /// [`PortError`].
    async fn boards(&self, benchmark: &str) -> Result<Vec<Board>, PortError>;
}
