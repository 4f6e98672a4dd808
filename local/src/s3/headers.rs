//! The stored headers of a request, and its conditions.

use std::collections::BTreeMap;

use s3s::dto::{ETag, ETagCondition, Metadata, StorageClass, Timestamp};
use s3s::{S3Error, s3_error};
use serde::{Deserialize, Serialize};

/// Checksums of a whole object or part, in base64.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Checksums {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) crc32: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) crc32c: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) crc64nvme: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sha1: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sha256: Option<String>,
}

impl Checksums {
    /// Each algorithm's header with its value, if known.
    pub(crate) fn by_header(&self) -> [(&'static str, Option<&str>); 5] {
        [
            ("x-amz-checksum-crc32", self.crc32.as_deref()),
            ("x-amz-checksum-crc32c", self.crc32c.as_deref()),
            ("x-amz-checksum-crc64nvme", self.crc64nvme.as_deref()),
            ("x-amz-checksum-sha1", self.sha1.as_deref()),
            ("x-amz-checksum-sha256", self.sha256.as_deref()),
        ]
    }
}

/// Takes the checksum fields out of any S3 input.
macro_rules! take_checksums {
    ($input:expr) => {
        $crate::s3::headers::Checksums {
            crc32: $input.checksum_crc32.take(),
            crc32c: $input.checksum_crc32c.take(),
            crc64nvme: $input.checksum_crc64nvme.take(),
            sha1: $input.checksum_sha1.take(),
            sha256: $input.checksum_sha256.take(),
        }
    };
}

/// Sets the checksum fields of any S3 output.
macro_rules! set_checksums {
    ($output:expr, $checksums:expr) => {{
        let checksums = $checksums;
        $output.checksum_crc32 = checksums.crc32;
        $output.checksum_crc32c = checksums.crc32c;
        $output.checksum_crc64nvme = checksums.crc64nvme;
        $output.checksum_sha1 = checksums.sha1;
        $output.checksum_sha256 = checksums.sha256;
    }};
}
pub(crate) use {set_checksums, take_checksums};

/// The headers that are returned with an object.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ObjectHeaders {
    pub(crate) content_type: Option<String>,
    pub(crate) content_encoding: Option<String>,
    pub(crate) content_language: Option<String>,
    pub(crate) content_disposition: Option<String>,
    pub(crate) cache_control: Option<String>,
    pub(crate) expires: Option<Timestamp>,
    pub(crate) metadata: BTreeMap<String, String>,
    pub(crate) checksums: Checksums,
    /// The storage class, if it is not `STANDARD`.
    pub(crate) storage_class: Option<String>,
    /// The digest of the key that the client alone has. The body is stored unencrypted: the key only decides who can read it.
    pub(crate) sse_customer_key_md5: Option<String>,
}

/// Storage classes from which an object would have to be restored before it can be read.
const ARCHIVES: [&str; 2] = [StorageClass::GLACIER, StorageClass::DEEP_ARCHIVE];

impl ObjectHeaders {
    /// Refuses to read an object in an archive, or one without the key that it was stored with.
    pub(crate) fn check_readable(&self, sse_customer_key_md5: Option<&str>) -> Result<(), S3Error> {
        if self
            .storage_class
            .as_deref()
            .is_some_and(|class| ARCHIVES.contains(&class))
        {
            return Err(s3_error!(
                InvalidObjectState,
                "The operation is not valid for the object's storage class"
            ));
        }
        self.check_key(sse_customer_key_md5)
    }

    /// Refuses a request without the key that the object was stored with.
    pub(crate) fn check_key(&self, sse_customer_key_md5: Option<&str>) -> Result<(), S3Error> {
        match (self.sse_customer_key_md5.as_deref(), sse_customer_key_md5) {
            (Some(_), None) => Err(s3_error!(
                InvalidRequest,
                "The object was stored using a form of Server Side Encryption. The correct parameters must be provided to retrieve the object."
            )),
            (Some(stored), Some(sent)) if stored != sent => Err(s3_error!(AccessDenied)),
            _ => Ok(()),
        }
    }

    /// The metadata in the type that answers carry; `None` if there is none.
    pub(crate) fn metadata(&self) -> Option<Metadata> {
        let pairs = self
            .metadata
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()));
        (!self.metadata.is_empty()).then(|| pairs.collect())
    }
}

/// Takes the headers that are kept out of any S3 input.
macro_rules! take_headers {
    ($input:expr) => {
        $crate::s3::headers::ObjectHeaders {
            content_type: $input.content_type.take(),
            content_encoding: $crate::s3::headers::own_encoding($input.content_encoding.take()),
            content_language: $input.content_language.take(),
            content_disposition: $input.content_disposition.take(),
            cache_control: $input.cache_control.take(),
            expires: $input.expires.take(),
            metadata: $input.metadata.take().unwrap_or_default().into_iter().collect(),
            checksums: $crate::s3::headers::Checksums::default(),
            storage_class: $crate::s3::headers::own_class($input.storage_class.take()),
            sse_customer_key_md5: $input.sse_customer_key_md5.take(),
        }
    };
}
pub(crate) use take_headers;

/// The encoding of the object itself: `aws-chunked` says how it was sent, not what it is.
pub(crate) fn own_encoding(sent: Option<String>) -> Option<String> {
    let sent = sent?;
    let own: Vec<&str> = sent
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty() && *name != "aws-chunked")
        .collect();
    (!own.is_empty()).then(|| own.join(","))
}

/// The storage class, if it is not the usual one.
pub(crate) fn own_class(sent: Option<StorageClass>) -> Option<String> {
    sent.map(|class| class.as_str().to_owned())
        .filter(|class| class != StorageClass::STANDARD)
}

/// A write's conditions on the object that it replaces.
#[derive(Clone, Debug, Default)]
pub(crate) struct Preconditions {
    pub(crate) if_match: Option<ETagCondition>,
    pub(crate) if_none_match: Option<ETagCondition>,
}

impl Preconditions {
    /// Checks against the `ETag` of the current object, if there is one.
    pub(crate) fn check(&self, current: Option<&str>) -> Result<(), S3Error> {
        if let Some(condition) = &self.if_match {
            let Some(current) = current else {
                return Err(s3_error!(NoSuchKey));
            };
            if !matches(condition, current) {
                return Err(s3_error!(
                    PreconditionFailed,
                    "the object's `ETag` is `{current}`, not the one in `If-Match`"
                ));
            }
        }
        if let (Some(condition), Some(current)) = (&self.if_none_match, current)
            && matches(condition, current)
        {
            return Err(s3_error!(
                PreconditionFailed,
                "an object that `If-None-Match` excludes exists already"
            ));
        }
        Ok(())
    }
}

/// Whether `etag` meets the condition.
pub(crate) fn matches(condition: &ETagCondition, etag: &str) -> bool {
    match condition {
        ETagCondition::Any => true,
        ETagCondition::ETag(ETag::Strong(value) | ETag::Weak(value)) => value == etag,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_of_sending_is_no_encoding() {
        assert_eq!(own_encoding(Some("aws-chunked".into())), None);
        assert_eq!(
            own_encoding(Some("gzip, aws-chunked".into())).as_deref(),
            Some("gzip")
        );
        assert_eq!(own_encoding(Some("gzip".into())).as_deref(), Some("gzip"));
        assert_eq!(own_encoding(None), None);
    }

    #[test]
    fn conditions_compare_the_existing_entity_tag() {
        let only_if_absent = Preconditions {
            if_none_match: Some(ETagCondition::Any),
            if_match: None,
        };
        assert!(only_if_absent.check(None).is_ok());
        assert!(only_if_absent.check(Some("aa")).is_err());
        let only_if_same = Preconditions {
            if_match: Some(ETagCondition::ETag(ETag::Strong("aa".into()))),
            if_none_match: None,
        };
        assert!(only_if_same.check(Some("aa")).is_ok());
        assert!(only_if_same.check(Some("bb")).is_err());
        assert!(only_if_same.check(None).is_err());
    }
}
