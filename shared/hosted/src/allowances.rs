//! Limits that only extensions have: on the number of things a day, and on the size of files by their kind.

use dataperf::Descriptor;
use dataperf::Timestamp;
use dataperf::challenge::{Challenge, Terms};
use dataperf::dataset::DatasetError;
use dataperf::frozen::{FrozenError, Manifest};
use dataperf::in_force::{InForce, published_manifest};
use dataperf::ports::bucket::Bucket;
use dataperf_collection::DailyAllowance;

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
    if hosted.collects.is_none() {
        return Ok(Vec::new());
    }
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
    Ok(allowances(hosted.id, &manifest)?)
}

/// The daily allowances that a data set declares.
fn allowances(id: &str, manifest: &Manifest) -> Result<Vec<DailyAllowance>, FrozenError> {
    Ok(match id {
        dataperf_nibbler::BENCHMARK => manifest
            .parameters::<dataperf_nibbler::Parameters>()?
            .daily_allowances(),
        dataperf_text::BENCHMARK => manifest
            .parameters::<dataperf_text::Parameters>()?
            .daily_allowances(),
        _ => Vec::new(),
    })
}

/// The most bytes of a file that is uploaded to a leaderboard or as a kind of artifact.
pub fn max_bytes(hosted: &Descriptor, kind: &str) -> u64 {
    let of_kind = match hosted.id {
        dataperf_nibbler::BENCHMARK => kind.parse().ok().map(dataperf_nibbler::Kind::max_bytes),
        dataperf_text::BENCHMARK => kind.parse().ok().map(dataperf_text::Kind::max_bytes),
        _ => None,
    };
    of_kind.unwrap_or(hosted.max_artifact_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HOSTED;

    #[test]
    fn no_kind_has_a_larger_limit_than_its_benchmark_and_one_has_that_limit() {
        for hosted in HOSTED {
            let of_kinds: Vec<u64> = hosted.kinds.iter().map(|kind| max_bytes(hosted, kind)).collect();
            let most = of_kinds.iter().max().copied();
            assert_eq!(
                most.unwrap_or(hosted.max_artifact_bytes),
                hosted.max_artifact_bytes,
                "{}",
                hosted.id
            );
            assert_eq!(max_bytes(hosted, "no-such-kind"), hosted.max_artifact_bytes);
        }
        let smaller = |hosted: &&Descriptor| {
            let mut kinds = hosted.kinds.iter();
            kinds.any(|kind| max_bytes(hosted, kind) < hosted.max_artifact_bytes)
        };
        assert_eq!(
            HOSTED.iter().filter(smaller).count(),
            1,
            "requests for images are short"
        );
    }
}
