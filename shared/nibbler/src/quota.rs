//! How many sets of images a participant may have on a day.

use dataperf::{Reason, Timestamp};

/// The day, in UTC, that a request received at this time counts on, as the table's keys have it: `day#2026-03-01`.
///
/// ```
/// let time = "2026-03-01T23:59:59.999Z".parse()?;
/// assert_eq!(dataperf_nibbler::quota::day_key(time), "day#2026-03-01");
/// # Ok::<(), dataperf::InvalidTimestamp>(())
/// ```
pub fn day_key(received_at: Timestamp) -> String {
    format!("day#{}", received_at.day())
}

/// Why a request is refused on a day whose `sets_a_day` are used up.
pub fn used_up(at: &str, sets_a_day: u32, received_at: Timestamp) -> Reason {
    let (limit, next) = (u64::from(sets_a_day), received_at.next_day());
    let message = format!(
        "{limit} sets of images were made for you on this day, which is all: upload the request again from {next} on"
    );
    Reason::over("daily_limit", at, limit, limit + 1, message)
}
