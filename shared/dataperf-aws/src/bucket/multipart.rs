//! Uploads in parts that no event has announced.
//!
//! For an object uploaded in parts, S3 reports the time at which the upload *began*, days or weeks
//! before it completed. Only the event carries the time of completion. The completion counts,
//! because the bytes could change until then. If the event is lost, the object counts from when a
//! sweep first saw it. Sweeps look for it however old it seems.

use std::collections::BTreeMap;

use dataperf::{SubmissionId, Timestamp, Upload};
use serde::{Deserialize, Serialize};

/// How many objects are remembered at most: as many as fit well into the item of the sweep's state. More wait until one of these is known.
const MAX_SEEN: usize = 4_000;
/// After this many milliseconds an object is deleted or long known: what was seen of it is forgotten.
const FORGOTTEN_MILLIS: i64 = 30 * 86_400_000;

/// Objects in parts that no event has announced, with the time at which a sweep first saw each.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct InParts(BTreeMap<SubmissionId, Timestamp>);

/// Whether an object came in parts: its entity tag ends with their number.
pub(crate) fn is_in_parts(upload: &Upload) -> bool {
    upload.e_tag.as_deref().is_some_and(|tag| tag.contains('-'))
}

impl InParts {
    /// The upload, if it has to be announced because the table does not know it. An upload in parts
    /// is due if it was first seen at `newest` or before, so that its event had time to arrive.
    /// That time becomes the upload's.
    pub(crate) fn due(
        &mut self,
        upload: Upload,
        is_known: bool,
        now: Timestamp,
        newest: Timestamp,
    ) -> Option<Upload> {
        if !is_in_parts(&upload) {
            return (!is_known).then_some(upload);
        }
        let id = upload.id();
        if is_known {
            self.0.remove(&id);
            return None;
        }
        if self.0.len() >= MAX_SEEN && !self.0.contains_key(&id) {
            return None;
        }
        let received_at = *self.0.entry(id).or_insert(now);
        (received_at <= newest).then_some(Upload {
            received_at,
            ..upload
        })
    }

    /// Forgets objects that were first seen long ago: they were deleted before the table knew them.
    pub(crate) fn forget(&mut self, now: Timestamp) {
        self.0
            .retain(|_, seen| now.unix_millis() - seen.unix_millis() < FORGOTTEN_MILLIS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    fn upload(e_tag: &str) -> Upload {
        Upload {
            bucket: "submissions".into(),
            key: "b/board/ada/x.zip".into(),
            version: Some("v".into()),
            e_tag: Some(e_tag.into()),
            received_at: Timestamp::from_unix_millis(0),
        }
    }

    fn at(hours: i64) -> Timestamp {
        Timestamp::from_unix_millis(10_000 * HOUR + hours * HOUR)
    }

    #[test]
    fn a_multipart_upload_counts_from_its_first_sighting() {
        let mut seen = InParts::default();
        let parts = upload("0f343b0931126a20f133d67c2b018a3b-2");
        let mut due = |hours: i64| seen.due(parts.clone(), false, at(hours), at(hours - 6));
        assert_eq!(due(0), None, "its event may still come");
        assert_eq!(due(5), None);
        let announced = due(7).expect("nobody else will announce it");
        assert_eq!(
            announced.received_at,
            at(0),
            "not from when it began, nor from now"
        );
        assert_eq!(due(8).expect("until it is known").received_at, at(0));
        assert_eq!(seen.due(parts.clone(), true, at(9), at(3)), None);
        assert_eq!(seen, InParts::default(), "and no longer remembered");
        seen.due(parts, false, at(9), at(3));
        seen.forget(at(9 + 24 * 29));
        assert_ne!(seen, InParts::default());
        seen.forget(at(9 + 24 * 30));
        assert_eq!(seen, InParts::default());
    }

    #[test]
    fn a_single_part_upload_keeps_its_own_time() {
        let mut seen = InParts::default();
        let whole = upload("0f343b0931126a20f133d67c2b018a3b");
        assert_eq!(seen.due(whole.clone(), false, at(0), at(0)), Some(whole.clone()));
        assert_eq!(seen.due(whole, true, at(0), at(0)), None);
    }
}
