//! The events that S3 sends about new objects, in its own JSON.

use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

use crate::arns::{ACCOUNT_ID, REGION};

/// How an object came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Put,
    Post,
    Copy,
    CompleteMultipartUpload,
}

impl Origin {
    fn as_str(self) -> &'static str {
        match self {
            Self::Put => "Put",
            Self::Post => "Post",
            Self::Copy => "Copy",
            Self::CompleteMultipartUpload => "CompleteMultipartUpload",
        }
    }
}

/// A new version of an object.
#[derive(Clone, Debug)]
pub(crate) struct ObjectCreated<'a> {
    pub(crate) origin: Origin,
    pub(crate) bucket: &'a str,
    pub(crate) key: &'a str,
    /// `None` where the bucket has never kept versions.
    pub(crate) version_id: Option<&'a str>,
    pub(crate) n_bytes: u64,
    pub(crate) etag: &'a str,
    /// Grows with every write.
    pub(crate) seq: i64,
    pub(crate) created_ms: i64,
}

const MILLISECONDS: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");

/// A time as events and records show it: UTC with milliseconds.
pub(crate) fn timestamp(epoch_ms: i64) -> String {
    let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(epoch_ms) * 1_000_000)
        .unwrap_or(OffsetDateTime::UNIX_EPOCH);
    time.format(MILLISECONDS).unwrap_or_default()
}

/// The event for one new version, as a function receives it from the rule called `rule`.
pub(crate) fn s3_event(created: &ObjectCreated<'_>, rule: &str) -> Value {
    let mut object = json!({
        "key": percent_encoded(created.key, "+"),
        "size": created.n_bytes,
        "eTag": created.etag,
        "sequencer": format!("{:018X}", created.seq),
    });
    if let (Some(version_id), Some(object)) = (created.version_id, object.as_object_mut()) {
        object.insert("versionId".into(), version_id.into());
    }
    json!({"Records": [{
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "awsRegion": REGION,
        "eventTime": timestamp(created.created_ms),
        "eventName": format!("ObjectCreated:{}", created.origin.as_str()),
        "userIdentity": {"principalId": "local"},
        "requestParameters": {"sourceIPAddress": "127.0.0.1"},
        "responseElements": {
            "x-amz-request-id": format!("{:016X}", created.seq),
            "x-amz-id-2": "local",
        },
        "s3": {
            "s3SchemaVersion": "1.0",
            "configurationId": rule,
            "bucket": {
                "name": created.bucket,
                "ownerIdentity": {"principalId": ACCOUNT_ID},
                "arn": format!("arn:aws:s3:::{}", created.bucket),
            },
            "object": object,
        },
    }]})
}

/// A key in percent encoding: `/` stays, a space becomes `space`.
pub(crate) fn percent_encoded(key: &str, space: &str) -> String {
    use std::fmt::Write as _;
    key.bytes()
        .fold(String::with_capacity(key.len()), |mut encoded, byte| {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'*' | b'/' => {
                    encoded.push(char::from(byte));
                }
                b' ' => encoded.push_str(space),
                _ => {
                    let _ = write!(encoded, "%{byte:02X}");
                }
            }
            encoded
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_encoded_as_in_forms() {
        assert_eq!(
            percent_encoded("speech/en 25/a+b.json", "+"),
            "speech/en+25/a%2Bb.json"
        );
        assert_eq!(percent_encoded("münchen/100%", "+"), "m%C3%BCnchen/100%25");
    }

    #[test]
    fn an_event_has_the_fields_of_s3() {
        let created = ObjectCreated {
            origin: Origin::CompleteMultipartUpload,
            bucket: "submissions",
            key: "speech/a b.json",
            version_id: Some("v1"),
            n_bytes: 7,
            etag: "d41d",
            seq: 255,
            created_ms: 1_700_000_000_123,
        };
        let record = s3_event(&created, "speech")["Records"][0].clone();
        assert_eq!(record["eventName"], "ObjectCreated:CompleteMultipartUpload");
        assert_eq!(record["eventTime"], "2023-11-14T22:13:20.123Z");
        assert_eq!(record["s3"]["object"]["key"], "speech/a+b.json");
        assert_eq!(record["s3"]["object"]["versionId"], "v1");
        assert_eq!(record["s3"]["object"]["sequencer"], "0000000000000000FF");
        let unversioned = s3_event(
            &ObjectCreated {
                version_id: None,
                ..created
            },
            "speech",
        );
        assert!(
            unversioned["Records"][0]["s3"]["object"]
                .get("versionId")
                .is_none()
        );
    }
}
