//! How submitters stand in a round: a log of steps in the table, of which a function keeps what it has read.

use std::collections::BTreeMap;

use dataperf::ports::PortError;
use dataperf_aws::{Key, Partition, Reader, Table};
use dataperf_nibbler::{BENCHMARK, PairId, ValidatedPair};

use crate::decisions::Step;
use crate::pairs::{Pair, parsed};

const STEP: &str = "step#";
/// A function that knows so many pairs, each with a vector of two kilobytes, forgets all of them before it reads more.
const MOST_KEPT: usize = 20_000;

pub(crate) fn standing_partition(pair: &Pair) -> String {
    format!("{BENCHMARK}#standing#{}#{}", pair.round, pair.submitter)
}

pub(crate) fn edition_key(pair: &Pair) -> Key {
    Key::new(standing_partition(pair), "edition")
}

/// Steps sort by their numbers.
pub(crate) fn step_key(edition: u64) -> String {
    format!("{STEP}{edition:012}")
}

/// How a submitter stands in a round: with the pairs that raters have validated, disqualified ones too.
pub(crate) type Stands = dataperf_collection::Stands<PairId, ValidatedPair>;

/// How the submitters stand whose pairs are decided, by their partitions. It outlives the file that is judged: each step is read once,
/// however many decisions follow.
#[derive(Debug, Default)]
pub struct Standings {
    known: BTreeMap<String, Stands>,
    n_read: usize,
}

impl Standings {
    /// How many items have been read so far.
    pub fn n_read(&self) -> usize {
        self.n_read
    }

    /// How the submitter of a pair stands, after reading the steps that are not known yet.
    pub(crate) async fn of(&mut self, table: &Table, pair: &Pair) -> Result<&Stands, PortError> {
        // before the steps: whoever adds one changes it
        let edition = table.item(edition_key(pair)).await?;
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
        let partition = standing_partition(pair);
        let stands = self.known.entry(partition.clone()).or_default();
        if stands.edition > number {
            *stands = Stands::default(); // the table was restored
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
                follow_item(stands, &Reader { item: &item }, number)?;
            }
            (stands.edition, stands.at) = (number, at);
        }
        Ok(stands)
    }

    /// What a step has changed.
    pub(crate) fn follow(&mut self, pair: &Pair, step: &Step, validated: Option<ValidatedPair>) {
        if let Some(stands) = self.known.get_mut(&standing_partition(pair)) {
            (stands.edition, stands.at) = (step.edition, Some(step.at));
            stands.change(pair.id.clone(), validated);
        }
    }
}

/// Follows an item of the partition; a step after `last` is read the next time.
fn follow_item(stands: &mut Stands, reader: &Reader<'_>, last: u64) -> Result<(), PortError> {
    let has_one = reader.item.contains_key("validated");
    let validated: Option<ValidatedPair> = has_one.then(|| parsed(reader, "validated")).transpose()?;
    if !reader.text("sk")?.starts_with(STEP) {
        if let Some(validated) = validated {
            stands.change(validated.pair.clone(), Some(validated));
        }
    } else if reader.number::<u64>("edition")?.unwrap_or_default() <= last {
        stands.change(reader.parsed("pair")?, validated);
    }
    Ok(())
}
