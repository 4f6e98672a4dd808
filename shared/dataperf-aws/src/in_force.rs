//! Changing which data sets are in force, so that several who do it at once lose nothing of each other.

use dataperf::frozen::FrozenError;
use dataperf::in_force::InForce;
use dataperf::ports::PortError;

use crate::S3Bucket;
use crate::bucket::Tagged;
use crate::retry::Retry;

/// The largest object that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Reads what is in force for a benchmark, lets `change` change it, and writes it on condition that nobody else has written meanwhile; if somebody
/// has, it begins again. `change` gets an error where the object can't be used, and gives `None` to leave everything as it is. Returns what `change`
/// gave.
///
/// # Errors
/// Those of `change`, and a [`PortError`] when the bucket does not answer or others are faster many times in a row.
pub async fn change_in_force<E: From<PortError> + From<FrozenError>>(
    datasets: &S3Bucket,
    benchmark: &str,
    mut change: impl AsyncFnMut(Result<InForce, FrozenError>) -> Result<Option<InForce>, E>,
) -> Result<Option<InForce>, E> {
    let key = InForce::key(benchmark);
    let mut retry = Retry::of(format!("changing `{key}`"));
    loop {
        let found = datasets.get_tagged(&key, MAX_BYTES).await?;
        let before = match &found {
            None => Ok(InForce::default()),
            Some(Tagged { bytes, .. }) => InForce::parse(benchmark, bytes),
        };
        let Some(after) = change(before).await? else {
            return Ok(None);
        };
        let tag = found.as_ref().map(|found| found.tag.as_str());
        if datasets.put_if(&key, after.to_json(benchmark)?, tag).await? {
            return Ok(Some(after));
        }
        retry.changed().await?;
    }
}
