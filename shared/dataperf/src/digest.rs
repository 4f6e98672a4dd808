//! SHA-256 digests, written `sha256:` and 64 hexadecimal digits in output and documents.

use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Bytes per read.
const BLOCK_BYTES: usize = 1 << 16;

/// The SHA-256 of some bytes: the name of a data set, of a frozen file or of an artifact.
///
/// ```
/// use dataperf::Digest;
/// let digest = Digest::compute(b"");
/// assert!(digest.to_string().starts_with("sha256:e3b0c442"));
/// assert_eq!(digest.to_string().parse(), Ok(digest));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    pub fn compute(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of everything that `from` gives, and how many bytes that is.
    ///
    /// # Errors
    /// The first of reading.
    pub fn of_all(mut from: impl Read) -> io::Result<(Self, u64)> {
        let (mut hasher, mut n_bytes) = (Sha256::new(), 0);
        let mut block = vec![0; BLOCK_BYTES];
        loop {
            let n = match from.read(&mut block) {
                Ok(0) => return Ok((Self::from_hasher(hasher), n_bytes)),
                Ok(n) => n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            hasher.update(&block[..n]);
            n_bytes += n as u64;
        }
    }

    /// The digest a streaming hasher has arrived at.
    pub fn from_hasher(hasher: Sha256) -> Self {
        Self(hasher.finalize().into())
    }

    /// A digest of these 32 bytes, such as a keyed one.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    pub fn bytes(self) -> [u8; 32] {
        self.0
    }

    /// The first eight bytes.
    pub(crate) fn first_8(self) -> [u8; 8] {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        [a, b, c, d, e, f, g, h]
    }

    /// The 64 hexadecimal digits without the `sha256:`, as object keys have them.
    pub fn hex(self) -> String {
        hex::encode(self.0)
    }
}

/// A text that is not `sha256:` and 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a digest: expected `sha256:` and 64 hexadecimal digits")]
pub struct InvalidDigest(String);

impl FromStr for Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidDigest(text.chars().take(80).collect());
        let digits = text.strip_prefix("sha256:").ok_or_else(invalid)?;
        let mut bytes = [0; 32];
        hex::decode_to_slice(digits, &mut bytes).map_err(|_| invalid())?;
        Ok(Self(bytes))
    }
}

impl TryFrom<String> for Digest {
    type Error = InvalidDigest;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
