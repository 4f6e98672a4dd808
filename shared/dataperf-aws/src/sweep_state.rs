//! How far the sweep of a benchmark has come, kept in the table between runs.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use dataperf::Timestamp;
use dataperf::ports::PortError;
use serde::{Deserialize, Serialize};

use crate::fault::port_error;
use crate::in_parts::InParts;
use crate::items::{Item, text};
use crate::keys::Key;
use crate::listing::Place;

/// The state of a benchmark's sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    /// The last object that was looked at; `None` at the beginning of a listing.
    pub(crate) place: Option<Place>,
    /// When this listing began.
    pub(crate) began: Timestamp,
    /// Objects stored before were looked at by an earlier listing.
    pub(crate) checked_until: Timestamp,
    /// Objects in parts that no event has announced yet.
    #[serde(default)]
    pub(crate) in_parts: InParts,
}

impl Default for State {
    fn default() -> Self {
        let epoch = Timestamp::from_unix_millis(0);
        Self {
            place: None,
            began: epoch,
            checked_until: epoch,
            in_parts: InParts::default(),
        }
    }
}

fn key(benchmark: &str) -> Key {
    Key {
        pk: format!("{benchmark}#sweep"),
        sk: "sweep".into(),
    }
}

/// The state that was saved last; `None` before the first sweep. A state that can't be read is as none: the sweep begins anew.
pub(crate) async fn load(client: &Client, table: &str, benchmark: &str) -> Result<Option<State>, PortError> {
    let request = client
        .get_item()
        .table_name(table)
        .set_key(Some(key(benchmark).item()));
    let output = request.consistent_read(true).send().await;
    let item = output
        .map_err(|error| port_error(format!("reading table `{table}`"), error))?
        .item;
    let state = item
        .as_ref()
        .and_then(|item| item.get("state"))
        .and_then(|state| state.as_s().ok());
    Ok(state.and_then(|state| serde_json::from_str(state).ok()))
}

/// Saves the state.
pub(crate) async fn save(
    client: &Client,
    table: &str,
    benchmark: &str,
    state: &State,
) -> Result<(), PortError> {
    let json = serde_json::to_string(state).map_err(|error| PortError::Malformed {
        what: "the state of the sweep".into(),
        why: error.to_string(),
    })?;
    let mut item: Item = key(benchmark).item();
    item.insert(
        "schema".into(),
        AttributeValue::N(crate::items::SCHEMA.to_string()),
    );
    item.insert("state".into(), text(json));
    let sent = client
        .put_item()
        .table_name(table)
        .set_item(Some(item))
        .send()
        .await;
    sent.map(drop)
        .map_err(|error| port_error(format!("writing table `{table}`"), error))
}
