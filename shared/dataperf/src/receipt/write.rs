//! Writes receipts: below their submitter in the results bucket, after the table has recorded them.

use bytes::Bytes;

use crate::Timestamp;
use crate::benchmark::descriptor::Descriptor;
use crate::benchmark::feedback::Feedback;
use crate::ports::PortError;
use crate::ports::bucket::{Bucket, Got};
use crate::ports::signer::Signer;
use crate::receipt::redaction::Shown;
use crate::receipt::verdict::{Ending, Receipt};
use crate::signature::Signature;

/// The largest receipt that is read back.
pub const MAX_RECEIPT_BYTES: u64 = 4 << 20;

/// Writes a receipt in the `shown` form, signed `at` a time, unless it exists. The table holds the
/// same facts, so every delivery would write the same bytes. `hosted` describes the receipt's
/// benchmark. A stored receipt is replaced if its failed submission was evaluated again, if more
/// may be shown now, or if it was not signed.
///
/// # Errors
/// [`PortError`] when the signer or the bucket returns an error.
pub async fn write_receipt(
    results: &dyn Bucket,
    signer: &dyn Signer,
    receipt: &Receipt,
    hosted: &Descriptor,
    shown: Shown,
    at: Timestamp,
) -> Result<(), PortError> {
    let receipt = Receipt {
        schema: Receipt::SCHEMA,
        ..receipt.shown(shown, hosted)
    };
    let receipt = &signed(receipt, signer, at).await?;
    let mut json = serde_json::to_vec_pretty(receipt).map_err(|error| PortError::Malformed {
        subject: format!("the receipt of `{}`", receipt.submission),
        why: error.to_string(),
    })?;
    json.push(b'\n');
    let (key, json) = (receipt.object_key(), Bytes::from(json));
    if results.put_if_absent(&key, json.clone()).await? {
        return Ok(());
    }
    while let Got::Object(object) = results.get(&key, None, MAX_RECEIPT_BYTES).await?
        && serde_json::from_slice(&object.bytes).is_ok_and(|stored| is_superseded(&stored, receipt))
    {
        // what somebody else has stored meanwhile may be this receipt
        if results.put_over(&key, json.clone(), &object).await? {
            break;
        }
    }
    Ok(())
}

/// The receipt with a signature made `at` a time, in place of one that it has.
///
/// # Errors
/// The signer's [`PortError`].
pub async fn signed(receipt: Receipt, signer: &dyn Signer, at: Timestamp) -> Result<Receipt, PortError> {
    let json = serde_json::to_value(&receipt).map_err(|error| PortError::Malformed {
        subject: format!("the receipt of `{}`", receipt.submission),
        why: error.to_string(),
    })?;
    let signature = Signature::sign(json, signer, at).await?;
    Ok(Receipt {
        signature: Some(signature),
        ..receipt
    })
}

/// As [`write_receipt`], but looks first at the stored receipt: one that shows as much and is signed costs no signature. Says whether it wrote.
///
/// # Errors
/// As [`write_receipt`].
pub async fn write_where_it_shows_less(
    results: &dyn Bucket,
    signer: &dyn Signer,
    receipt: &Receipt,
    hosted: &Descriptor,
    shown: Shown,
    at: Timestamp,
) -> Result<bool, PortError> {
    let visible = receipt.shown(shown, hosted);
    if let Got::Object(object) = results
        .get(&visible.object_key(), None, MAX_RECEIPT_BYTES)
        .await?
        && serde_json::from_slice(&object.bytes).is_ok_and(|stored| !is_superseded(&stored, &visible))
    {
        return Ok(false);
    }
    write_receipt(results, signer, receipt, hosted, shown, at).await?;
    Ok(true)
}

/// Whether the stored receipt is of a failure that `receipt` came after, shows less of the same, or shows no more of the same and
/// is not signed.
fn is_superseded(stored: &Receipt, receipt: &Receipt) -> bool {
    let is_retried = stored.verdict.status == Ending::Failed
        && (receipt.verdict.status != Ending::Failed || receipt.finished_at > stored.finished_at);
    let is_same = stored.finished_at == receipt.finished_at;
    let shows_less = stored.feedback.is_some() && stored.feedback < receipt.feedback;
    // without a level it shows everything
    let shows_more = stored.feedback.unwrap_or(Feedback::Full) > receipt.feedback.unwrap_or(Feedback::Full);
    is_retried || is_same && (shows_less || stored.signature.is_none() && !shows_more)
}
