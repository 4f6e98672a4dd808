//! A submission, from its upload to its receipt.

pub(crate) mod endings;

use crate::board::{Board, OPEN_ROUND};
use crate::receipt::released_score::Climb;
use crate::receipt::verdict::{Ending, FIRST_REVISION, Receipt, Verdict};
use crate::rejection::Rejection;
use crate::upload::submitter::SubmitterName;
use crate::upload::{SubmissionId, Upload, UploadKey, names_of};
use serde::{Deserialize, Serialize};

use crate::{Digest, Timestamp};

/// A withdrawal of a submission, and whether it was undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withdrawal {
    /// When it was withdrawn.
    pub at: Timestamp,
    /// Why, in the organizer's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it was undone, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone_at: Option<Timestamp>,
    /// Why it was undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo_reason: Option<String>,
}

impl Withdrawal {
    /// The most characters of a reason.
    pub const MAX_REASON_CHARS: usize = 500;
}

/// A submission in the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Submission {
    /// Its id.
    pub id: SubmissionId,
    /// The board.
    pub board: Board,
    /// The submitter.
    pub submitter: String,
    /// When the object was stored, by the first delivery of its event.
    pub received_at: Timestamp,
    /// The upload.
    pub upload: Upload,
    /// Whether it is a baseline: shown in its place, without a rank.
    pub is_baseline: bool,
    /// When it was withdrawn, if it was: it is on no board then.
    pub withdrawn_at: Option<Timestamp>,
    /// Every withdrawal, oldest first; the last one is valid unless it was undone.
    pub withdrawals: Vec<Withdrawal>,
    /// Whether a failed ending of it was taken back, so that it is evaluated again.
    pub is_reopened: bool,
    /// The receipt, once it has ended.
    pub receipt: Option<Receipt>,
}

impl Submission {
    /// An upload to a benchmark that has not been received yet: unfinished, in the round that is always open.
    pub fn for_upload(benchmark: &str, upload: &Upload) -> Self {
        let (leaderboard, submitter) = names_of(benchmark, &upload.key);
        let board = Board {
            benchmark: benchmark.to_owned(),
            leaderboard,
            round: OPEN_ROUND.to_owned(),
        };
        Self::new(board, submitter, false, upload.clone())
    }

    /// A submission that was not received yet, with its board, its submitter and whether it is a baseline.
    pub fn new(board: Board, submitter: impl Into<String>, is_baseline: bool, upload: Upload) -> Self {
        Self {
            id: upload.id(),
            board,
            submitter: submitter.into(),
            received_at: upload.received_at,
            is_baseline,
            withdrawn_at: None,
            withdrawals: Vec::new(),
            is_reopened: false,
            upload,
            receipt: None,
        }
    }

    /// Why the key does not belong to an upload to `benchmark`; `None` if it does.
    pub fn misplaced(&self, benchmark: &str) -> Option<Rejection> {
        UploadKey::parse(benchmark, &self.upload.key).err()
    }

    /// The submitter's name, where the key has one that can be a submitter's.
    pub fn name(&self) -> Option<SubmitterName> {
        self.submitter.parse().ok()
    }

    /// The receipt of a submission whose verdict was reached at `finished_at`.
    pub fn to_receipt(&self, finished_at: Timestamp, verdict: Verdict) -> Receipt {
        Receipt {
            schema: Receipt::SCHEMA,
            submission: self.id.clone(),
            revision: FIRST_REVISION,
            submitter: self.submitter.clone(),
            round: self.board.round.clone(),
            bucket: self.upload.bucket.clone(),
            key: self.upload.key.clone(),
            version: self.upload.version.clone(),
            received_at: self.received_at,
            finished_at,
            feedback: None,
            withheld_until: None,
            shown_at_first: None,
            ladder: None,
            verdict,
            signature: None,
        }
    }

    /// Takes it off its board.
    pub fn withdraw(&mut self, at: Timestamp, reason: Option<String>) {
        self.withdrawn_at = Some(at);
        self.withdrawals.push(Withdrawal {
            at,
            reason,
            undone_at: None,
            undo_reason: None,
        });
    }

    /// Undoes that it was withdrawn.
    pub fn reinstate(&mut self, at: Timestamp, reason: Option<String>) {
        if self.withdrawn_at.take().is_some()
            && let Some(last) = self.withdrawals.last_mut()
        {
            (last.undone_at, last.undo_reason) = (Some(at), reason);
        }
    }

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
            withdrawals: self.withdrawals.clone(),
            ending: verdict.map(|verdict| verdict.status),
            score: self.receipt.as_ref().and_then(Receipt::public_score),
            climb: self.receipt.as_ref().and_then(Receipt::climb),
            dataset: verdict.and_then(|verdict| verdict.dataset),
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
    /// The submitter.
    pub submitter: String,
    /// When the object was stored.
    pub received_at: Timestamp,
    /// Whether it is a baseline: shown in its place, without a rank.
    pub is_baseline: bool,
    /// When it was withdrawn, if it was: it is on no board and in no series then.
    pub withdrawn_at: Option<Timestamp>,
    /// Every withdrawal, oldest first.
    pub withdrawals: Vec<Withdrawal>,
    /// How it ended, or `None` while it is being evaluated.
    pub ending: Option<Ending>,
    /// The score as boards show it, when scored.
    pub score: Option<f64>,
    /// If the Ladder released the score: whether it is the submission's own.
    pub climb: Option<Climb>,
    /// The data set that judged it, if there was one.
    pub dataset: Option<Digest>,
}

impl Entry {
    /// Whether it obeyed the rules.
    pub fn is_scored_or_accepted(&self) -> bool {
        matches!(self.ending, Some(Ending::Scored | Ending::Accepted))
    }

    /// Whether it may be on a board: scored, and not withdrawn.
    pub fn is_on_board(&self) -> bool {
        self.ending == Some(Ending::Scored) && self.withdrawn_at.is_none()
    }

    /// Whether its board shows a score of it: the Ladder may hold one that has nothing to show.
    pub fn is_shown(&self) -> bool {
        self.is_on_board() && self.score.is_some()
    }

    /// The sort key of histories: the time of the upload, then the id.
    pub fn time_order(&self) -> (Timestamp, &SubmissionId) {
        (self.received_at, &self.id)
    }
}
