//! The answers of the read API, as far as commands read them. docs/read-api.md and the page's `/api/v1/openapi.json` describe them.

use std::collections::BTreeMap;

use dataperf::board::Board as BoardId;
use dataperf::challenge::Announcement;
use dataperf::closing::finishing::FinalReport;
use dataperf::comparison::{Area, Line as ComparedLine};
use dataperf::receipt::released_score::Climb;
use dataperf::submission::{Entry, Submission as Stored, Withdrawal};
use dataperf::{Digest, Ending, Receipt, SubmissionId, SubmitterName, Timestamp, Upload};
use serde::Deserialize;

use crate::cloud::comparison::Summary;

/// The owner of a token.
#[derive(Debug, Deserialize)]
pub(crate) struct Who {
    /// `organizer` or `submitter`.
    pub(crate) role: String,
    /// The submitter's name; none for the organizer.
    pub(crate) submitter: Option<SubmitterName>,
    /// The time from which the token is no longer valid.
    pub(crate) expires_at: Timestamp,
}

/// A benchmark with its boards.
#[derive(Debug, Deserialize)]
pub(crate) struct Benchmark {
    pub(crate) leaderboards: Vec<OneBoard>,
    pub(crate) challenge: Option<Challenge>,
}

/// A board in a benchmark's list.
#[derive(Debug, Deserialize)]
pub(crate) struct OneBoard {
    pub(crate) name: String,
    pub(crate) round: String,
    /// The digits of its scores after the decimal point, where the data set says how many.
    pub(crate) digits: Option<u8>,
}

/// The challenge that is published.
#[derive(Debug, Deserialize)]
pub(crate) struct Challenge {
    /// The announcements that participants see by now, newest first.
    pub(crate) announcements: Vec<Announcement>,
    pub(crate) rounds: Vec<Round>,
}

/// A round.
#[derive(Debug, Deserialize)]
pub(crate) struct Round {
    pub(crate) id: String,
}

impl Benchmark {
    /// The digits of a board's scores, where its data set says how many.
    pub(crate) fn digits_of(&self, leaderboard: &str) -> Option<u8> {
        let mut boards = self.leaderboards.iter();
        boards.find(|board| board.name == leaderboard)?.digits
    }
}

/// A page of a history.
#[derive(Debug, Deserialize)]
pub(crate) struct History {
    pub(crate) submissions: Vec<Line>,
    pub(crate) next: Option<String>,
}

/// A submission in a history.
#[derive(Debug, Deserialize)]
pub(crate) struct Line {
    pub(crate) submission: SubmissionId,
    leaderboard: String,
    round: String,
    submitter: String,
    received_at: Timestamp,
    status: Status,
    score: Option<f64>,
    withdrawn_at: Option<Timestamp>,
    is_released: bool,
    withdrawal_reason: Option<String>,
    private: Option<Private>,
}

/// How far a submission has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Received,
    Scored,
    Accepted,
    Rejected,
    Failed,
}

/// The fields of a submission that only its submitter and the organizer see.
#[derive(Debug, Default, Deserialize)]
struct Private {
    key: Option<String>,
    #[serde(default)]
    withdrawals: Vec<Withdrawal>,
}

impl Line {
    /// Whether it was uploaded under this key.
    pub(crate) fn has_key(&self, key: &str) -> bool {
        let own = self.private.as_ref().and_then(|private| private.key.as_deref());
        own == Some(key)
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.status != Status::Received
    }

    /// The line as the table has it, as far as it is shown.
    pub(crate) fn entry(&self, benchmark: &str) -> Entry {
        let withdrawal = self.withdrawn_at.map(|at| Withdrawal {
            at,
            reason: self.withdrawal_reason.clone(),
            undone_at: None,
            undo_reason: None,
        });
        Entry {
            id: self.submission.clone(),
            board: BoardId {
                benchmark: benchmark.to_owned(),
                leaderboard: self.leaderboard.clone(),
                round: self.round.clone(),
            },
            submitter: self.submitter.clone(),
            received_at: self.received_at,
            is_baseline: is_baseline(&self.submitter),
            withdrawn_at: self.withdrawn_at,
            withdrawals: withdrawal.into_iter().collect(),
            ending: match self.status {
                Status::Received => None,
                Status::Scored => Some(Ending::Scored),
                Status::Accepted => Some(Ending::Accepted),
                Status::Rejected => Some(Ending::Rejected),
                Status::Failed => Some(Ending::Failed),
            },
            score: self.score,
            climb: self.is_released.then_some(Climb::Climbed),
            dataset: None,
        }
    }
}

fn is_baseline(submitter: &str) -> bool {
    submitter
        .parse()
        .is_ok_and(|name: SubmitterName| name.is_baseline())
}

/// A submission by itself.
#[derive(Debug, Deserialize)]
pub(crate) struct Submission {
    #[serde(flatten)]
    pub(crate) line: Line,
}

impl Submission {
    /// The submission as the table has it, with its receipt as far as that is shown.
    pub(crate) fn stored(self, benchmark: &str, receipt: Option<Receipt>) -> Stored {
        let entry = self.line.entry(benchmark);
        let private = self.line.private.unwrap_or_default();
        let of_receipt = |field: fn(&Receipt) -> Option<String>| receipt.as_ref().and_then(field);
        let upload = Upload {
            bucket: of_receipt(|receipt| Some(receipt.bucket.clone())).unwrap_or_default(),
            key: private.key.unwrap_or_default(),
            version: of_receipt(|receipt| receipt.version.clone()),
            e_tag: None,
            received_at: entry.received_at,
        };
        let mut stored = Stored::new(entry.board, entry.submitter, entry.is_baseline, upload);
        stored.id = entry.id;
        stored.withdrawn_at = entry.withdrawn_at;
        stored.withdrawals = private.withdrawals;
        stored.receipt = receipt;
        stored
    }
}

/// A page of a board.
#[derive(Debug, Deserialize)]
pub(crate) struct Board {
    /// The data set that it is scored with.
    pub(crate) dataset: Option<Digest>,
    pub(crate) digits: Option<u8>,
    /// The comparison of its rows.
    pub(crate) comparison: Option<Summary>,
    /// How the board of a final data set differs from the public one.
    pub(crate) finish: Option<FinalReport>,
    pub(crate) rows: Vec<Row>,
    pub(crate) next: Option<String>,
}

/// A row of a board.
#[derive(Debug, Deserialize)]
pub(crate) struct Row {
    pub(crate) rank: Option<usize>,
    is_baseline: bool,
    submitter: String,
    score: Option<f64>,
    is_released: bool,
    received_at: Timestamp,
    pub(crate) submission: SubmissionId,
    dataset: Option<Digest>,
    rank_interval: Option<(u32, u32)>,
    interval: Option<(f64, f64)>,
    n_submissions: Option<u32>,
    is_above_baselines: Option<bool>,
    #[serde(default)]
    area: Option<Area>,
    pub(crate) public_rank: Option<usize>,
    #[serde(default)]
    pub(crate) metrics: BTreeMap<String, f64>,
}

impl Row {
    /// The line of a board that the row shows.
    pub(crate) fn entry(&self, board: &BoardId) -> Entry {
        Entry {
            id: self.submission.clone(),
            board: board.clone(),
            submitter: self.submitter.clone(),
            received_at: self.received_at,
            is_baseline: self.is_baseline,
            withdrawn_at: None,
            withdrawals: Vec::new(),
            ending: Some(Ending::Scored),
            score: self.score,
            climb: self.is_released.then_some(Climb::Climbed),
            dataset: self.dataset,
        }
    }

    /// How it compares with the others; `None` while it has not been compared.
    pub(crate) fn line(&self) -> Option<ComparedLine> {
        Some(ComparedLine {
            ranks: self.rank_interval,
            interval: self.interval,
            n_submissions: self.n_submissions?,
            is_above_baselines: self.is_above_baselines,
            area: self.area,
        })
    }
}

/// A form that uploads one file.
#[derive(Debug, Deserialize)]
pub(crate) struct Form {
    pub(crate) url: String,
    /// The fields to send before the file, in this order.
    pub(crate) fields: Vec<Field>,
    /// The key that the file will have. No other upload has it.
    pub(crate) key: String,
    pub(crate) submitter: SubmitterName,
}

/// A field of a form.
#[derive(Debug, Deserialize)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) value: String,
}
