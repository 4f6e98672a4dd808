//! The public keys of a platform, and checking a receipt with them.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ALGORITHM, Signature, signed_message};
use crate::Timestamp;

/// How a `SubjectPublicKeyInfo` of a point on P-256 begins: the algorithm, the curve, and the length of the point.
///
/// # Source
/// RFC 5480, section 2.
const P256_SPKI: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
/// The bytes of an uncompressed point.
const POINT_BYTES: usize = 65;

/// The public half of a key that receipts are signed with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicKey {
    /// The id that signatures name.
    pub id: String,
    /// [`ALGORITHM`].
    pub algorithm: String,
    /// The benchmarks whose receipts it signs, and those whose receipts it signed earlier, each
    /// with the end of that time.
    pub benchmarks: BTreeMap<String, Option<Timestamp>>,
    /// The key as `SubjectPublicKeyInfo` in DER, in base64: a PEM file without its two lines.
    pub public_key: String,
    /// Signatures from then on are valid.
    pub valid_from: Timestamp,
    /// Signatures before are valid; without it, the key is in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<Timestamp>,
}

/// The document `keys.json`: all keys that ever signed receipts, so that old receipts can be checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keys {
    /// The version of this document's form.
    pub schema: u32,
    /// The keys, the oldest first.
    pub keys: Vec<PublicKey>,
}

/// Why a receipt's signature does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The receipt has no signature.
    #[error(
        "the receipt is not signed, because versions before schema 2 did not sign: `dataperf challenge \
            release` signs it"
    )]
    Unsigned,
    /// It does not have the documented form.
    #[error("the receipt's signature can't be checked: {0}")]
    Malformed(String),
    /// The keys do not have the one that it names.
    #[error(
        "the signature names the key `{key}`, which these keys lack: use the platform's newest `keys.json`"
    )]
    UnknownKey {
        /// The id.
        key: String,
    },
    /// The key is not for receipts of this benchmark.
    #[error("the key `{key}` signs receipts of {}, this receipt is of `{benchmark}`", signs.join(", "))]
    OtherBenchmark {
        /// The key's id.
        key: String,
        /// The benchmarks that the key signs for.
        signs: Vec<String>,
        /// The receipt's benchmark.
        benchmark: String,
    },
    /// The key was not valid when the receipt was signed.
    #[error("the key `{key}` was not valid at {signed_at}, when the receipt was signed")]
    NotValidThen {
        /// The key's id.
        key: String,
        /// The time that the signature states.
        signed_at: Timestamp,
    },
    /// The signature belongs to another receipt, or to another key.
    #[error(
        "the signature does not match this receipt: somebody changed the receipt, or another key signed it"
    )]
    Mismatch,
}

impl Keys {
    /// The version of the form written today.
    pub const SCHEMA: u32 = 1;
    /// The document's key in the datasets bucket.
    pub const OBJECT_KEY: &'static str = "keys.json";

    /// Checks the signature of a receipt, whatever is in it.
    ///
    /// # Errors
    /// [`SignatureError`]; then nothing in the receipt is vouched for.
    pub fn check(&self, receipt: &Value) -> Result<Signature, SignatureError> {
        let malformed = |why: String| SignatureError::Malformed(why);
        let signature = receipt.get("signature").ok_or(SignatureError::Unsigned)?;
        let signature: Signature = serde_json::from_value(signature.clone())
            .map_err(|error| malformed(format!("`signature`: {error}")))?;
        if signature.algorithm != ALGORITHM {
            let other = format!(
                "its algorithm is `{}`, this version knows `{ALGORITHM}`",
                signature.algorithm
            );
            return Err(malformed(other));
        }
        let key = self.keys.iter().find(|key| key.id == signature.key);
        let key = key.ok_or_else(|| SignatureError::UnknownKey {
            key: signature.key.clone(),
        })?;
        if !key.is_valid_at(signature.signed_at) {
            return Err(SignatureError::NotValidThen {
                key: signature.key,
                signed_at: signature.signed_at,
            });
        }
        let benchmark = receipt
            .get("benchmark")
            .and_then(Value::as_str)
            .unwrap_or_default();
        match key.benchmarks.get(benchmark) {
            Some(Some(until)) if *until <= signature.signed_at => {
                return Err(SignatureError::NotValidThen {
                    key: signature.key,
                    signed_at: signature.signed_at,
                });
            }
            Some(_) => {}
            None => {
                return Err(SignatureError::OtherBenchmark {
                    key: signature.key,
                    signs: key.benchmarks.keys().cloned().collect(),
                    benchmark: benchmark.to_owned(),
                });
            }
        }
        let value = STANDARD.decode(&signature.value);
        let value = value.map_err(|error| malformed(format!("`signature/value`: {error}")))?;
        let point = key.point().map_err(malformed)?;
        let message = signed_message(receipt)?;
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point);
        let checked = key.verify(message.as_bytes(), &value);
        checked.map(|()| signature).map_err(|_| SignatureError::Mismatch)
    }

    /// Adds keys, and ends the validity of all others `at` a time unless it has ended before, of each key for the benchmarks that another one
    /// signs for by now.
    pub fn put_in_use(&mut self, in_use: &[PublicKey], others_until: Timestamp) {
        let signs = |id: &str, benchmark: &str| {
            let own = in_use.iter().filter(|key| key.id == id);
            own.flat_map(|key| key.benchmarks.keys())
                .any(|signed| signed == benchmark)
        };
        for key in in_use {
            self.add(key.clone());
        }
        for key in &mut self.keys {
            let mut is_in_use = false;
            for (benchmark, until) in &mut key.benchmarks {
                if signs(&key.id, benchmark) {
                    (*until, is_in_use) = (None, true);
                } else {
                    until.get_or_insert(others_until);
                }
            }
            if is_in_use {
                key.valid_until = None;
            } else {
                key.valid_until.get_or_insert(others_until);
            }
        }
    }

    /// Adds a key, or adds the benchmarks that it signs for to an existing key.
    pub fn add(&mut self, key: PublicKey) {
        let Some(known) = self.keys.iter_mut().find(|known| known.id == key.id) else {
            return self.keys.push(key);
        };
        for (benchmark, until) in key.benchmarks {
            known.benchmarks.entry(benchmark).or_insert(until);
        }
    }
}

impl Default for Keys {
    fn default() -> Self {
        Self {
            schema: Self::SCHEMA,
            keys: Vec::new(),
        }
    }
}

impl PublicKey {
    /// A key for receipts of one benchmark that is valid from a time on, from its `SubjectPublicKeyInfo` in DER.
    pub fn new(id: impl Into<String>, benchmark: &str, der: &[u8], valid_from: Timestamp) -> Self {
        Self {
            id: id.into(),
            algorithm: ALGORITHM.into(),
            benchmarks: BTreeMap::from([(benchmark.to_owned(), None)]),
            public_key: base64(der),
            valid_from,
            valid_until: None,
        }
    }

    fn is_valid_at(&self, at: Timestamp) -> bool {
        self.valid_from <= at && self.valid_until.is_none_or(|until| at < until)
    }

    /// The point of the curve that the key is.
    fn point(&self) -> Result<Vec<u8>, String> {
        let wrong = || {
            format!(
                "the key `{}` is not a public key of the curve P-256 in DER and base64",
                self.id
            )
        };
        let der = STANDARD.decode(&self.public_key).map_err(|_| wrong())?;
        let point = der
            .strip_prefix(&P256_SPKI)
            .filter(|point| point.len() == POINT_BYTES);
        point.map(<[u8]>::to_vec).ok_or_else(wrong)
    }
}

pub(super) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// A point of P-256 as `SubjectPublicKeyInfo` in DER. `point` has [`POINT_BYTES`] bytes, uncompressed.
pub(crate) fn spki(point: &[u8]) -> Vec<u8> {
    [&P256_SPKI[..], point].concat()
}
