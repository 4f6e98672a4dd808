//! The table: submissions, their history, what is unfinished, and the ranked boards.

use async_trait::async_trait;

use crate::benchmark::descriptor::Descriptor;
use crate::board::{Board, Usage};
use crate::challenge::{OverLimit, Reserved, Terms};
use crate::ladder::Rung;
use crate::ports::PortError;
use crate::receipt::verdict::Receipt;
use crate::rows::facts::{Fact, Rules};
use crate::rows::ranking::Ranked;
use crate::submission::{Entry, Submission};
use crate::upload::SubmissionId;
use crate::{SubmitterName, Timestamp};

/// The result of [`Leaderboards::record`].
#[derive(Debug, Clone, PartialEq)]
pub enum Recorded {
    /// This verdict is now the submission's.
    Now,
    /// Another delivery was faster; its receipt is valid.
    Before(Receipt),
    /// Nothing was recorded: this score would be one too many.
    OverLimit(OverLimit),
    /// Nothing was recorded: the submitter's [`Rung`] has changed since the receipt's `ladder` was worked out.
    LadderMoved,
}

/// The result of [`Leaderboards::project`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Projected {
    /// The rows follow from all facts that were recorded before the call.
    Current,
    /// Facts were recorded meanwhile, and nobody has taken the board up for them: call again.
    Behind,
    /// Somebody else projects the board, and continues until the rows reflect these facts too.
    TakenOver,
}

/// The result of [`Leaderboards::reopen`].
#[derive(Debug, Clone, PartialEq)]
pub enum Reopened {
    /// It had failed and is unfinished now.
    Reopened(Submission),
    /// It has not ended, so nothing was done.
    Unfinished(Submission),
    /// It was scored or rejected; that result is final.
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

    /// Reserves a name in a benchmark. If another name that [looks like](SubmitterName::looks_like)
    /// it is reserved already, the call changes nothing and returns the other name. A submitter
    /// with a scored or accepted submission keeps the name anyway.
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

    /// The submitter's progress on the boards that share one Ladder, by the
    /// [name](Terms::ladder_of) of their evaluation data.
    ///
    /// # Errors
    /// [`PortError`].
    async fn rung(&self, benchmark: &str, evaluation: &str, submitter: &str) -> Result<Rung, PortError>;

    /// The submitter's uploads that count against the limits of a board or its
    /// [counter](Terms::counter), including those being evaluated: on the day of `at`, and in the
    /// round.
    ///
    /// # Errors
    /// [`PortError`].
    async fn usage(&self, board: &Board, submitter: &str, at: Timestamp) -> Result<Usage, PortError>;

    /// One submission by its id.
    ///
    /// # Errors
    /// [`PortError`].
    async fn submission(&self, benchmark: &str, id: &SubmissionId) -> Result<Option<Submission>, PortError>;

    /// The facts of a board, in the order of the uploads. A final board has the public board's
    /// facts.
    ///
    /// # Errors
    /// [`PortError`].
    async fn facts(&self, board: &Board) -> Result<Vec<Fact>, PortError>;

    /// Derives the rows of a board and its final board from its [facts](crate::rows::facts::board) by
    /// `rules`, and writes them. Only one caller at a time does so. `changed` is the submitter
    /// whose facts the caller changed.
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

    /// The first `n` rows of a board, best first, ranked as if all were scored with one data set: [`with_shared_ranks`](crate::rows::ranking::with_shared_ranks) ranks
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

    /// The submissions that are withdrawn from a board, in the order of the uploads.
    ///
    /// # Errors
    /// [`PortError`].
    async fn withdrawn(&self, board: &Board) -> Result<Vec<Entry>, PortError> {
        let lines = self.facts(board).await?.into_iter().map(|fact| fact.entry);
        Ok(lines.filter(|line| line.withdrawn_at.is_some()).collect())
    }

    /// Unfinished submissions, oldest first.
    ///
    /// # Errors
    /// [`PortError`].
    async fn unfinished(&self, benchmark: &str) -> Result<Vec<Entry>, PortError>;

    /// Failed submissions that nobody has reopened, oldest first.
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
