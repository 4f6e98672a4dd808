//! The standings of submitters in a round: a log of steps in the table, which a function caches.

use std::collections::BTreeMap;

use dataperf::ports::PortError;
use dataperf_aws::{Key, Partition, Reader, Table};

use crate::common::collection::{Collected, Collection};
use crate::common::items::json::parsed;

const STEP: &str = "step#";
/// The attribute of a step that changes several items at once.
pub(crate) const CHANGES: &str = "changes";
/// The most items that a function keeps in memory: each may have a vector of two kilobytes. Above it, the function forgets all before it reads more.
const MOST_KEPT: usize = 20_000;

pub(crate) fn standing_partition<C: Collection>(item: &Collected<C>) -> String {
    C::SPACE.standing_partition(&C::group(item))
}

pub(crate) fn edition_key<C: Collection>(item: &Collected<C>) -> Key {
    Key::new(standing_partition(item), "edition")
}

/// Steps sort by their numbers.
pub(crate) fn step_key(edition: u64) -> String {
    format!("{STEP}{edition:012}")
}

/// A submitter's standing in a round, with all items that count, including disqualified ones.
pub type Progress<C> =
    dataperf_collections::common::Progress<<C as Collection>::Id, <C as Collection>::State>;

/// The state of each item that a step changes.
pub(crate) type Changes<C> = Vec<(<C as Collection>::Id, Option<<C as Collection>::State>)>;

/// The standings of submitters, by their partitions. The cache outlives the judging of a file, so
/// each step is read once for many decisions.
#[derive(Debug)]
pub struct Standings<C: Collection> {
    known: BTreeMap<String, Progress<C>>,
    n_read: usize,
}

impl<C: Collection> Default for Standings<C> {
    fn default() -> Self {
        Self {
            known: BTreeMap::new(),
            n_read: 0,
        }
    }
}

impl<C: Collection> Standings<C> {
    /// How many items have been read so far.
    pub fn n_read(&self) -> usize {
        self.n_read
    }

    /// The standing of an item's submitter, after reading new steps.
    pub(crate) async fn load(
        &mut self,
        table: &Table,
        item: &Collected<C>,
    ) -> Result<&Progress<C>, PortError> {
        // the edition is read before the steps, because adding a step changes it
        let edition = table.item(edition_key(item)).await?;
        let (mut number, mut at) = (0, None);
        if let Some(item) = &edition {
            let reader = Reader { item };
            number = reader.number("edition")?.unwrap_or_default();
            at = Some(reader.parsed("decided_at")?);
        }
        let n_kept: usize = self.known.values().map(|standing| standing.validated.len()).sum();
        if n_kept > MOST_KEPT {
            self.known.clear();
        }
        let partition = standing_partition(item);
        let standing = self.known.entry(partition.clone()).or_default();
        if standing.edition > number {
            *standing = Progress::<C>::default(); // the table was restored
        }
        if standing.edition < number {
            let unread = Partition::new(&partition).after(step_key(standing.edition));
            let items = table.query(&unread).await?;
            self.n_read += items.len();
            for item in items {
                follow_item::<C>(standing, &Reader { item: &item }, number)?;
            }
            (standing.edition, standing.at) = (number, at);
        }
        Ok(standing)
    }

    /// Applies what a step has changed.
    pub(crate) fn follow(
        &mut self,
        item: &Collected<C>,
        (edition, at): (u64, dataperf::Timestamp),
        changes: Changes<C>,
    ) {
        if let Some(standing) = self.known.get_mut(&standing_partition(item)) {
            (standing.edition, standing.at) = (edition, Some(at));
            for (id, state) in changes {
                standing.change(id, state);
            }
        }
    }
}

/// Applies one item of the partition; a step after `last` is read the next time.
fn follow_item<C: Collection>(
    standing: &mut Progress<C>,
    reader: &Reader<'_>,
    last: u64,
) -> Result<(), PortError> {
    let has_one = reader.item.contains_key(C::SPACE.state);
    let state: Option<C::State> = has_one.then(|| parsed(reader, C::SPACE.state)).transpose()?;
    if reader.number::<u64>("edition")?.unwrap_or_default() <= last {
        if reader.item.contains_key(CHANGES) {
            let changes: Vec<(C::Id, C::State)> = parsed(reader, CHANGES)?;
            for (id, state) in changes {
                standing.change(id, Some(state));
            }
        } else {
            standing.change(reader.parsed(C::SPACE.item)?, state);
        }
    }
    Ok(())
}
