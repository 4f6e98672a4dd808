//! The mark of a benchmark whose rounds a function could not finish in its time, so that the caretaker has it go on within a minute.

use dataperf::Timestamp;
use dataperf::ports::PortError;

use crate::Table;
use crate::boards::comparisons::{TO_GO_ON, due_partition};
use crate::table::Condition;
use crate::table::items::{SCHEMA, count, text};
use crate::table::keys::Key;
use crate::table::reader::Reader;

/// The attribute that says when the mark was left.
const AT: &str = "at";

fn key(benchmark: &str) -> Key {
    Key::new(due_partition(benchmark), TO_GO_ON)
}

impl Table {
    /// Marks a benchmark whose rounds are not finished yet.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn mark_to_go_on(&self, benchmark: &str, at: Timestamp) -> Result<(), PortError> {
        let mut item = key(benchmark).item();
        item.insert("schema".into(), count(SCHEMA.into()));
        item.insert("benchmark".into(), text(benchmark));
        item.insert(AT.into(), text(at.to_string()));
        self.put_item(item).await
    }

    /// When a benchmark's mark was left; `None` without a mark.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn marked_to_go_on(&self, benchmark: &str) -> Result<Option<Timestamp>, PortError> {
        match self.item(key(benchmark)).await? {
            Some(item) => Reader { item: &item }.maybe(AT),
            None => Ok(None),
        }
    }

    /// Takes the mark away that was left `at` this time. A later one stays.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn unmark_to_go_on(&self, benchmark: &str, at: Timestamp) -> Result<(), PortError> {
        let same = Condition {
            text: "#at = :at",
            names: &[AT],
            values: vec![("at", text(at.to_string()))],
        };
        self.delete_item_if(key(benchmark), Some(same)).await
    }
}
