//! Copying and deleting objects, and making buckets.

use s3s::dto::{
    CopyObjectInput, CopyObjectOutput, CopyObjectResult, CopySource, DeleteObjectInput, DeleteObjectOutput,
    DeleteObjectsInput, DeleteObjectsOutput, DeletedObject, ETag, ETagCondition, MetadataDirective,
};
use s3s::{S3Error, s3_error};

use super::failure::Failure;
use super::headers::{Preconditions, take_headers};
use super::index;
use super::index::changes;
use super::objects::last_modified;
use super::store::{NewObject, ObjectRequest, Source, Store};
use crate::database::blocking;
use crate::queue::events::Origin;

/// The place that a copy comes from.
pub(crate) fn copy_source(source: CopySource) -> Result<ObjectRequest, Failure> {
    match source {
        CopySource::Bucket {
            bucket,
            key,
            version_id,
        } => Ok(ObjectRequest {
            bucket: bucket.into(),
            key: key.into(),
            version_id: version_id.map(Into::into),
        }),
        CopySource::AccessPoint { .. } | CopySource::Outpost { .. } => {
            Err(s3_error!(NotImplemented, "a copy's source must be `BUCKET/KEY`").into())
        }
    }
}

impl Store {
    pub(crate) async fn copy_object(&self, mut input: CopyObjectInput) -> Result<CopyObjectOutput, Failure> {
        let request = copy_source(input.copy_source.clone())?;
        let conditions = Preconditions {
            if_match: input.copy_source_if_match.take(),
            if_none_match: input.copy_source_if_none_match.take(),
        };
        let replace_headers = input
            .metadata_directive
            .as_ref()
            .is_some_and(|directive| directive.as_str() == MetadataDirective::REPLACE);
        let sse_customer_key_md5 = input.copy_source_sse_customer_key_md5.take();
        let headers = take_headers!(input);
        let object = NewObject {
            bucket: input.bucket,
            key: input.key,
            headers,
            conditions: Preconditions::default(),
            origin: Origin::Copy,
            begun_ms: None,
        };
        let (source, written) = self
            .copy(
                object,
                Source {
                    request,
                    conditions,
                    sse_customer_key_md5,
                },
                replace_headers,
            )
            .await?;
        let copied = CopyObjectResult {
            e_tag: Some(ETag::Strong(source.etag)),
            last_modified: Some(last_modified(written.created_ms)),
            ..CopyObjectResult::default()
        };
        Ok(CopyObjectOutput {
            copy_object_result: Some(copied),
            copy_source_version_id: (source.id != index::NULL_VERSION).then_some(source.id),
            version_id: written.version_id,
            ..CopyObjectOutput::default()
        })
    }

    pub(crate) async fn delete_object(
        &self,
        input: DeleteObjectInput,
    ) -> Result<DeleteObjectOutput, Failure> {
        let conditions = Preconditions {
            if_match: input.if_match,
            if_none_match: None,
        };
        let request = ObjectRequest {
            bucket: input.bucket,
            key: input.key,
            version_id: input.version_id,
        };
        let deleted = self.delete(request, conditions).await?;
        Ok(DeleteObjectOutput {
            delete_marker: deleted.is_delete_marker.then_some(true),
            version_id: deleted.version_id,
            ..DeleteObjectOutput::default()
        })
    }

    pub(crate) async fn delete_objects(
        &self,
        input: DeleteObjectsInput,
    ) -> Result<DeleteObjectsOutput, Failure> {
        self.require_bucket(&input.bucket)?;
        let is_quiet = input.delete.quiet.unwrap_or(false);
        let mut deleted = Vec::new();
        let mut errors = Vec::new();
        for object in input.delete.objects {
            let request = ObjectRequest {
                bucket: input.bucket.clone(),
                key: object.key.clone(),
                version_id: object.version_id.clone(),
            };
            let conditions = Preconditions {
                if_match: object.e_tag.map(ETagCondition::ETag),
                if_none_match: None,
            };
            match self.delete(request, conditions).await {
                Ok(_) if is_quiet => {}
                Ok(done) => deleted.push(DeletedObject {
                    delete_marker: done.is_delete_marker.then_some(true),
                    delete_marker_version_id: done.version_id.filter(|_| done.is_delete_marker),
                    key: Some(object.key),
                    version_id: object.version_id,
                }),
                Err(failure) => {
                    let error = S3Error::from(failure);
                    errors.push(s3s::dto::Error {
                        code: Some(error.code().as_str().to_owned()),
                        key: Some(object.key),
                        message: error.message().map(str::to_owned),
                        version_id: object.version_id,
                    });
                }
            }
        }
        let errors = (!errors.is_empty()).then_some(errors);
        Ok(DeleteObjectsOutput {
            deleted: Some(deleted),
            errors,
            ..DeleteObjectsOutput::default()
        })
    }

    async fn delete(
        &self,
        request: ObjectRequest,
        conditions: Preconditions,
    ) -> Result<changes::Deleted, Failure> {
        let store = self.clone();
        blocking(move || {
            let deleted = store.database.write_now(|transaction| {
                changes::delete(
                    transaction,
                    &request.bucket,
                    &request.key,
                    request.version_id.as_deref(),
                    &conditions,
                )
            })?;
            store.settle(&[]);
            Ok(deleted)
        })
        .await
    }
}
