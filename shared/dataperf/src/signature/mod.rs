//! Signed receipts and boards: over which bytes, how they are signed, and how anybody checks it without a data set.
//!
//! The signed text is a short line that names the digest of the receipt's canonical form, RFC 8785.
//! The form depends on values alone, not on blanks or the order of keys, so any JSON store can keep
//! a receipt. docs/wire-formats.md describes it for other languages.

mod keys;
mod memory_signer;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub(crate) use self::keys::spki;
pub use self::keys::{Keys, PublicKey, SignatureError};
pub use self::memory_signer::MemorySigner;
use crate::ports::PortError;
use crate::ports::signer::Signer;
use crate::{Digest, Timestamp};

/// ECDSA on the curve P-256 with SHA-256, as AWS KMS calls it.
pub const ALGORITHM: &str = "ECDSA_SHA_256";
/// The beginning of a receipt's signed line. It prevents using a signature of anything else for a
/// receipt.
const OF_RECEIPTS: &str = "dataperf-receipt/2";
/// The beginning of the signed line of a published board, whose `kind` is `board`.
const OF_BOARDS: &str = "dataperf-board/1";

/// The signer of a receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// [`ALGORITHM`].
    pub algorithm: String,
    /// When it was signed; the key must be valid at that time.
    pub signed_at: Timestamp,
    /// The id of the key, by which [`Keys`] has its public half.
    pub key: String,
    /// The signature, DER of the two numbers `r` and `s`, in base64.
    pub value: String,
}

/// The line that the signature of a receipt is over: `dataperf-receipt/2 sha256:` and 64 hexadecimal digits, of the canonical
/// form of the receipt whose `signature` lacks `key` and `value`. That of a published board begins with `dataperf-board/1`. The line has no line
/// feed.
///
/// # Errors
/// [`SignatureError::Malformed`] when `receipt` is no object with a `signature` that is one.
///
/// # Source
/// RFC 8785, "JSON Canonicalization Scheme".
///
/// # Examples
/// ```
/// use dataperf::signature::signed_message;
/// use serde_json::json;
/// let receipt = json!({ "score": 1.0, "schema": 2, "signature": { "signed_at": "t", "key": "k", "value": "v" } });
/// let other_form = json!({ "schema": 2, "score": 1, "signature": { "value": "", "signed_at": "t" } });
/// assert_eq!(signed_message(&receipt).unwrap(), signed_message(&other_form).unwrap());
/// ```
pub fn signed_message(receipt: &Value) -> Result<String, SignatureError> {
    let malformed = |why: &str| SignatureError::Malformed(why.to_owned());
    let mut receipt = receipt.clone();
    let signature = receipt.get_mut("signature").and_then(Value::as_object_mut);
    let signature = signature.ok_or_else(|| malformed("it has no object `signature`"))?;
    signature.remove("key");
    signature.remove("value");
    let canonical = serde_json_canonicalizer::to_vec(&receipt)
        .map_err(|error| malformed(&format!("it has no canonical form: {error}")))?;
    let purpose = if receipt["kind"] == "board" {
        OF_BOARDS
    } else {
        OF_RECEIPTS
    };
    Ok(format!("{purpose} {}", Digest::compute(&canonical)))
}

impl Signature {
    /// The signature of a receipt as JSON, `at` a time, in place of one that it has.
    ///
    /// # Errors
    /// The signer's [`PortError`].
    pub(crate) async fn sign(
        mut receipt: Value,
        signer: &dyn Signer,
        at: Timestamp,
    ) -> Result<Self, PortError> {
        receipt["signature"] = json!({ "algorithm": ALGORITHM, "signed_at": at });
        let message = signed_message(&receipt).map_err(|error| PortError::Malformed {
            subject: format!(
                "the receipt of `{}`",
                receipt["submission"].as_str().unwrap_or_default()
            ),
            why: error.to_string(),
        })?;
        let benchmark = receipt["benchmark"].as_str().unwrap_or_default();
        let signed = signer.sign(benchmark, message.as_bytes()).await?;
        Ok(Self {
            algorithm: ALGORITHM.into(),
            signed_at: at,
            key: signed.key,
            value: keys::base64(&signed.signature),
        })
    }
}
