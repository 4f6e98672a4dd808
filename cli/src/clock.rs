//! The clock, also of the commands that need no cloud.

use std::time::{SystemTime, UNIX_EPOCH};

use dataperf::Timestamp;

/// The time.
pub(crate) fn now() -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix_millis(i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX))
}
