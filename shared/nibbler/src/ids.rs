//! Names that give nothing away: of sets of images, of images and of pairs.

use std::fmt;
use std::str::FromStr;

use hmac::{Hmac, Mac};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

const N_DIGITS: usize = 32;
/// A key is at least this long.
const MIN_KEY_BYTES: usize = 16;

/// The organizer's secret from which images' ids and pseudonyms are made, so that nobody can work them out from what
/// they name.
#[derive(Clone)]
pub struct SecretKey(Vec<u8>);

/// A secret that is too short to keep anything.
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

    /// HMAC-SHA-256 over `parts`, each with its length in front, which keeps ("a", "bc") and ("ab", "c") apart.
    fn mac(&self, purpose: &str, parts: &[&str]) -> String {
        #[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("any length will do");
        for part in std::iter::once(&purpose).chain(parts) {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part.as_bytes());
        }
        hex::encode(mac.finalize().into_bytes())
    }

    /// A person's name in public data: the same for the same person, and telling nothing without the key.
    ///
    /// ```
    /// let key = dataperf_nibbler::SecretKey::new(&[7; 32])?;
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

macro_rules! id {
    ($(#[$about:meta])* $name:ident) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The 32 hexadecimal digits.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                if is_id(text) { Ok(Self(text.to_owned())) } else { Err(InvalidId(text.chars().take(100).collect())) }
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;

            fn try_from(text: String) -> Result<Self, InvalidId> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id! {
    /// A set of images: one for each submitter and prompt, so that the same prompt again finds the same set.
    SetId
}
id! {
    /// An image as participants and raters know it. It can't be worked out from the provider or the other way round.
    ImageId
}
id! {
    /// A submitted pair of a prompt and an image.
    PairId
}

fn is_id(text: &str) -> bool {
    text.len() == N_DIGITS
        && text
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

fn short(mut digits: String) -> String {
    digits.truncate(N_DIGITS);
    digits
}

fn digest(purpose: &str, parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in std::iter::once(&purpose).chain(parts) {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    short(hex::encode(hasher.finalize()))
}

impl SetId {
    /// The set of a submitter's prompt, which is compared in its [canonical form](crate::prompt::canonical).
    ///
    /// ```
    /// use dataperf_nibbler::SetId;
    /// assert_eq!(SetId::of("ada", "a  horse"), SetId::of("ada", " a horse"));
    /// assert_ne!(SetId::of("ada", "a horse"), SetId::of("bob", "a horse"));
    /// ```
    pub fn of(submitter: &str, prompt: &str) -> Self {
        Self(digest("set", &[submitter, &crate::prompt::canonical(prompt)]))
    }
}

impl ImageId {
    /// The image that `provider` gave as its `index`-th for a set. Images listed by their ids are in an order that
    /// says nothing about providers.
    pub fn of(key: &SecretKey, set: &SetId, provider: &str, index: usize) -> Self {
        Self(short(
            key.mac("image", &[set.as_str(), provider, &index.to_string()]),
        ))
    }
}

impl PairId {
    /// The pair that an image belongs to: it has one submitter and one prompt, so submitting it again finds the first.
    /// The submitter's name is not in it, because pairs' ids are public and names can be guessed.
    pub fn of(image: &ImageId) -> Self {
        Self(digest("pair", &[image.as_str()]))
    }
}
