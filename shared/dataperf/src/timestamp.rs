//! Points in time, handed in from outside: this crate has no clock.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;

const FIXED_WIDTH: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");
const DAY_MILLIS: i64 = 86_400_000;
const LAST_MILLISECOND: i64 = 253_402_300_799_999; // 9999-12-31T23:59:59.999Z

/// Milliseconds since 1970 in UTC. Its text has a fixed width, so texts sort as the times do.
///
/// ```
/// use dataperf::Timestamp;
/// let time: Timestamp = "2026-03-01T12:00:00.250Z".parse()?;
/// assert_eq!(time.to_string(), "2026-03-01T12:00:00.250Z");
/// # Ok::<(), dataperf::InvalidTimestamp>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Timestamp(i64);

impl Timestamp {
    /// From milliseconds since 1970; what lies before that or after the year 9999 becomes the nearest end.
    pub fn from_unix_millis(millis: i64) -> Self {
        Self(millis.clamp(0, LAST_MILLISECOND))
    }

    /// Milliseconds since 1970.
    pub fn unix_millis(self) -> i64 {
        self.0
    }

    /// The day in UTC.
    ///
    /// ```
    /// let time: dataperf::Timestamp = "2026-02-28T23:59:59.999Z".parse()?;
    /// assert_eq!((time.day(), time.next_day().to_string()), ("2026-02-28".into(), "2026-03-01T00:00:00.000Z".into()));
    /// # Ok::<(), dataperf::InvalidTimestamp>(())
    /// ```
    pub fn day(self) -> String {
        self.to_string().chars().take(10).collect()
    }

    /// The beginning of the next day in UTC.
    #[must_use]
    pub fn next_day(self) -> Self {
        Self::from_unix_millis((self.0 / DAY_MILLIS + 1) * DAY_MILLIS)
    }
}

/// A text that is not a time in RFC 3339.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a time: expected RFC 3339 such as `2026-03-01T12:00:00.250Z`")]
pub struct InvalidTimestamp(String);

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let time = OffsetDateTime::parse(text, &Rfc3339)
            .map_err(|_| InvalidTimestamp(text.chars().take(80).collect()))?;
        Ok(Self::from_unix_millis(
            (time.unix_timestamp_nanos() / 1_000_000) as i64,
        ))
    }
}

impl TryFrom<String> for Timestamp {
    type Error = InvalidTimestamp;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Timestamp> for String {
    fn from(time: Timestamp) -> Self {
        time.to_string()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000_000)
            .map_err(|_| fmt::Error)?;
        f.write_str(&time.format(FIXED_WIDTH).map_err(|_| fmt::Error)?)
    }
}
