//! Whether an artifact that obeys the rules is scored: where its submitter's limits are used up, nothing is computed.

use crate::challenge::Terms;
use crate::ports::PortError;
use crate::ports::leaderboard::{Leaderboards, Submission};
use crate::rejection::Reason;

/// Whether a submission is scored.
#[derive(Clone, Copy)]
pub struct Admission<'a> {
    limited: Option<(&'a dyn Leaderboards, &'a Submission, &'a Terms)>,
}

impl<'a> Admission<'a> {
    /// It is: offline, and where it is scored again.
    pub fn free() -> Self {
        Self { limited: None }
    }

    /// As the limits of its terms say, against which the table counts it from now on.
    pub fn limited(leaderboards: &'a dyn Leaderboards, submission: &'a Submission, terms: &'a Terms) -> Self {
        Self {
            limited: Some((leaderboards, submission, terms)),
        }
    }

    /// Why it is not scored.
    ///
    /// # Errors
    /// [`PortError`] when the table does not answer.
    pub async fn refusal(&self) -> Result<Option<Reason>, PortError> {
        let Some((leaderboards, submission, terms)) = self.limited else {
            return Ok(None);
        };
        let over = leaderboards.reserve(submission, terms).await?;
        let leaderboard = &submission.board.leaderboard;
        Ok(over.map(|over| terms.limit_reason(over, leaderboard, submission.received_at)))
    }
}
