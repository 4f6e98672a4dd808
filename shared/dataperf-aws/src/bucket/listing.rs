//! The versions under a prefix of a bucket, page by page, whatever characters their keys have.

use aws_sdk_s3::Client;
use aws_sdk_s3::types::{EncodingType, ObjectVersion};
use dataperf::ports::PortError;
use dataperf::{Timestamp, Upload};
use serde::{Deserialize, Serialize};

use crate::events::s3_event::decoded;
use crate::sdk::port_error::port_error;

/// The place where a listing continues.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// The last key.
    pub key: String,
    /// Its last version.
    pub version: Option<String>,
}

/// A part of a listing.
#[derive(Debug)]
pub struct Versions {
    /// In the order of their keys, without markers of deletion.
    pub uploads: Vec<Upload>,
    /// The beginning of the next page; `None` at the end.
    pub next: Option<Place>,
}

/// One page of the versions whose keys begin with `prefix`. Keys may have control characters, which
/// XML can't carry, so S3 encodes them. Entries that still can't be parsed are logged and left out.
///
/// # Errors
/// [`PortError`] when S3 does not answer.
pub async fn versions(
    client: &Client,
    bucket: &str,
    prefix: &str,
    after: Option<&Place>,
) -> Result<Versions, PortError> {
    let subject = || format!("listing `s3://{bucket}/{prefix}`");
    let request = client
        .list_object_versions()
        .bucket(bucket)
        .prefix(prefix)
        .encoding_type(EncodingType::Url)
        .set_key_marker(after.map(|place| place.key.clone()))
        .set_version_id_marker(after.and_then(|place| place.version.clone()));
    let page = request
        .send()
        .await
        .map_err(|error| port_error(subject(), error))?;
    let encoding = page.encoding_type().cloned();
    let key_of = |listed: Option<&str>| key_of(listed?, encoding.as_ref());
    let upload = |version: &ObjectVersion| {
        let upload = key_of(version.key()).and_then(|key| upload(bucket, key, version));
        if upload.is_none() {
            tracing::error!(
                bucket,
                key = version.key(),
                outcome = "fault",
                "skipped a version, because its entry in the list can't be read"
            );
        }
        upload
    };
    let uploads = page.versions().iter().filter_map(upload).collect();
    if page.is_truncated() != Some(true) {
        return Ok(Versions { uploads, next: None });
    }
    let key = key_of(page.next_key_marker()).ok_or_else(|| PortError::Malformed {
        subject: subject(),
        why: "it goes on, and does not say where".into(),
    })?;
    let version = page.next_version_id_marker().map(str::to_owned);
    Ok(Versions {
        uploads,
        next: Some(Place { key, version }),
    })
}

/// A listed key, or the beginning of one, without its encoding.
fn key_of(listed: &str, encoding: Option<&EncodingType>) -> Option<String> {
    if encoding == Some(&EncodingType::Url) {
        decoded(listed)
    } else {
        Some(listed.to_owned())
    }
}

/// The names directly below `prefix` that have something below them, without slashes, in any
/// characters. `prefix` ends with `/`.
///
/// # Errors
/// [`PortError`] when S3 does not answer.
pub async fn folders(client: &Client, bucket: &str, prefix: &str) -> Result<Vec<String>, PortError> {
    let subject = || format!("listing `s3://{bucket}/{prefix}`");
    let mut folders = Vec::new();
    let request = client.list_objects_v2().bucket(bucket).prefix(prefix);
    let mut pages = request
        .delimiter("/")
        .encoding_type(EncodingType::Url)
        .into_paginator()
        .send();
    while let Some(page) = pages.next().await {
        let page = page.map_err(|error| port_error(subject(), error))?;
        let below = page.common_prefixes().iter().filter_map(|below| below.prefix());
        folders.extend(below.filter_map(|below| {
            let below = key_of(below, page.encoding_type())?;
            Some(below.strip_prefix(prefix)?.strip_suffix('/')?.to_owned())
        }));
    }
    Ok(folders)
}

fn upload(bucket: &str, key: String, version: &ObjectVersion) -> Option<Upload> {
    Some(Upload {
        bucket: bucket.to_owned(),
        key,
        version: version.version_id().filter(|id| *id != "null").map(str::to_owned),
        e_tag: version.e_tag().map(|tag| tag.trim_matches('"').to_owned()),
        received_at: Timestamp::from_unix_millis(version.last_modified()?.to_millis().ok()?),
    })
}
