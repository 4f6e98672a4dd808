//! Cursors: where the next page begins, as one opaque word.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dataperf_aws::Cursor;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::problem::Problem;

/// A place in a list, and what has been counted up to there.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Place<C> {
    /// The key of the last line.
    pub(crate) at: Cursor,
    /// What the lines before come to.
    pub(crate) so_far: C,
}

impl<C: Serialize> Place<C> {
    pub(crate) fn word(&self) -> String {
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).unwrap_or_default())
    }
}

impl<C: DeserializeOwned> Place<C> {
    /// Reads a cursor that a caller sends back.
    pub(crate) fn parse(word: &str) -> Result<Self, Problem> {
        let bytes = URL_SAFE_NO_PAD.decode(word).ok();
        let place = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        place.ok_or_else(|| {
            let detail = "not a cursor of this API: send the `next` of the page before, or none to begin";
            Problem::not_found("unknown_cursor", "cursor", detail)
        })
    }
}
