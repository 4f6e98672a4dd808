//! Cursors: where the next page begins, as one opaque word that only this API can have written.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dataperf_aws::Cursor;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::Sha256;

use dataperf_http::Problem;

/// Bytes of a cursor's seal.
const SEAL_BYTES: usize = 16;

/// A place in a list, and what has been counted up to there.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Place<C> {
    /// The key of the last line.
    pub(crate) at: Cursor,
    /// What the lines before come to. Nothing but the seal vouches for it: counting anew would cost more with every page.
    pub(crate) so_far: C,
}

/// Seals cursors with a key (HMAC-SHA-256), so that ranks that go on from page to page can't be made up.
#[derive(Clone)]
pub(crate) struct Seal(Hmac<Sha256>);

impl Seal {
    /// The seal with a key of any length.
    pub(crate) fn new(key: &str) -> Result<Self, hmac::digest::InvalidLength> {
        Hmac::new_from_slice(key.as_bytes()).map(Self)
    }

    pub(crate) fn word<C: Serialize>(&self, place: &Place<C>) -> String {
        let json = serde_json::to_vec(place).unwrap_or_default();
        let mut mac = self.0.clone();
        mac.update(&json);
        let mut bytes = mac.finalize().into_bytes()[..SEAL_BYTES].to_vec();
        bytes.extend(json);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Reads a cursor that a caller sends back.
    pub(crate) fn open<C: DeserializeOwned>(&self, word: &str) -> Result<Place<C>, Problem> {
        let place = || {
            let bytes = URL_SAFE_NO_PAD.decode(word).ok()?;
            let (seal, json) = bytes.split_at_checked(SEAL_BYTES)?;
            let mut mac = self.0.clone();
            mac.update(json);
            mac.verify_truncated_left(seal).ok()?;
            serde_json::from_slice(json).ok()
        };
        place().ok_or_else(|| {
            Problem::bad_cursor(
                "not a cursor of this list: send the `next` of the page before as it is, or none to begin",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_sealed_here_is_refused() {
        let seal = Seal::new("key").expect("any length");
        let place = Place {
            at: Cursor::from([("pk".to_owned(), "p".to_owned())]),
            so_far: Some(0.5),
        };
        let word = seal.word(&place);
        assert_eq!(seal.open(&word).ok(), Some(place.clone()));
        let bytes = URL_SAFE_NO_PAD.decode(&word).expect("base64");
        let mut forged = bytes.clone();
        let at = forged
            .windows(3)
            .position(|three| three == b"0.5")
            .expect("a number");
        forged[at] = b'9';
        let unsealed = serde_json::to_vec(&place).expect("JSON");
        for forged in [
            forged,
            unsealed,
            bytes[1..].to_vec(),
            bytes[..8].to_vec(),
            Vec::new(),
        ] {
            let word = URL_SAFE_NO_PAD.encode(forged);
            assert!(seal.open::<Option<f64>>(&word).is_err(), "{word}");
        }
        let other = Seal::new("another").expect("any length");
        assert!(other.open::<Option<f64>>(&word).is_err());
        assert!(seal.open::<Option<f64>>("xyz").is_err());
    }
}
