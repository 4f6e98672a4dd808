//! What was taken of somebody's daily allowances. Whoever looks takes nothing.

use dataperf::Timestamp;
use dataperf::ports::PortError;

use crate::keys::Key;
use crate::reader::Reader;
use crate::table::Table;

/// The attribute that says how much of a day's allowance is taken.
pub const N_TAKEN: &str = "n_taken";

impl Key {
    /// What a submitter has taken on a day, such as `2026-03-01`, of what is counted as `what`.
    pub fn taken_of_day(benchmark: &str, submitter: &str, what: &str, day: &str) -> Self {
        Self::new(format!("{benchmark}#quota#{submitter}"), format!("{what}#{day}"))
    }
}

impl Table {
    /// How much a submitter has taken, on the day of `at`, of what is counted as `what`.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn n_taken_of_day(
        &self,
        benchmark: &str,
        submitter: &str,
        what: &str,
        at: Timestamp,
    ) -> Result<u64, PortError> {
        let key = Key::taken_of_day(benchmark, submitter, what, &at.day());
        let item = self.item(key).await?;
        let n_taken = item
            .map(|item| Reader { item: &item }.number(N_TAKEN))
            .transpose()?;
        Ok(n_taken.flatten().unwrap_or_default())
    }

    /// Whether the organizer has named somebody a rater of what a benchmark collects.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn is_rater(&self, benchmark: &str, name: &str) -> Result<bool, PortError> {
        let role = Key::new(format!("{benchmark}#rater#{name}"), "role");
        Ok(self.item(role).await?.is_some())
    }
}
