//! Why a data set can't be read, and why an artifact has no score.

use crate::dataset::frozen::FrozenError;
use crate::offer;
use crate::ports::PortError;
use crate::rejection::{Reason, Rejection, quote};

/// Why a data set could not be read.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// The bucket did not answer.
    #[error(transparent)]
    Port(#[from] PortError),
    /// The data set is missing or damaged.
    #[error(transparent)]
    Frozen(#[from] FrozenError),
}

/// Why an artifact has no score.
#[derive(Debug, thiserror::Error)]
pub enum NotScored {
    /// It breaks rules: for the submitter to fix.
    #[error("the artifact breaks {} rules", .0.n_reasons())]
    Rejected(Rejection),
    /// The data set can't be read: for the organizer to fix.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
}

impl NotScored {
    /// The rejection, if it is one.
    ///
    /// # Errors
    /// [`DatasetError`].
    pub fn rejection(self) -> Result<Rejection, DatasetError> {
        match self {
            Self::Rejected(rejection) => Ok(rejection),
            Self::Dataset(error) => Err(error),
        }
    }
}

impl From<Rejection> for NotScored {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

impl From<Reason> for NotScored {
    fn from(reason: Reason) -> Self {
        Self::Rejected(reason.into())
    }
}

impl From<FrozenError> for NotScored {
    fn from(error: FrozenError) -> Self {
        Self::Dataset(error.into())
    }
}

/// The rejection of an upload to a benchmark without an active data set.
pub fn no_leaderboard(benchmark: &str) -> Reason {
    let message = format!(
        "{benchmark} is not open yet: no data set is published. Check the name of the benchmark, or ask \
            the organizer when uploads begin"
    );
    Reason::new("unknown_leaderboard", "", message)
}

/// The rejection of an upload to a board that there is not, with the boards there are.
pub(crate) fn unknown_leaderboard<'a>(
    leaderboard: &str,
    known: impl IntoIterator<Item = &'a String>,
) -> Reason {
    let message = format!(
        "there is no leaderboard {}: {}",
        quote(leaderboard),
        offer(leaderboard, known)
    );
    Reason::new("unknown_leaderboard", "", message)
}
