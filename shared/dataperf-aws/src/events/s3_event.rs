//! The event S3 sends when an object is created.

use aws_lambda_events::s3::{S3Event, S3EventRecord};
use dataperf::{Timestamp, Upload};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::fault::Fault;

/// The characters that are percent-encoded in the keys of events.
const UNUSUAL: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'/');

/// The uploads an event announces, in its order. The test event that S3 sends when a notification is configured,
/// and records of anything but created objects, announce none.
///
/// # Errors
/// A [`Fault`] if the event is not from S3; it names the missing member.
pub fn uploads(event: &Value) -> Result<Vec<Upload>, Fault> {
    if event.get("Event").and_then(Value::as_str) == Some("s3:TestEvent") {
        return Ok(Vec::new());
    }
    let event = S3Event::deserialize(event).map_err(|error| Fault::event(error.to_string()))?;
    event
        .records
        .into_iter()
        .filter(is_creation)
        .map(upload)
        .collect()
}

/// The event that announces an upload, in the words of S3: what [`uploads`] reads back as the same.
pub fn announcement(upload: &Upload) -> Value {
    let mut object =
        json!({ "key": utf8_percent_encode(&upload.key, UNUSUAL).to_string().replace("%20", "+") });
    for (name, value) in [("versionId", &upload.version), ("eTag", &upload.e_tag)] {
        if let Some(value) = value {
            object[name] = value.as_str().into();
        }
    }
    json!({"Records": [{
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "eventTime": upload.received_at,
        "eventName": "ObjectCreated:Put",
        "userIdentity": {},
        "requestParameters": {},
        "responseElements": {},
        "s3": {"s3SchemaVersion": "1.0", "bucket": {"name": upload.bucket}, "object": object},
    }]})
}

fn is_creation(record: &S3EventRecord) -> bool {
    record
        .event_name
        .as_deref()
        .is_some_and(|name| name.trim_start_matches("s3:").starts_with("ObjectCreated:"))
}

fn upload(record: S3EventRecord) -> Result<Upload, Fault> {
    let absent = |noun: &str| Fault::event(format!("a record has no {noun}"));
    let object = record.s3.object;
    Ok(Upload {
        bucket: record.s3.bucket.name.ok_or_else(|| absent("bucket name"))?,
        key: key(&object.key.ok_or_else(|| absent("object key"))?)?,
        version: object.version_id.filter(|version| !version.is_empty()),
        e_tag: object.e_tag,
        received_at: Timestamp::from_unix_millis(record.event_time.timestamp_millis()),
    })
}

fn key(encoded: &str) -> Result<String, Fault> {
    decoded(encoded).ok_or_else(|| Fault::event(format!("the key `{encoded}` is not UTF-8")))
}

/// Decodes a key. Events, and listings on request, encode keys as in an HTML form: `+` is a space
/// and unusual characters are `%XX` of their UTF-8 bytes. `None` for other bytes.
pub(crate) fn decoded(key: &str) -> Option<String> {
    let spaced = key.replace('+', " ");
    let text = percent_decode_str(&spaced).decode_utf8().ok()?;
    Some(text.into_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(key: &str, name: &str) -> Value {
        json!({
            "eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": "us-east-1",
            "eventTime": "2026-03-01T12:00:00.250Z", "eventName": name,
            "userIdentity": {"principalId": "P"}, "requestParameters": {"sourceIPAddress": "127.0.0.1"},
            "responseElements": {},
            "s3": {"s3SchemaVersion": "1.0", "configurationId": "c", "bucket": {"name": "submissions", "arn": "a"},
                   "object": {"key": key, "size": 10, "eTag": "e", "versionId": "v1", "sequencer": "00"}}
        })
    }

    #[test]
    fn decodes_keys_as_s3_encodes_them() {
        for (encoded, key) in [
            ("b/en-25/ada/first+try.json", "b/en-25/ada/first try.json"),
            ("b/en-25/ada/1%2B1%3D2.json", "b/en-25/ada/1+1=2.json"),
            ("b/en-25/J%C3%BCrgen/100%25.json", "b/en-25/Jürgen/100%.json"),
        ] {
            let event = json!({"Records": [record(encoded, "ObjectCreated:Put")]});
            assert_eq!(uploads(&event).expect("an event")[0].key, key);
        }
    }

    #[test]
    fn an_announcement_reads_back_as_the_same_upload() {
        for key in [
            "b/en-25/ada/first try.json",
            "b/en-25/Jürgen/1+1=2 100%.json",
            "b/~*'()/\u{1F600}",
        ] {
            let upload = Upload {
                bucket: "submissions".into(),
                key: key.into(),
                version: Some("v+1/2".into()),
                e_tag: None,
                received_at: Timestamp::from_unix_millis(1_772_366_400_250),
            };
            assert_eq!(uploads(&announcement(&upload)), Ok(vec![upload.clone()]));
            let unversioned = Upload {
                version: None,
                e_tag: Some("e".into()),
                ..upload
            };
            assert_eq!(uploads(&announcement(&unversioned)), Ok(vec![unversioned]));
        }
    }

    #[test]
    fn takes_every_created_object_and_nothing_else() {
        let names = [
            "ObjectCreated:Put",
            "ObjectRemoved:Delete",
            "ObjectCreated:CompleteMultipartUpload",
            "ObjectCreated:Copy",
        ];
        let event = json!({"Records": names.map(|name| record("k", name))});
        let uploads = uploads(&event).expect("an event");
        assert_eq!(uploads.len(), 3);
        assert_eq!(uploads[0].received_at.to_string(), "2026-03-01T12:00:00.250Z");
        assert_eq!(
            super::uploads(&json!({"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "b"})),
            Ok(vec![])
        );
    }

    #[test]
    fn an_unsupported_event_explains_its_error() {
        for event in [
            json!({}),
            json!([]),
            json!({"Records": [{}]}),
            json!({"Records": [record("%ff", "ObjectCreated:Put")]}),
        ] {
            assert!(uploads(&event).is_err(), "{event}");
        }
    }
}
