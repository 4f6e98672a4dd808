//! Daily allowances, which are counted apart from the limits of a round.

use crate::challenge::{Challenge, Terms};
use crate::dataset::DatasetError;
use crate::descriptor::Descriptor;
use crate::in_force::{InForce, published_manifest};
use crate::ports::bucket::Bucket;
use crate::timestamp::Timestamp;

/// How much of something each person may use on a day, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DailyAllowance {
    /// What is counted, such as `examples`.
    pub kind: &'static str,
    /// The words for it that people read, in the plural.
    pub title: &'static str,
    /// The word under which the table counts it.
    pub counted_as: &'static str,
    /// The most that a person may use on a day.
    pub limit: u64,
    /// Whether the allowance is for validators only.
    pub is_of_validators: bool,
}

/// What everybody may do in a day, by the data set with which uploads at the time `at` are judged; empty if `hosted` collects
/// nothing or no data set is in force.
///
/// # Errors
/// [`DatasetError`] when the bucket does not answer, or the data set can't be read.
pub async fn daily_allowances(
    datasets: &impl Bucket,
    hosted: &Descriptor,
    challenge: Option<&Challenge>,
    at: Timestamp,
) -> Result<Vec<DailyAllowance>, DatasetError> {
    let Some(collects) = hosted.collects else {
        return Ok(Vec::new());
    };
    // All boards of a collection are in the same round, so the first board tells the data set; it does not depend on the submitter.
    let board = hosted.fixed.and_then(|fixed| fixed.leaderboards.first());
    let pinned = board.and_then(|board| Terms::of(challenge, board, "", at).dataset);
    let dataset = match pinned {
        Some(dataset) => Some(dataset),
        None => InForce::read(datasets, hosted.id)
            .await?
            .datasets()
            .into_iter()
            .next(),
    };
    let Some(dataset) = dataset else {
        return Ok(Vec::new());
    };
    let manifest = published_manifest(datasets, hosted.id, dataset).await?;
    Ok((collects.daily_allowances)(&manifest)?)
}
