//! Identifies a caller, and decides what the caller may read.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use dataperf::Timestamp;
use dataperf::board::Board;
use dataperf::challenge::Challenge;
use dataperf::submission::Entry;
use dataperf_aws::Holder;

use crate::app::App;
use dataperf_http::{Problem, token};

/// The sender of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Caller {
    /// No token: what is public.
    Anonymous,
    /// Somebody with a token.
    Known(Holder),
}

impl Caller {
    /// Whether the answers are private to this caller, so that no cache on the way may keep them.
    pub(crate) fn is_known(&self) -> bool {
        matches!(self, Self::Known(_))
    }

    pub(crate) fn is_organizer(&self) -> bool {
        matches!(self, Self::Known(Holder::Organizer))
    }

    /// Whether this caller may see all that `submitter` may.
    pub(crate) fn acts_for(&self, submitter: &str) -> bool {
        match self {
            Self::Anonymous => false,
            Self::Known(Holder::Organizer) => true,
            Self::Known(Holder::Submitter(own)) => own.as_str() == submitter,
        }
    }

    /// The time until which this caller does not see the rows of a board, if so: the organizer sees
    /// every board.
    pub(crate) fn hidden_until(&self, challenge: Option<&Challenge>, board: &Board) -> Option<Timestamp> {
        let challenge = challenge.filter(|_| !self.is_organizer())?;
        challenge.hidden_until(board, dataperf_aws::now())
    }

    /// Submissions that can appear on a board are public, unless the board is hidden until its
    /// round closes. Only their submitter and the organizer can see the others.
    pub(crate) fn sees(&self, entry: &Entry, challenge: Option<&Challenge>) -> bool {
        let is_public = || entry.is_shown() && self.hidden_until(challenge, &entry.board).is_none();
        self.acts_for(&entry.submitter) || is_public()
    }

    /// Insists on the submitter or the organizer.
    pub(crate) fn must_act_for(&self, submitter: &str, subject: &str) -> Result<(), Problem> {
        match self {
            _ if self.acts_for(submitter) => Ok(()),
            Self::Anonymous => Err(Problem::no_token(format!(
                "only the submitter and the organizer can read {subject}: send `Authorization: Bearer TOKEN`"
            ))),
            Self::Known(_) => Err(Problem::not_yours(format!(
                "only the submitter and the organizer can read {subject}: use the token of that submitter"
            ))),
        }
    }

    /// Insists on the organizer.
    pub(crate) fn must_organize(&self) -> Result<(), Problem> {
        match self {
            _ if self.is_organizer() => Ok(()),
            Self::Anonymous => Err(Problem::no_token(
                "only the organizer can read this: send `Authorization: Bearer TOKEN`",
            )),
            Self::Known(_) => Err(Problem::not_yours(
                "only the organizer can read this: use the organizer's token",
            )),
        }
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let issued = token(&parts.headers, &app.table().await).await?;
        Ok(issued.map_or(Self::Anonymous, |issued| Self::Known(issued.holder)))
    }
}
