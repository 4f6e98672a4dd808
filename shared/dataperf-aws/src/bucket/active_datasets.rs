//! Changes the active data sets. Concurrent changes are not lost.

use dataperf::dataset::active::InForce;
use dataperf::dataset::frozen::FrozenError;
use dataperf::ports::PortError;

use crate::S3Bucket;
use crate::bucket::Tagged;
use crate::sdk::retry::Retry;

/// The largest object that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Reads a benchmark's active data sets, lets `change` modify them, and writes them if nobody else
/// wrote meanwhile; otherwise it starts again. `change` gets an error if the object is unusable,
/// and returns `None` to change nothing. Returns the result of `change`.
///
/// # Errors
/// Those of `change`, and a [`PortError`] when the bucket does not answer or others are faster many times in a row.
pub async fn change_in_force<E: From<PortError> + From<FrozenError>>(
    datasets: &S3Bucket,
    benchmark: &str,
    mut change: impl AsyncFnMut(Result<InForce, FrozenError>) -> Result<Option<InForce>, E>,
) -> Result<Option<InForce>, E> {
    let key = InForce::key(benchmark);
    let mut retry = Retry::new(format!("changing `{key}`"));
    loop {
        let current = datasets.get_tagged(&key, MAX_BYTES).await?;
        let before = match &current {
            None => Ok(InForce::default()),
            Some(Tagged { bytes, .. }) => InForce::parse(benchmark, bytes),
        };
        let Some(after) = change(before).await? else {
            return Ok(None);
        };
        let tag = current.as_ref().map(|current| current.tag.as_str());
        if datasets.put_if(&key, after.to_json(benchmark)?, tag).await? {
            return Ok(Some(after));
        }
        retry.changed().await?;
    }
}
