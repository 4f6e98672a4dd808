//! Scoring a board again, after its data set or its evaluator has changed: the functions do it, one submission after
//! another, each once in a run.
//!
//! The organizer's command stores requests below `_/rescore/` in the submissions bucket, which are events for the
//! benchmark's function like any other. A request only names submissions of a run that the table knows, so that
//! nobody who merely can upload can have anything scored again.

use serde::{Deserialize, Serialize};

use crate::benchmark::descriptor::Descriptor;
use crate::board::Board;
use crate::challenge::{Challenge, Terms};
use crate::evaluation::admission::Admission;
use crate::evaluation::artifact_judge::{Evaluator, evaluated};
use crate::evaluation::workflow::{
    Again, Judge, Ports, WorkflowError, keep_receipt, settle_again, write_shown,
};
use crate::ports::PortError;
use crate::ports::bucket::{Bucket, Got};
use crate::ports::signer::Signer;
use crate::receipt::verdict::Verdict;
use crate::submission::Submission;
use crate::table::maintenance::Maintenance;
use crate::upload::{SubmissionId, UNNAMED};
use crate::{Digest, Receipt, Timestamp, Upload};

/// The folder of requests below the benchmark's, where no submitter's name can be.
const REQUESTS: &str = "rescore";
const MAX_REQUEST_BYTES: u64 = 1 << 20;

/// An organizer's request to a benchmark's function to score submissions again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The leaderboard.
    pub leaderboard: String,
    /// The round.
    pub round: String,
    /// The run it belongs to.
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

    /// The request that was uploaded; `None` if the object is missing or is not a request. Such an object is no submission either.
    ///
    /// # Errors
    /// [`WorkflowError::Port`] when the bucket does not answer.
    pub async fn read(submissions: &impl Bucket, upload: &Upload) -> Result<Option<Self>, WorkflowError> {
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

/// A function's result for one submission of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Rescored {
    /// It has a new verdict.
    Recorded(Receipt),
    /// The run has handled it already or has ended, or there is nothing to score again.
    Settled,
}

/// A run over a board that is going on.
pub struct RunOver<'a> {
    /// The organizer's request.
    pub request: &'a Request,
    /// The resources of the run.
    pub with: Rescorer<'a>,
}

/// The scorer of the submissions.
pub struct Rescorer<'a> {
    /// The challenge that is published, if one is.
    pub challenge: Option<&'a Challenge>,
    /// The submissions bucket of a name.
    pub submissions: &'a dyn Fn(&str) -> Box<dyn Bucket>,
    /// The table.
    pub table: &'a dyn Maintenance,
    /// The results bucket.
    pub results: &'a dyn Bucket,
    /// The signer of receipts.
    pub signer: &'a dyn Signer,
    /// The time.
    pub now: &'a dyn Fn() -> Timestamp,
}

impl RunOver<'_> {
    /// Evaluates one submission again, and records the new verdict in place of the old one.
    ///
    /// # Errors
    /// [`WorkflowError`]; the submission is as it was then.
    pub async fn rescore<E: Evaluator>(
        &self,
        id: &SubmissionId,
        evaluator: &E,
    ) -> Result<Rescored, WorkflowError> {
        let board = self.request.board(evaluator.hosted().id);
        let run = self.with.table.run(&board).await?;
        let is_current = run.is_some_and(|run| run.id == self.request.run && run.ended_at.is_none());
        if !is_current {
            return Ok(Rescored::Settled);
        }
        let round = self
            .with
            .challenge
            .and_then(|challenge| challenge.round(&board.round));
        let pinned = round.and_then(|round| round.dataset_at((self.with.now)()));
        self.with
            .rescore(&board, id, pinned, &self.request.run, evaluator)
            .await
    }
}

impl Rescorer<'_> {
    /// Evaluates one submission of a board again, with `dataset` or with the active data set. The
    /// new verdict replaces the old one. The run notes it once.
    pub(crate) async fn rescore<E: Evaluator>(
        &self,
        board: &Board,
        id: &SubmissionId,
        dataset: Option<Digest>,
        run: &str,
        evaluator: &E,
    ) -> Result<Rescored, WorkflowError> {
        let hosted = evaluator.hosted();
        let known = self.table.submission(&board.benchmark, id).await?;
        let Some((known, old)) = known.and_then(ended) else {
            return Ok(Rescored::Settled);
        };
        let done = self.table.revision(board, run, id).await?;
        if known.board != *board || known.withdrawn_at.is_some() || done.is_some() {
            // should the delivery before this one have broken off at it
            write_shown(&old, hosted, self.challenge, self.ports()).await?;
            return Ok(Rescored::Settled);
        }
        let judge = AgainJudge {
            evaluator,
            dataset,
            challenge: self.challenge,
            submissions: &*(self.submissions)(&old.bucket),
        };
        let ranking = self.challenge.map_or_else(Default::default, |challenge| {
            challenge.ranking(&board.leaderboard)
        });
        let again = Again {
            table: self.table,
            run,
            ranking,
        };
        let settled = settle_again(&known, judge, again, self.ports()).await?;
        Ok(if settled.recorded {
            Rescored::Recorded(settled.receipt)
        } else {
            Rescored::Settled
        })
    }

    /// Writes the receipt of a submission that has ended, in case the function that recorded it stopped before it wrote the receipt.
    pub(crate) async fn keep_receipt(&self, id: &SubmissionId, hosted: &Descriptor) -> Result<(), PortError> {
        keep_receipt(id, hosted, self.challenge, self.ports()).await
    }

    fn ports(&self) -> Ports<'_> {
        Ports {
            leaderboards: self.table,
            results: self.results,
            signer: self.signer,
            now: self.now,
        }
    }
}

/// Judges a submission that has ended before, by its artifact.
struct AgainJudge<'a, E> {
    evaluator: &'a E,
    /// The data set, or without it the active one.
    dataset: Option<Digest>,
    challenge: Option<&'a Challenge>,
    submissions: &'a dyn Bucket,
}

impl<E: Evaluator> Judge for AgainJudge<'_, E> {
    fn hosted(&self) -> &'static Descriptor {
        self.evaluator.hosted()
    }

    fn terms(&self, submission: &Submission) -> Terms {
        let round = self
            .challenge
            .and_then(|challenge| challenge.round(&submission.board.round));
        Terms::again(round, &submission.board, &submission.submitter, self.dataset)
    }

    fn challenge(&self) -> Option<Challenge> {
        self.challenge.cloned()
    }

    async fn judge(self, submission: &Submission, terms: &Terms) -> Result<Verdict, WorkflowError> {
        let free = Admission::free();
        let verdict = evaluated(self.evaluator, submission, terms, self.submissions, &free).await?;
        // read, and judged without a data set: its board is not active any more
        if verdict.artifact.is_some() && verdict.dataset.is_none() {
            let message = format!(
                "`{}` has no active data set, so its scores stay as they are: publish one and score the board again",
                submission.board.leaderboard
            );
            return Err(WorkflowError::organizer(message));
        }
        Ok(verdict)
    }
}

/// A submission with its receipt, when it has ended.
fn ended(submission: Submission) -> Option<(Submission, Receipt)> {
    let receipt = submission.receipt.clone()?;
    Some((submission, receipt))
}
