//! What somebody may have of something on a day, which counts by itself, whatever a round limits.

/// How much of something there is for each person and day, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DailyAllowance {
    /// What is counted, such as `examples`.
    pub kind: &'static str,
    /// The same in words, in the plural.
    pub title: &'static str,
    /// Under which word the table counts it.
    pub counted_as: &'static str,
    /// How many a day there are.
    pub limit: u64,
    /// Whether only validators have it.
    pub is_of_validators: bool,
}
