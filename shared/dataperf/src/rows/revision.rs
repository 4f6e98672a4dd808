//! Changes of scores by a run of `rescore`, or by the final data set.

use crate::board::Board;
use crate::receipt::verdict::{Ending, Receipt, Verdict};
use crate::rows::facts::{Fact, FinalOutcome};
use crate::submission::Submission;
use crate::upload::SubmissionId;
use crate::{Digest, Timestamp};

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
