//! Daily allowances, which are counted apart from the limits of a round.

/// How much of something each person may use on a day, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DailyAllowance {
    /// The counted unit, such as `examples`.
    pub kind: &'static str,
    /// The words for it that people read, in the plural.
    pub title: &'static str,
    /// The word under which the table counts it.
    pub counted_as: &'static str,
    /// The most that a person may use on a day.
    pub limit: u64,
    /// Whether the allowance is for raters only.
    pub is_of_raters: bool,
}
