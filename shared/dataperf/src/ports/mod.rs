//! What the core needs from the world: a bucket of objects, a table of leaderboards, and a key that signs receipts.

pub mod bucket;
pub mod leaderboard;
pub mod maintenance;
pub mod memory;
mod memory_signer;
pub mod signer;

use std::error::Error;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::rejection::{Reason, Rejection};

/// What every implementation of a port is marked with, so that its futures can be boxed.
pub use async_trait::async_trait;

/// A lock that a panic elsewhere does not poison: what it guards is changed as a whole.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a port could not do what it was asked. What an answer may legitimately be (no such object, a submission
/// that is finished already) is part of each operation's return type instead.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// Throttled, timed out or a server fault: the same call may succeed later.
    #[error("{what}: temporarily unavailable")]
    Transient {
        /// The operation and the place it concerned.
        what: String,
        /// The cause.
        source: Box<dyn Error + Send + Sync>,
    },
    /// Refused or misconfigured (no such bucket, no such table, no permission): it stays so until somebody acts.
    #[error("{what}: refused by the service; check its name, region and permissions")]
    Refused {
        /// The operation and the place it concerned.
        what: String,
        /// The cause.
        source: Box<dyn Error + Send + Sync>,
    },
    /// What is stored there does not have the documented form.
    #[error("{what}: the stored item is malformed: {why}")]
    Malformed {
        /// The place.
        what: String,
        /// What was expected.
        why: String,
    },
    /// The permission that came with the call has expired: whoever gave it can give another.
    #[error("{what}: the permission for it has expired")]
    Expired {
        /// The operation and the place it concerned.
        what: String,
    },
    /// The object exists, but is stored in a form that only its owner can read.
    #[error("{what}: {}", why.description())]
    Unreadable {
        /// The operation and the place it concerned.
        what: String,
        /// That form.
        why: Unreadable,
    },
}

/// The form in which an object is stored that can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    /// In an archive, from which it would have to be restored first.
    Archived,
    /// Encrypted with a key that the reader does not have.
    Encrypted,
}

impl Unreadable {
    /// The stable code of the rejection that an upload of this form ends with.
    pub fn code(self) -> &'static str {
        match self {
            Self::Archived => "archived",
            Self::Encrypted => "encrypted",
        }
    }

    /// What is the matter, and what to do.
    pub fn description(self) -> &'static str {
        match self {
            Self::Archived => {
                "the file is in an archive storage class, from which it can't be read: upload it again without a storage class, \
                 which means `STANDARD`"
            }
            Self::Encrypted => {
                "the file is encrypted with a key that the platform does not have: upload it again without encryption headers \
                 (no `SSE-C`, no KMS key); it is encrypted where it is stored"
            }
        }
    }
}

impl From<Unreadable> for Rejection {
    /// The rejection of an upload that its submitter has stored in this form.
    fn from(why: Unreadable) -> Self {
        Reason::new(why.code(), "", why.description()).into()
    }
}

impl PortError {
    /// Whether the same call may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Transient { .. })
    }
}
