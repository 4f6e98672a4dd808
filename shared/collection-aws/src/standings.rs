//! How submitters stand in a round: a log of steps in the table, of which a function keeps what it has read.

use std::collections::BTreeMap;

use dataperf::ports::PortError;
use dataperf_aws::{Key, Partition, Reader, Table};

use crate::collection::{Collected, Collection};
use crate::json::parsed;

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

/// How a submitter stands in a round: with all items that count, including disqualified ones.
pub type Stands<C> = dataperf_collection::Stands<<C as Collection>::Id, <C as Collection>::State>;

/// What a step leaves of each item that it changes.
pub(crate) type Changes<C> = Vec<(<C as Collection>::Id, Option<<C as Collection>::State>)>;

/// How submitters stand, by the partitions of their standings. It is kept longer than one file is judged, so that each step is read once, however
/// many decisions follow.
#[derive(Debug)]
pub struct Standings<C: Collection> {
    known: BTreeMap<String, Stands<C>>,
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

    /// How the submitter of an item stands, after reading the steps that are not known yet.
    pub(crate) async fn of(&mut self, table: &Table, item: &Collected<C>) -> Result<&Stands<C>, PortError> {
        // the edition is read before the steps: whoever adds a step changes it
        let edition = table.item(edition_key(item)).await?;
        let (mut number, mut at) = (0, None);
        if let Some(item) = &edition {
            let reader = Reader { item };
            number = reader.number("edition")?.unwrap_or_default();
            at = Some(reader.parsed("decided_at")?);
        }
        let n_kept: usize = self.known.values().map(|stands| stands.validated.len()).sum();
        if n_kept > MOST_KEPT {
            self.known.clear();
        }
        let partition = standing_partition(item);
        let stands = self.known.entry(partition.clone()).or_default();
        if stands.edition > number {
            *stands = Stands::<C>::default(); // the table was restored
        }
        if stands.edition < number {
            let steps = Partition::of(&partition);
            // what was recorded before there were steps is in front of them
            let unread = match stands.edition {
                0 => steps,
                known => steps.after(step_key(known)),
            };
            let items = table.query(&unread).await?;
            self.n_read += items.len();
            for item in items {
                follow_item::<C>(stands, &Reader { item: &item }, number)?;
            }
            (stands.edition, stands.at) = (number, at);
        }
        Ok(stands)
    }

    /// Applies what a step has changed.
    pub(crate) fn follow(
        &mut self,
        item: &Collected<C>,
        (edition, at): (u64, dataperf::Timestamp),
        changes: Changes<C>,
    ) {
        if let Some(stands) = self.known.get_mut(&standing_partition(item)) {
            (stands.edition, stands.at) = (edition, Some(at));
            for (id, state) in changes {
                stands.change(id, state);
            }
        }
    }
}

/// Applies one item of the partition; a step after `last` is read the next time.
fn follow_item<C: Collection>(
    stands: &mut Stands<C>,
    reader: &Reader<'_>,
    last: u64,
) -> Result<(), PortError> {
    let has_one = reader.item.contains_key(C::SPACE.state);
    let state: Option<C::State> = has_one.then(|| parsed(reader, C::SPACE.state)).transpose()?;
    if !reader.text("sk")?.starts_with(STEP) {
        if let Some((id, state)) = state.and_then(|state| Some((C::of_state(&state)?, state))) {
            stands.change(id, Some(state));
        }
    } else if reader.number::<u64>("edition")?.unwrap_or_default() <= last {
        if reader.item.contains_key(CHANGES) {
            let changes: Vec<(C::Id, C::State)> = parsed(reader, CHANGES)?;
            for (id, state) in changes {
                stands.change(id, Some(state));
            }
        } else {
            stands.change(reader.parsed(C::SPACE.item)?, state);
        }
    }
    Ok(())
}
