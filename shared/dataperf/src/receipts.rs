//! Where a receipt is written: below its submitter in the results bucket, after the table has recorded it.

use bytes::Bytes;

use crate::ports::PortError;
use crate::ports::bucket::{Bucket, Got, PutIfAbsent};
use crate::verdict::{Ending, Receipt};

/// The largest receipt that is read back.
const MAX_RECEIPT_BYTES: u64 = 4 << 20;

/// Writes a receipt unless it is there: the table holds the same facts, so every delivery would write the same. Only the
/// receipt of a failure is ever replaced, by what came of the submission when it was evaluated again.
///
/// # Errors
/// [`PortError`] when the bucket returns an error.
pub async fn write_receipt(results: &dyn Bucket, receipt: &Receipt) -> Result<(), PortError> {
    let mut json = serde_json::to_vec_pretty(receipt).map_err(|error| PortError::Malformed {
        what: format!("the receipt of `{}`", receipt.submission),
        why: error.to_string(),
    })?;
    json.push(b'\n');
    let (key, json) = (receipt.object_key(), Bytes::from(json));
    if results.put_if_absent(&key, json.clone()).await? == PutIfAbsent::Stored {
        return Ok(());
    }
    if let Got::Object(object) = results.get(&key, None, MAX_RECEIPT_BYTES).await?
        && serde_json::from_slice(&object.bytes).is_ok_and(|stored| is_superseded(&stored, receipt))
    {
        results.put(&key, json).await?;
    }
    Ok(())
}

/// Whether the stored receipt is of a failure that `receipt` came after.
fn is_superseded(stored: &Receipt, receipt: &Receipt) -> bool {
    stored.verdict.status == Ending::Failed
        && (receipt.verdict.status != Ending::Failed || receipt.finished_at > stored.finished_at)
}
