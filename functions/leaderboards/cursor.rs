//! Cursors: where the next page begins, as one opaque word that only this API can have written.

use axum::extract::Query;
use axum::http::Uri;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dataperf_aws::Cursor;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::Sha256;

use dataperf_http::Problem;

/// Parameters that may change from page to page of one list.
const PER_PAGE: [&str; 4] = ["cursor", "format", "include", "limit"];

/// Bytes of a cursor's seal.
const SEAL_BYTES: usize = 16;

/// A place in a list, and what has been counted up to there.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Place<C> {
    /// The key of the last line.
    pub(crate) at: Cursor,
    /// What the lines before come to. Nothing but the seal vouches for it: counting again would cost more with every page.
    pub(crate) so_far: C,
}

/// Seals cursors with a key (HMAC-SHA-256), so that nobody can forge ranks that continue from page to page. A handler that takes one
/// gets the seal of the list that the request names: a cursor of another list doesn't open with it.
#[derive(Clone)]
pub(crate) struct Seal(Hmac<Sha256>);

impl Seal {
    /// The seal with a key of any length.
    pub(crate) fn new(key: &str) -> Result<Self, hmac::digest::InvalidLength> {
        Hmac::new_from_slice(key.as_bytes()).map(Self)
    }

    /// The seal of one list: its path, and the parameters that choose its lines.
    pub(crate) fn for_list(&self, uri: &Uri) -> Result<Self, Problem> {
        let Query(mut query) = Query::<Vec<(String, String)>>::try_from_uri(uri)
            .map_err(|rejection| Problem::bad_request("query", rejection.body_text()))?;
        query.retain(|(name, _)| !PER_PAGE.contains(&name.as_str()));
        query.sort();
        let mut mac = self.0.clone();
        mac.update(&serde_json::to_vec(&(uri.path(), query)).unwrap_or_default());
        Ok(Self(mac))
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
                "this is not a cursor of this list: send `next` of the previous page unchanged, or no cursor to begin",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_opens_only_in_its_own_list() {
        let key = Seal::new("key").expect("any length");
        let list = |uri: &'static str| key.for_list(&Uri::from_static(uri)).expect("a query");
        let place = Place {
            at: Cursor::from([("pk".to_owned(), "p".to_owned())]),
            so_far: (),
        };
        let word = list("/a/submissions?submitter=ada&round=r&limit=2").word(&place);
        let opens = |uri| list(uri).open::<()>(&word).is_ok();
        assert!(opens(
            "/a/submissions?cursor=x&limit=3&round=r&format=csv&submitter=ada"
        ));
        for other in [
            "/a/submissions?submitter=bo&round=r",
            "/a/submissions?submitter=ada",
            "/b/submissions?submitter=ada&round=r",
            "/a/failed?submitter=ada&round=r",
        ] {
            assert!(!opens(other), "{other}");
        }
    }

    #[test]
    fn a_foreign_cursor_is_refused() {
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
