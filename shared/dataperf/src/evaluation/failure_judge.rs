//! The judge of a submission that the platform could not evaluate: its receipt says so, and that the fault is not theirs.

use crate::benchmark::descriptor::Descriptor;
use crate::challenge::Terms;
use crate::evaluation::workflow::{Judge, WorkflowError};
use crate::receipt::verdict::Verdict;
use crate::rejection::Reason;
use crate::submission::Submission;

pub use crate::receipt::fault::{Cause, FaultKind, UnknownFault};

/// The judge of an upload that the platform gives up: it has failed, whatever it holds. Its receipt is written like any
/// other, and a later delivery of its event finds that it has ended.
pub struct FailureJudge {
    /// The upload's benchmark.
    pub hosted: &'static Descriptor,
    /// The message for the submitter, of [`Cause::reason`].
    pub reason: Reason,
}

impl Judge for FailureJudge {
    fn hosted(&self) -> &'static Descriptor {
        self.hosted
    }

    fn projects(&self) -> bool {
        false
    }

    fn knows_challenge(&self) -> bool {
        false
    }

    fn terms(&self, submission: &Submission) -> Terms {
        // In which round it counts is decided when it is evaluated again.
        Terms::outside_any_challenge(&submission.submitter)
    }

    async fn judge(self, submission: &Submission, _terms: &Terms) -> Result<Verdict, WorkflowError> {
        let leaderboard = &submission.board.leaderboard;
        Ok(Verdict::failed(self.hosted.id, leaderboard, self.reason))
    }
}
