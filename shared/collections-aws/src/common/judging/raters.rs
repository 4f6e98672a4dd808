//! The raters: people whom the organizer has named.

use dataperf::Timestamp;
use dataperf::ports::PortError;
use dataperf_aws::{Key, Partition, Reader, Retry, SCHEMA, Step, Table, count, text};

use crate::common::collection::Collection;
use crate::common::items::items_of;

fn role<C: Collection>(rater: &str) -> Key {
    Key::new(C::SPACE.rater_partition(rater), "role")
}

pub(crate) fn mark<C: Collection>(rater: &str, item: &str) -> Key {
    Key::new(
        C::SPACE.rater_partition(rater),
        format!("{}#{item}", C::SPACE.item),
    )
}

/// Whether the organizer has named somebody a rater.
///
/// # Errors
/// [`PortError`].
pub async fn is_rater<C: Collection>(table: &Table, name: &str) -> Result<bool, PortError> {
    table.is_rater(C::SPACE.benchmark, name).await
}

/// Whether somebody has submitted an item.
///
/// # Errors
/// [`PortError`].
pub async fn is_participant<C: Collection>(table: &Table, name: &str) -> Result<bool, PortError> {
    Ok(!items_of::<C>(table, name, 1).await?.is_empty())
}

/// Names somebody a rater.
///
/// # Errors
/// [`PortError`].
pub async fn name_rater<C: Collection>(table: &Table, name: &str, at: Timestamp) -> Result<(), PortError> {
    let mut item = role::<C>(name).item();
    item.insert("schema".into(), count(SCHEMA.into()));
    item.insert("named_at".into(), text(at.to_string()));
    let mut retry = Retry::new(format!("rater `{name}`"));
    loop {
        let put = table.put(item.clone(), None);
        match table.transact(vec![(Step::Named("role"), put)]).await {
            Ok(()) => return Ok(()),
            Err(cancelled) => retry.cancelled(cancelled).await?,
        }
    }
}

/// The items that a rater has judged.
///
/// # Errors
/// [`PortError`].
pub async fn judged_by<C: Collection>(table: &Table, rater: &str) -> Result<Vec<C::Id>, PortError> {
    let items = table
        .query(&Partition::new(C::SPACE.rater_partition(rater)))
        .await?;
    let marks = items.iter().filter(|item| item.contains_key(C::SPACE.item));
    marks.map(|item| Reader { item }.parsed(C::SPACE.item)).collect()
}
