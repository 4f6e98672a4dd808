//! Ids that reveal nothing about people, and the key that ids and pseudonyms are made with.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

const N_DIGITS: usize = 32;
/// The least length of a key.
const MIN_KEY_BYTES: usize = 16;

/// The organizer's secret from which ids and pseudonyms are made, so that nobody can work them out from what
/// they name.
#[derive(Clone)]
pub struct SecretKey(Vec<u8>);

/// A secret that is too short to be safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the secret key has {0} bytes: it needs at least {MIN_KEY_BYTES} random ones")]
pub struct WeakKey(usize);

impl SecretKey {
    /// A key of these bytes.
    ///
    /// # Errors
    /// [`WeakKey`] when there are too few of them.
    pub fn new(bytes: &[u8]) -> Result<Self, WeakKey> {
        if bytes.len() < MIN_KEY_BYTES {
            Err(WeakKey(bytes.len()))
        } else {
            Ok(Self(bytes.to_vec()))
        }
    }

    /// HMAC-SHA-256 over `purpose` and `parts`, each with its length in front, so that ("a", "bc") and ("ab", "c") differ.
    #[expect(clippy::missing_panics_doc, reason = "HMAC takes keys of any length")]
    pub fn mac(&self, purpose: &str, parts: &[&str]) -> String {
        #[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("any length will do");
        for part in std::iter::once(&purpose).chain(parts) {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part.as_bytes());
        }
        hex::encode(mac.finalize().into_bytes())
    }

    /// A person's name in public data: the same for the same role and person. It reveals nothing without the key.
    ///
    /// ```
    /// let key = dataperf_collections::common::SecretKey::new(&[7; 32])?;
    /// assert_eq!(key.pseudonym("submitter", "ada"), key.pseudonym("submitter", "ada"));
    /// assert_ne!(key.pseudonym("submitter", "ada"), key.pseudonym("rater", "ada"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pseudonym(&self, role: &str, name: &str) -> String {
        format!("{role}-{}", &self.mac("pseudonym", &[role, name])[..16])
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(…)")
    }
}

/// A text that is not 32 lowercase hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} is not an id: expected {N_DIGITS} lowercase hexadecimal digits", dataperf::quote(.0))]
pub struct InvalidId(String);

impl InvalidId {
    /// The error about a text, of which a hundred characters are kept.
    pub fn new(text: &str) -> Self {
        Self(text.chars().take(100).collect())
    }
}

/// Declares a type of ids, each of 32 lowercase hexadecimal digits.
macro_rules! id {
    ($(#[$about:meta])* $name:ident) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The 32 hexadecimal digits.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = crate::common::InvalidId;

            fn from_str(text: &str) -> Result<Self, crate::common::InvalidId> {
                if crate::common::is_id(text) { Ok(Self(text.to_owned())) } else { Err(crate::common::InvalidId::new(text)) }
            }
        }

        impl TryFrom<String> for $name {
            type Error = crate::common::InvalidId;

            fn try_from(text: String) -> Result<Self, crate::common::InvalidId> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}
pub(crate) use id;

/// Whether a text has the form of an id.
pub fn is_id(text: &str) -> bool {
    text.len() == N_DIGITS
        && text
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// The first 32 digits, as many as an id has.
pub fn short(mut digits: String) -> String {
    digits.truncate(N_DIGITS);
    digits
}

/// An id that is the same for the same `purpose` and `parts`, each with its length in front. Whoever knows these can compute it.
pub fn digest(purpose: &str, parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in std::iter::once(&purpose).chain(parts) {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    short(hex::encode(hasher.finalize()))
}
