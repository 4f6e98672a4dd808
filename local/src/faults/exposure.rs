//! The points at which faults may be injected. The other parts of the cloud call them with and
//! without the feature `faults`.

use std::time::Duration;

/// Which service a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    S3,
    Table,
    Lambda,
}

/// The fate of a new object's event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EventFate {
    /// The delay of each delivery from now; empty if the event is dropped.
    pub(crate) deliveries: Vec<Duration>,
    /// How much the event's time is wrong, in milliseconds.
    pub(crate) skew_ms: i64,
}

/// Resource limits for a function's new processes; `None` sets no limits.
#[cfg_attr(
    not(feature = "faults"),
    expect(unreachable_pub, reason = "of the feature's interface")
)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shortage {
    /// The most bytes of memory that a process may have; one that asks for more ends.
    pub memory_bytes: Option<u64>,
    /// The most bytes that a process may write to a file: 0 is a full disk.
    pub file_bytes: Option<u64>,
}

/// The session token in the credentials of a process, which tells its requests from all others.
pub(crate) fn token(function: &str, process: &str) -> String {
    format!("{function}/{process}")
}
