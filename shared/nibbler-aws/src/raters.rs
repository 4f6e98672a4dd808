//! Who judges: people whom the organizer has named, and who submit nothing themselves.

use dataperf::Timestamp;
use dataperf::ports::PortError;
use dataperf_aws::{Key, Partition, Reader, Retry, SCHEMA, Step, Table, count, text};
use dataperf_nibbler::{BENCHMARK, PairId};

use crate::pairs::pairs_of;

/// Where what concerns a rater is: its role, and a mark for each pair that it has judged.
pub fn rater_partition(rater: &str) -> String {
    format!("{BENCHMARK}#rater#{rater}")
}

/// The partition that every rater may read: the queue.
pub fn unjudged_partition() -> String {
    crate::pairs::queue_partition()
}

fn role(rater: &str) -> Key {
    Key::new(rater_partition(rater), "role")
}

pub(crate) fn mark(rater: &str, pair: &PairId) -> Key {
    Key::new(rater_partition(rater), format!("pair#{pair}"))
}

/// Whether the organizer has named somebody a rater.
///
/// # Errors
/// [`PortError`].
pub async fn is_rater(table: &Table, name: &str) -> Result<bool, PortError> {
    Ok(table.item(role(name)).await?.is_some())
}

/// Whether somebody has submitted a pair.
///
/// # Errors
/// [`PortError`].
pub async fn is_participant(table: &Table, name: &str) -> Result<bool, PortError> {
    Ok(!pairs_of(table, name, 1).await?.is_empty())
}

/// Names somebody a rater.
///
/// # Errors
/// [`PortError`].
pub async fn name_rater(table: &Table, name: &str, at: Timestamp) -> Result<(), PortError> {
    let mut item = role(name).item();
    item.insert("schema".into(), count(SCHEMA.into()));
    item.insert("named_at".into(), text(at.to_string()));
    let mut retry = Retry::of(format!("rater `{name}`"));
    loop {
        let put = table.put(item.clone(), None);
        match table.transact(vec![(Step::Named("role"), put)]).await {
            Ok(()) => return Ok(()),
            Err(cancelled) => retry.cancelled(cancelled).await?,
        }
    }
}

/// The pairs that a rater has judged.
///
/// # Errors
/// [`PortError`].
pub async fn judged_by(table: &Table, rater: &str) -> Result<Vec<PairId>, PortError> {
    let items = table.query(&Partition::of(rater_partition(rater))).await?;
    let marks = items.iter().filter(|item| item.contains_key("pair"));
    marks.map(|item| Reader { item }.parsed("pair")).collect()
}
