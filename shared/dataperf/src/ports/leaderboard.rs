//! The table: submissions, their history, what is unfinished, and the ranked boards.

use std::future::Future;

use super::PortError;
use crate::challenge::{OverLimit, Terms};
use crate::rank::Direction;
use crate::upload::SubmissionId;
use crate::verdict::{Ending, Receipt};
use crate::{Timestamp, Upload};

pub use super::ranking::{rank_key_of, standing, with_shared_ranks};

/// The round that is always open: a leaderboard outside any challenge.
pub const OPEN_ROUND: &str = "open";
/// Follows a round's id in the name of the board that stays open after its closing. No round's own id ends so.
pub const POST_ROUND: &str = ".post";

/// Which board: scores are compared within one round of one leaderboard of one benchmark.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Board {
    /// The benchmark's id.
    pub benchmark: String,
    /// The leaderboard's name, such as `en-25`.
    pub leaderboard: String,
    /// The round, [`OPEN_ROUND`] when there is none.
    pub round: String,
}

impl Board {
    /// Whether its round has closed and it is open as a benchmark.
    pub fn is_post_round(&self) -> bool {
        self.round.ends_with(POST_ROUND)
    }
}

/// A submission as it is when its upload has been noticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// The board it asks for, whether or not there is one.
    pub board: Board,
    /// Whose it is.
    pub submitter: String,
    /// Whether it is a baseline.
    pub is_baseline: bool,
    /// The upload.
    pub upload: Upload,
}

/// A submission in the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Submission {
    /// Its id.
    pub id: SubmissionId,
    /// The board.
    pub board: Board,
    /// Whose it is.
    pub submitter: String,
    /// When the object was stored, by the first delivery of its event.
    pub received_at: Timestamp,
    /// What was uploaded.
    pub upload: Upload,
    /// Whether it is a baseline: shown in its place, without a rank.
    pub is_baseline: bool,
    /// When it was withdrawn, if it was: it is on no board then.
    pub withdrawn_at: Option<Timestamp>,
    /// The receipt, once it has ended.
    pub receipt: Option<Receipt>,
}

impl Submission {
    /// The submission as one line.
    pub fn entry(&self) -> Entry {
        let verdict = self.receipt.as_ref().map(|receipt| &receipt.verdict);
        Entry {
            id: self.id.clone(),
            board: self.board.clone(),
            submitter: self.submitter.clone(),
            received_at: self.received_at,
            is_baseline: self.is_baseline,
            withdrawn_at: self.withdrawn_at,
            ending: verdict.map(|verdict| verdict.status),
            score: verdict.and_then(|verdict| verdict.score),
        }
    }
}

/// One line of a submitter's history or of a board's series.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The submission's id.
    pub id: SubmissionId,
    /// The board.
    pub board: Board,
    /// Whose it is.
    pub submitter: String,
    /// When the object was stored.
    pub received_at: Timestamp,
    /// Whether it is a baseline: shown in its place, without a rank.
    pub is_baseline: bool,
    /// When it was withdrawn, if it was: it is on no board and in no series then.
    pub withdrawn_at: Option<Timestamp>,
    /// How it ended, or `None` while it is being evaluated.
    pub ending: Option<Ending>,
    /// The score, when scored.
    pub score: Option<f64>,
}

impl Entry {
    /// Whether it may stand on a board: scored, and not withdrawn.
    pub fn is_on_board(&self) -> bool {
        self.ending == Some(Ending::Scored) && self.withdrawn_at.is_none()
    }

    /// What histories are sorted by: the time of the upload, then the id.
    pub fn time_order(&self) -> (Timestamp, &SubmissionId) {
        (self.received_at, &self.id)
    }
}

/// A row of a board, with the shared rank that equal scores have.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// The submission that stands there: its submitter's best or latest, or any, as the board ranks.
    pub entry: Entry,
    /// 1 for the best score; equal scores share a rank and the one after them counts them all, but no baselines.
    /// Of a baseline it is the rank that its score would have; documents show none.
    pub rank: usize,
}

impl Ranked {
    /// The rank as documents show it: none for a baseline.
    pub fn shown_rank(&self) -> Option<usize> {
        (!self.entry.is_baseline).then_some(self.rank)
    }
}

/// How many scored submissions count against a submitter's limits on a board.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Uploaded on the day in question.
    pub day: u64,
    /// In the round.
    pub total: u64,
}

/// What the table knew before [`Leaderboards::receive`].
#[derive(Debug, Clone, PartialEq)]
pub enum Known {
    /// Nothing: it is filed now as unfinished.
    New(Submission),
    /// Another delivery filed it and has not finished: evaluate it too, one of the two will be recorded.
    Unfinished(Submission),
    /// It has ended, with this receipt.
    Ended(Receipt),
}

/// What came of [`Leaderboards::finish`].
#[derive(Debug, Clone, PartialEq)]
pub enum Finished {
    /// This verdict is now the submission's.
    Recorded,
    /// Another delivery was faster; its receipt stands.
    EndedBefore(Receipt),
    /// Nothing was recorded: this score would be one too many.
    OverLimit(OverLimit),
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
pub trait Leaderboards: Send + Sync {
    /// Files an upload as unfinished unless it is known.
    ///
    /// # Errors
    /// [`PortError`].
    fn receive(&self, received: &Received) -> impl Future<Output = Result<Known, PortError>> + Send;

    /// Records how a received submission ended, once: the submission, its submitter's history and count, the series
    /// and, when it is to stand on it, the board change together or not at all.
    ///
    /// # Errors
    /// [`PortError`], also when the submission was never received.
    fn conclude(
        &self,
        receipt: &Receipt,
        direction: Direction,
        terms: &Terms,
    ) -> impl Future<Output = Result<Finished, PortError>> + Send;

    /// The same outside any challenge.
    ///
    /// # Errors
    /// [`PortError`], also when the submission was never received.
    fn finish(
        &self,
        receipt: &Receipt,
        direction: Direction,
    ) -> impl Future<Output = Result<Finished, PortError>> + Send {
        async move {
            let terms = Terms::outside_any_challenge(&receipt.submitter);
            self.conclude(receipt, direction, &terms).await
        }
    }

    /// What counts against a submitter's limits on a board, or on what it is [counted](Terms::counter) with, for uploads of the
    /// day of `at`.
    ///
    /// # Errors
    /// [`PortError`].
    fn usage(
        &self,
        board: &Board,
        submitter: &str,
        at: Timestamp,
    ) -> impl Future<Output = Result<Usage, PortError>> + Send;

    /// One submission by its id.
    ///
    /// # Errors
    /// [`PortError`].
    fn submission(
        &self,
        benchmark: &str,
        id: &SubmissionId,
    ) -> impl Future<Output = Result<Option<Submission>, PortError>> + Send;

    /// The first `n` rows of a board, best first.
    ///
    /// # Errors
    /// [`PortError`].
    fn top(&self, board: &Board, n: usize) -> impl Future<Output = Result<Vec<Ranked>, PortError>> + Send;

    /// A submitter's newest `n` submissions to a benchmark, newest first.
    ///
    /// # Errors
    /// [`PortError`].
    fn history(
        &self,
        benchmark: &str,
        submitter: &str,
        n: usize,
    ) -> impl Future<Output = Result<Vec<Entry>, PortError>> + Send;

    /// All scored submissions of a board, oldest first: the running best of it is its best over time.
    ///
    /// # Errors
    /// [`PortError`].
    fn series(&self, board: &Board) -> impl Future<Output = Result<Vec<Entry>, PortError>> + Send;

    /// What has been received and not ended, oldest first.
    ///
    /// # Errors
    /// [`PortError`].
    fn unfinished(&self, benchmark: &str) -> impl Future<Output = Result<Vec<Entry>, PortError>> + Send;

    /// What has failed and was not reopened, oldest first.
    ///
    /// # Errors
    /// [`PortError`].
    fn failed(&self, benchmark: &str) -> impl Future<Output = Result<Vec<Entry>, PortError>> + Send;

    /// Makes a failed submission unfinished again, so that its event's next delivery evaluates it.
    ///
    /// # Errors
    /// [`PortError`].
    fn reopen(
        &self,
        benchmark: &str,
        id: &SubmissionId,
    ) -> impl Future<Output = Result<Reopened, PortError>> + Send;

    /// The boards of a benchmark that have at least one score.
    ///
    /// # Errors
    /// [`PortError`].
    fn boards(&self, benchmark: &str) -> impl Future<Output = Result<Vec<Board>, PortError>> + Send;
}
