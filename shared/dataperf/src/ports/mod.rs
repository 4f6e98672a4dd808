//! The core's interfaces to services that know nothing of boards: a bucket of objects, and a key
//! that signs receipts. The interface to the table, which knows boards, is [`table`](crate::table).

pub mod bucket;
pub mod memory;
pub mod signer;

use std::error::Error;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::rejection::{Reason, Rejection};

/// The attribute of every port implementation, which boxes its futures.
pub use async_trait::async_trait;

/// A lock that a panic elsewhere does not poison: what it guards is changed as a whole.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a port failed. Expected answers (a missing object, a submission that is finished already)
/// are part of each operation's return type instead.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// Throttled, timed out or a server fault: the same call may succeed later.
    #[error("{subject}: temporarily unavailable")]
    Transient {
        /// The operation and the place it concerned.
        subject: String,
        /// The cause.
        source: Box<dyn Error + Send + Sync>,
    },
    /// Refused or misconfigured (no such bucket, no such table, no permission). A retry does not
    /// help until somebody acts.
    #[error("{subject}: refused by the service; check its name, region and permissions")]
    Refused {
        /// The operation and the place it concerned.
        subject: String,
        /// The cause.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The stored object does not have the documented form.
    #[error("{subject}: the stored item is malformed: {why}")]
    Malformed {
        /// The place.
        subject: String,
        /// The expected form.
        why: String,
    },
    /// The permission of the call has expired. Its issuer can give another.
    #[error("{subject}: the permission for it has expired")]
    Expired {
        /// The operation and the place it concerned.
        subject: String,
    },
    /// The object exists, but is stored in a form that only its owner can read.
    #[error("{subject}: {}", why.description())]
    Unreadable {
        /// The operation and the place it concerned.
        subject: String,
        /// The expected form.
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

    /// The problem and the remedy.
    pub fn description(self) -> &'static str {
        match self {
            Self::Archived => {
                "the file is in an archive storage class, and the platform can't read it: upload it again \
                    without a storage class, which means `STANDARD`"
            }
            Self::Encrypted => {
                "the platform has no key to decrypt the file, and the storage encrypts every file anyway: upload it again \
                    without encryption headers (no `SSE-C`, no KMS key)"
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
