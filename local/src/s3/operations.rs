//! The operations that clients may ask for, each a line or two over [`Store`].

use s3s::dto::{
    AbortMultipartUploadInput, AbortMultipartUploadOutput, Bucket, CompleteMultipartUploadInput,
    CompleteMultipartUploadOutput, CopyObjectInput, CopyObjectOutput, CreateMultipartUploadInput,
    CreateMultipartUploadOutput, DeleteObjectInput, DeleteObjectOutput, DeleteObjectsInput,
    DeleteObjectsOutput, GetObjectInput, GetObjectOutput, HeadBucketInput, HeadBucketOutput, HeadObjectInput,
    HeadObjectOutput, ListBucketsInput, ListBucketsOutput, ListObjectVersionsInput, ListObjectVersionsOutput,
    ListObjectsV2Input, ListObjectsV2Output, PostObjectInput, PostObjectOutput, PutObjectInput,
    PutObjectOutput, UploadPartInput, UploadPartOutput,
};
use s3s::{S3, S3Request, S3Response, S3Result};

use super::failure::Failure;
use super::index::uploads::UploadName;
use super::objects::last_modified;
use super::store::Store;
use crate::arns::REGION;

type Answer<T> = S3Result<S3Response<T>>;

#[async_trait::async_trait]
impl S3 for Store {
    async fn put_object(&self, request: S3Request<PutObjectInput>) -> Answer<PutObjectOutput> {
        Ok(S3Response::new(
            self.put(request.input, request.trailing_headers).await?,
        ))
    }

    async fn post_object(&self, request: S3Request<PostObjectInput>) -> Answer<PostObjectOutput> {
        Ok(S3Response::new(self.post(request.input).await?))
    }

    async fn get_object(&self, request: S3Request<GetObjectInput>) -> Answer<GetObjectOutput> {
        Ok(S3Response::new(self.get(request.input)?))
    }

    async fn head_object(&self, request: S3Request<HeadObjectInput>) -> Answer<HeadObjectOutput> {
        Ok(S3Response::new(self.head(request.input)?))
    }

    async fn copy_object(&self, request: S3Request<CopyObjectInput>) -> Answer<CopyObjectOutput> {
        Ok(S3Response::new(Store::copy_object(self, request.input).await?))
    }

    async fn delete_object(&self, request: S3Request<DeleteObjectInput>) -> Answer<DeleteObjectOutput> {
        let output = Store::delete_object(self, request.input).await?;
        Ok(S3Response::with_status(output, http::StatusCode::NO_CONTENT))
    }

    async fn delete_objects(&self, request: S3Request<DeleteObjectsInput>) -> Answer<DeleteObjectsOutput> {
        Ok(S3Response::new(Store::delete_objects(self, request.input).await?))
    }

    async fn list_objects_v2(&self, request: S3Request<ListObjectsV2Input>) -> Answer<ListObjectsV2Output> {
        Ok(S3Response::new(self.list_v2(request.input).await?))
    }

    async fn list_object_versions(
        &self,
        request: S3Request<ListObjectVersionsInput>,
    ) -> Answer<ListObjectVersionsOutput> {
        Ok(S3Response::new(self.list_versions(request.input).await?))
    }

    async fn create_multipart_upload(
        &self,
        request: S3Request<CreateMultipartUploadInput>,
    ) -> Answer<CreateMultipartUploadOutput> {
        Ok(S3Response::new(self.create_upload(request.input).await?))
    }

    async fn upload_part(&self, request: S3Request<UploadPartInput>) -> Answer<UploadPartOutput> {
        Ok(S3Response::new(
            self.receive_part(request.input, request.trailing_headers).await?,
        ))
    }

    async fn complete_multipart_upload(
        &self,
        request: S3Request<CompleteMultipartUploadInput>,
    ) -> Answer<CompleteMultipartUploadOutput> {
        Ok(S3Response::new(self.complete_upload(request.input).await?))
    }

    async fn abort_multipart_upload(
        &self,
        request: S3Request<AbortMultipartUploadInput>,
    ) -> Answer<AbortMultipartUploadOutput> {
        let input = request.input;
        self.abort_upload(UploadName {
            bucket: input.bucket,
            key: input.key,
            id: input.upload_id,
        })
        .await?;
        Ok(S3Response::with_status(
            AbortMultipartUploadOutput::default(),
            http::StatusCode::NO_CONTENT,
        ))
    }

    async fn list_buckets(&self, _request: S3Request<ListBucketsInput>) -> Answer<ListBucketsOutput> {
        let buckets = self
            .database
            .read(|connection| {
                let mut statement =
                    connection.prepare_cached("SELECT name, created_ms FROM bucket ORDER BY name")?;
                let rows = statement.query_map([], |row| {
                    Ok(Bucket {
                        name: Some(row.get(0)?),
                        creation_date: Some(last_modified(row.get(1)?)),
                        ..Bucket::default()
                    })
                })?;
                Ok::<_, Failure>(rows.collect::<rusqlite::Result<Vec<_>>>()?)
            })
            .await?;
        Ok(S3Response::new(ListBucketsOutput {
            buckets: Some(buckets),
            ..ListBucketsOutput::default()
        }))
    }

    async fn head_bucket(&self, request: S3Request<HeadBucketInput>) -> Answer<HeadBucketOutput> {
        self.require_bucket(&request.input.bucket)?;
        Ok(S3Response::new(HeadBucketOutput {
            bucket_region: Some(REGION.to_owned()),
            ..HeadBucketOutput::default()
        }))
    }
}
