//! Decides whether to score an artifact that obeys the rules. Nothing is computed if the
//! submitter's limits are used up or the name looks like another submitter's.

use crate::board::Board;
use crate::challenge::{Reserved, Terms};
use crate::ports::PortError;
use crate::rejection::Reason;
use crate::submission::Submission;
use crate::table::leaderboard::Leaderboards;
use crate::upload::submitter::BASELINE_PREFIX;

/// Whether a submission is scored.
#[derive(Clone, Copy)]
pub struct Admission<'a> {
    limited: Option<(&'a dyn Leaderboards, &'a Submission, &'a Terms)>,
}

impl<'a> Admission<'a> {
    /// Admits every submission: offline, and where a board is scored again.
    pub fn free() -> Self {
        Self { limited: None }
    }

    /// Admits a submission if the table can count it within the limits of its terms, and if its submitter's name looks like nobody else's.
    pub fn limited(leaderboards: &'a dyn Leaderboards, submission: &'a Submission, terms: &'a Terms) -> Self {
        Self {
            limited: Some((leaderboards, submission, terms)),
        }
    }

    /// Why the submission is not scored, or its program is not run; `None` if it is. From then on it is counted, if it has limits. One that was counted
    /// before is let in, however many others of its submitter have failed since: it is being evaluated, or may have been.
    ///
    /// # Errors
    /// [`PortError`] when the table does not answer.
    pub async fn refusal(&self) -> Result<Option<Reason>, PortError> {
        let place = self.place().await?;
        let (Ok(Reserved::Now | Reserved::Unlimited), Some((leaderboards, submission, terms))) =
            (&place, self.limited)
        else {
            return Ok(place.err());
        };
        // the organizer has it evaluated again, whatever has failed since
        if terms.daily_failures.is_none() || submission.is_reopened {
            return Ok(None);
        }
        let failed = failures(leaderboards, submission, terms).await?;
        let (leaderboard, at) = (&submission.board.leaderboard, submission.received_at);
        Ok(terms.failures_reason(failed, leaderboard, at))
    }

    /// How the submission is counted, or the reason why it is not admitted.
    async fn place(&self) -> Result<Result<Reserved, Reason>, PortError> {
        let Some((leaderboards, submission, terms)) = self.limited else {
            return Ok(Ok(Reserved::Unlimited));
        };
        if let Some(reason) = name_refusal(leaderboards, submission).await? {
            return Ok(Err(reason));
        }
        let (leaderboard, at) = (&submission.board.leaderboard, submission.received_at);
        let reserved = leaderboards.reserve(submission, terms).await?;
        Ok(match reserved {
            Reserved::OverLimit(over) => Err(terms.limit_reason(over, leaderboard, at)),
            Reserved::Now | Reserved::Before | Reserved::Unlimited => Ok(reserved),
        })
    }
}

/// How many uploads of its submitter have failed that day.
async fn failures(
    leaderboards: &dyn Leaderboards,
    submission: &Submission,
    terms: &Terms,
) -> Result<u64, PortError> {
    let counted_with = terms.failures(&Board {
        round: terms.round.clone(),
        ..submission.board.clone()
    });
    let (submitter, at) = (&submission.submitter, submission.received_at);
    Ok(leaderboards.usage(&counted_with, submitter, at).await?.day)
}

/// Notes the submitter's name. If it looks like another name, the reason does not reveal whose,
/// because a board may be hidden.
async fn name_refusal(
    leaderboards: &dyn Leaderboards,
    submission: &Submission,
) -> Result<Option<Reason>, PortError> {
    let Some(name) = submission.name() else {
        return Ok(None); // a key without a submitter has been rejected
    };
    let refused = |like: &str| {
        let message = format!(
            "`{name}` looks like {like}. `.`, `_` and `-` make no difference, nor do `l` and `1`, `o` and `0`, `m` and `rn`, \
             `w` and `vv`. Upload the file under another name"
        );
        Some(Reason::new("name_looks_alike", "key, part 3", message))
    };
    if name.looks_like_baseline() {
        let like = format!("a name that begins with `{BASELINE_PREFIX}`, which only the organizer may use");
        return Ok(refused(&like));
    }
    let (benchmark, at) = (&submission.board.benchmark, submission.received_at);
    let other = leaderboards.note_name(benchmark, &name, at).await?;
    Ok(other.and_then(|_| refused("the name of another submitter")))
}
