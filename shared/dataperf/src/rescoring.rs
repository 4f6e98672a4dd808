//! Scoring a board again, after its data set or its evaluator has changed: the functions do it, one submission after
//! another, each once in a pass.
//!
//! The organizer's command stores requests below `_/rescore/` in the submissions bucket, which are events for the
//! benchmark's function like any other. A request only names submissions of a pass that the table knows, so that
//! nobody who merely can upload can have anything scored again.

use serde::{Deserialize, Serialize};

use crate::benchmark::Benchmark;
use crate::challenge::Challenge;
use crate::dataset::{Dataset, DatasetError};
use crate::pipeline::{Outlets, PipelineError, judge, keep_receipt, level};
use crate::ports::bucket::{Bucket, Got};
use crate::ports::leaderboard::{Board, Submission};
use crate::ports::upkeep::{Order, Revised, Upkeep};
use crate::upload::{SubmissionId, UNNAMED};
use crate::{Digest, Receipt, Timestamp, Upload};

/// The folder of requests below the benchmark's, where no submitter's name can be.
const REQUESTS: &str = "rescore";
const MAX_REQUEST_BYTES: u64 = 1 << 20;

/// What an organizer asks a benchmark's function to score again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The leaderboard.
    pub leaderboard: String,
    /// The round.
    pub round: String,
    /// The pass it belongs to.
    pub run: String,
    /// The submissions.
    pub submissions: Vec<SubmissionId>,
}

impl Request {
    /// The folder of a benchmark's requests in the submissions bucket.
    pub fn folder(benchmark: &str) -> String {
        format!("{benchmark}/{UNNAMED}/{REQUESTS}/")
    }

    /// Whether an upload is a request.
    pub fn is_one(benchmark: &str, upload: &Upload) -> bool {
        upload.key.starts_with(&Self::folder(benchmark))
    }

    /// The request that was uploaded; `None` when it is gone or none, which is nobody's submission either.
    ///
    /// # Errors
    /// [`PipelineError::Port`] when the bucket does not answer.
    pub async fn read(submissions: &impl Bucket, upload: &Upload) -> Result<Option<Self>, PipelineError> {
        let got = submissions
            .get(&upload.key, upload.version.as_deref(), MAX_REQUEST_BYTES)
            .await?;
        Ok(match got {
            Got::Object(object) => serde_json::from_slice(&object.bytes).ok(),
            Got::Missing | Got::TooLarge { .. } => None,
        })
    }

    /// The board it is about.
    pub fn board(&self, benchmark: &str) -> Board {
        Board {
            benchmark: benchmark.into(),
            leaderboard: self.leaderboard.clone(),
            round: self.round.clone(),
        }
    }
}

/// What a function did for one submission of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Rescored {
    /// It has a new verdict.
    Recorded(Receipt),
    /// The pass has come to it before, or has come to its end, or there is nothing to score again.
    Settled,
}

/// Scores one submission again. `submissions` gives the bucket of a name; `dataset` the data set of a digest or the one
/// in force.
///
/// # Errors
/// [`PipelineError`]; the submission is as it was then.
pub async fn rescore<B, S, D, L, R, T>(
    request: &Request,
    id: &SubmissionId,
    challenge: Option<&Challenge>,
    submissions: impl Fn(&str) -> T,
    dataset: impl AsyncFnOnce(Option<Digest>) -> Result<D, DatasetError>,
    outlets: &Outlets<'_, L, R>,
    now: impl Fn() -> Timestamp,
) -> Result<Rescored, PipelineError>
where
    B: Benchmark,
    S: Bucket,
    D: AsRef<Dataset<B, S>>,
    L: Upkeep,
    R: Bucket,
    T: Bucket,
{
    let board = request.board(B::ID);
    let run = outlets.leaderboards.run(&board).await?;
    let is_current = run.is_some_and(|run| run.id == request.run && run.ended_at.is_none());
    let known = outlets.leaderboards.submission(B::ID, id).await?;
    let Some((known, old)) = known.filter(|_| is_current).and_then(ended) else {
        return Ok(Rescored::Settled);
    };
    let done = outlets.leaderboards.revision(&board, &request.run, id).await?;
    if known.board != board || known.withdrawn_at.is_some() || done.is_some() {
        keep_receipt(outlets.results, &old, level(challenge, &old, now())).await?; // should the delivery before this one have broken off at it
        return Ok(Rescored::Settled);
    }
    let upload = Upload {
        bucket: old.bucket.clone(),
        key: old.key.clone(),
        version: old.version.clone(),
        e_tag: None,
        received_at: old.received_at,
    };
    let pinned = challenge
        .and_then(|challenge| challenge.round(&board.round))
        .and_then(|round| round.dataset);
    let verdict = judge(
        &upload,
        &board.leaderboard,
        &submissions(&old.bucket),
        async || dataset(pinned).await,
    )
    .await?;
    let receipt = Receipt {
        revision: old.revision + 1,
        finished_at: now(),
        verdict,
        ..old
    };
    let order = Order {
        direction: B::DIRECTION,
        ranking: challenge.map_or_else(Default::default, |challenge| {
            challenge.ranking(&board.leaderboard)
        }),
    };
    let revised = outlets.leaderboards.revise(&receipt, order, &request.run).await?;
    let (receipt, rescored) = match revised {
        Revised::Recorded => (receipt.clone(), Rescored::Recorded(receipt)),
        Revised::Settled(receipt) => (receipt, Rescored::Settled),
    };
    keep_receipt(outlets.results, &receipt, level(challenge, &receipt, now())).await?;
    Ok(rescored)
}

/// A submission with its receipt, when it has ended.
fn ended(submission: Submission) -> Option<(Submission, Receipt)> {
    let receipt = submission.receipt.clone()?;
    Some((submission, receipt))
}
