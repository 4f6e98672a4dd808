//! How far the sweep of a benchmark has come, kept in the table between runs.

use dataperf::Timestamp;
use dataperf::ports::PortError;
use serde::{Deserialize, Serialize};

use crate::bucket::listing::Place;
use crate::bucket::multipart::InParts;
use crate::table::Table;
use crate::table::items::{Item, SCHEMA, count, text};
use crate::table::keys::Key;

/// The state of a benchmark's sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    /// The last object that was looked at; `None` at the beginning of a listing.
    pub(crate) place: Option<Place>,
    /// When this listing began.
    pub(crate) began: Timestamp,
    /// Objects that were stored before this time were looked at by an earlier listing.
    pub(crate) checked_until: Timestamp,
    /// Objects in parts that no event has announced yet.
    pub(crate) in_parts: InParts,
    /// The mark after which the next sweep continues with unfinished submissions; `None` if the
    /// last one reached all marks.
    pub(crate) marks: Option<Key>,
}

impl Default for State {
    fn default() -> Self {
        let epoch = Timestamp::from_unix_millis(0);
        Self {
            place: None,
            began: epoch,
            checked_until: epoch,
            in_parts: InParts::default(),
            marks: None,
        }
    }
}

fn key(benchmark: &str) -> Key {
    Key {
        pk: format!("{benchmark}#sweep"),
        sk: "sweep".into(),
    }
}

/// The state that was saved last; `None` before the first sweep. A state that can't be read restarts the sweep.
pub(crate) async fn load(table: &Table, benchmark: &str) -> Result<Option<State>, PortError> {
    let item = table.item(key(benchmark)).await?;
    let state = item
        .as_ref()
        .and_then(|item| item.get("state"))
        .and_then(|state| state.as_s().ok());
    Ok(state.and_then(|state| serde_json::from_str(state).ok()))
}

/// Saves the state.
pub(crate) async fn save(table: &Table, benchmark: &str, state: &State) -> Result<(), PortError> {
    let json = serde_json::to_string(state).map_err(|error| PortError::Malformed {
        subject: "the state of the sweep".into(),
        why: error.to_string(),
    })?;
    let mut item: Item = key(benchmark).item();
    item.insert("schema".into(), count(SCHEMA.into()));
    item.insert("state".into(), text(json));
    table.put_item(item).await
}
