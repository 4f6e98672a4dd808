//! The steps of standings, as decisions record them.

use dataperf::ports::PortError;
use dataperf::{Digest, Timestamp};
use dataperf_aws::{Key, Reader, Table};

use crate::common::collection::{Collected, Collection, Score};
use crate::common::items::json::parsed;
use crate::common::scores::standings::{standing_partition, step_key};

/// One step of a submitter's standing: the change that a decision makes, and the resulting scores.
#[derive(Debug, Clone, PartialEq)]
pub struct Step<C: Collection> {
    /// The item that it was about, or the first of several.
    pub item: C::Id,
    /// The item's submitter.
    pub submitter: String,
    /// The round.
    pub round: String,
    /// Its number among the submitter's steps in the round, from 1.
    pub edition: u64,
    /// When it was made; later for each edition.
    pub at: Timestamp,
    /// The data set whose rules the scores follow.
    pub dataset: Digest,
    /// The scores; empty if there are none yet, or the submitter is disqualified.
    pub scores: Vec<Score>,
    /// A random text in the ids of its scores' submissions. Without it, anybody could compute these
    /// ids from the item's id and identify the submitter.
    pub nonce: String,
}

/// Reads a recorded step; `None` if no step has this number.
///
/// # Errors
/// [`PortError`].
pub async fn step<C: Collection>(
    table: &Table,
    item: &Collected<C>,
    edition: u64,
) -> Result<Option<Step<C>>, PortError> {
    let key = Key::new(standing_partition(item), step_key(edition));
    let Some(stored) = table.item(key).await? else {
        return Ok(None);
    };
    let reader = Reader { item: &stored };
    reader.schema()?;
    Ok(Some(Step {
        item: reader.parsed(C::SPACE.item)?,
        submitter: item.submitter.clone(),
        round: item.round.clone(),
        edition,
        at: reader.parsed("decided_at")?,
        dataset: reader.parsed("dataset")?,
        scores: parsed(&reader, "scores")?,
        nonce: reader.text("nonce")?.into(),
    }))
}
