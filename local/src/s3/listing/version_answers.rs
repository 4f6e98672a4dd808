//! The answers that list versions and uploads under way.

use s3s::dto::{
    DeleteMarkerEntry, ETag, ListObjectVersionsInput, ListObjectVersionsOutput, ObjectVersion,
    ObjectVersionStorageClass,
};

use super::answers::{Shown, n_max, position_key};
use super::list::{Position, Query};
use crate::s3::failure::Failure;
use crate::s3::index::Version;
use crate::s3::objects::last_modified;
use crate::s3::store::Store;

impl Store {
    pub(crate) async fn list_versions(
        &self,
        input: ListObjectVersionsInput,
    ) -> Result<ListObjectVersionsOutput, Failure> {
        let shown = Shown::new(input.encoding_type.as_ref());
        let (n_max, max_keys) = n_max(input.max_keys)?;
        let after = match (
            input.key_marker.clone().filter(|key| !key.is_empty()),
            input.version_id_marker.clone(),
        ) {
            (Some(key), Some(version_id)) if !version_id.is_empty() => {
                Position::AfterVersion { key, version_id }
            }
            (Some(key), _) => Position::After(key),
            (None, _) => Position::Start,
        };
        let query = Query {
            bucket: input.bucket.clone(),
            prefix: input.prefix.clone().unwrap_or_default(),
            delimiter: input.delimiter.clone().unwrap_or_default(),
            after,
            max_keys: n_max,
            all_versions: true,
        };
        let page = self.page(query).await?;
        let (markers, versions): (Vec<&Version>, Vec<&Version>) =
            page.versions.iter().partition(|version| version.is_delete_marker);
        let (next_key_marker, next_version_id_marker) = match page.truncated_at.clone() {
            Some(Position::AfterVersion { key, version_id }) => (Some(shown.key(&key)), Some(version_id)),
            Some(position) => (Some(shown.key(&position_key(position))), None),
            None => (None, None),
        };
        Ok(ListObjectVersionsOutput {
            name: Some(input.bucket),
            prefix: Some(shown.key(&input.prefix.unwrap_or_default())),
            delimiter: input.delimiter.map(|delimiter| shown.key(&delimiter)),
            key_marker: Some(shown.key(&input.key_marker.unwrap_or_default())),
            version_id_marker: input.version_id_marker,
            encoding_type: input.encoding_type,
            max_keys: Some(max_keys),
            versions: Some(
                versions
                    .into_iter()
                    .map(|version| version_entry(&shown, version))
                    .collect(),
            ),
            delete_markers: Some(
                markers
                    .into_iter()
                    .map(|version| marker_entry(&shown, version))
                    .collect(),
            ),
            common_prefixes: Some(shown.common_prefixes(&page)),
            is_truncated: Some(page.truncated_at.is_some()),
            next_key_marker,
            next_version_id_marker,
            ..ListObjectVersionsOutput::default()
        })
    }
}

fn version_entry(shown: &Shown, version: &Version) -> ObjectVersion {
    ObjectVersion {
        e_tag: Some(ETag::Strong(version.etag.clone())),
        is_latest: Some(version.is_latest),
        key: Some(shown.key(&version.key)),
        last_modified: Some(last_modified(version.created_ms)),
        size: i64::try_from(version.n_bytes).ok(),
        storage_class: Some(ObjectVersionStorageClass::from_static(
            ObjectVersionStorageClass::STANDARD,
        )),
        version_id: Some(version.id.clone()),
        ..ObjectVersion::default()
    }
}

fn marker_entry(shown: &Shown, version: &Version) -> DeleteMarkerEntry {
    DeleteMarkerEntry {
        is_latest: Some(version.is_latest),
        key: Some(shown.key(&version.key)),
        last_modified: Some(last_modified(version.created_ms)),
        version_id: Some(version.id.clone()),
        ..DeleteMarkerEntry::default()
    }
}
