//! Reads how much of somebody's daily allowances is used. Reading takes nothing.

use dataperf::Timestamp;
use dataperf::ports::PortError;

use crate::table::Table;
use crate::table::keys::Key;
use crate::table::reader::Reader;

/// The attribute that says how much of a day's allowance is taken.
pub const N_TAKEN: &str = "n_taken";

impl Key {
    /// The sort key for a submitter's use of the allowance `noun` on a day, such as `2026-03-01`.
    pub fn taken_of_day(benchmark: &str, submitter: &str, noun: &str, day: &str) -> Self {
        Self::new(format!("{benchmark}#quota#{submitter}"), format!("{noun}#{day}"))
    }
}

impl Table {
    /// How much of the allowance `noun` a submitter has used on the day of `at`.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn n_taken_of_day(
        &self,
        benchmark: &str,
        submitter: &str,
        noun: &str,
        at: Timestamp,
    ) -> Result<u64, PortError> {
        let key = Key::taken_of_day(benchmark, submitter, noun, &at.day());
        let item = self.item(key).await?;
        let n_taken = item
            .map(|item| Reader { item: &item }.number(N_TAKEN))
            .transpose()?;
        Ok(n_taken.flatten().unwrap_or_default())
    }

    /// Whether the organizer has named somebody a rater for a benchmark.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn is_rater(&self, benchmark: &str, name: &str) -> Result<bool, PortError> {
        let role = Key::new(format!("{benchmark}#rater#{name}"), "role");
        Ok(self.item(role).await?.is_some())
    }
}
