//! The table: submissions, their history, what is unfinished, and the ranked boards.

use std::future::Future;

use super::PortError;
use crate::rank::{Direction, RankKey};
use crate::upload::SubmissionId;
use crate::verdict::{Ending, Receipt};
use crate::{Timestamp, Upload};

/// The round that is always open: a leaderboard outside any challenge.
pub const OPEN_ROUND: &str = "open";

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

/// A submission as it is when its upload has been noticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// The board it asks for, whether or not there is one.
    pub board: Board,
    /// Whose it is.
    pub submitter: String,
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
    /// How it ended, or `None` while it is being evaluated.
    pub ending: Option<Ending>,
    /// The score, when scored.
    pub score: Option<f64>,
}

/// A submitter's best on a board, with the shared rank that equal scores have.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// The best submission.
    pub entry: Entry,
    /// 1 for the best score; equal scores share a rank and the one after them counts them all.
    pub rank: usize,
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

    /// Records how a received submission ended, once: the submission, its submitter's history, the series and,
    /// when it is the submitter's best, the board change together or not at all.
    ///
    /// # Errors
    /// [`PortError`], also when the submission was never received.
    fn finish(
        &self,
        receipt: &Receipt,
        direction: Direction,
    ) -> impl Future<Output = Result<Finished, PortError>> + Send;

    /// One submission by its id.
    ///
    /// # Errors
    /// [`PortError`].
    fn submission(
        &self,
        benchmark: &str,
        id: &SubmissionId,
    ) -> impl Future<Output = Result<Option<Submission>, PortError>> + Send;

    /// The best submissions of the first `n` submitters, best first.
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

/// Gives entries in ranking order their ranks: equal scores share one.
pub fn with_shared_ranks(entries: impl IntoIterator<Item = Entry>) -> Vec<Ranked> {
    let mut ranked: Vec<Ranked> = Vec::new();
    for (idx, entry) in entries.into_iter().enumerate() {
        let rank = match ranked.last() {
            Some(before) if before.entry.score == entry.score => before.rank,
            _ => idx + 1,
        };
        ranked.push(Ranked { entry, rank });
    }
    ranked
}

/// The sort key of a scored receipt on its board; `None` for one without a score, which is never ranked.
pub fn rank_key(receipt: &Receipt, direction: Direction) -> Option<RankKey> {
    let score = receipt
        .verdict
        .score
        .filter(|_| receipt.verdict.status == Ending::Scored)?;
    RankKey::new(score, direction, receipt.received_at, &receipt.submission)
}
