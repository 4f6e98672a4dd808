//! Daily limits and allowances: taken before the work, and returned if it is not done.

pub(crate) mod allowance;
pub(crate) mod reservation;

use dataperf::Timestamp;
use serde_json::json;

use crate::common::collection::Notes;

/// The entries of a receipt for a day's count of `noun`.
pub(crate) fn counted(noun: &str, n_taken: u64, limit: u64, at: Timestamp) -> Notes {
    Notes::from([
        (format!("{noun}_used"), json!(n_taken)),
        (format!("{noun}_a_day"), json!(limit)),
        (format!("{noun}_reset_at"), json!(at.next_day())),
    ])
}
