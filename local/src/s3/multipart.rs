//! Uploads in parts.

use rusqlite::params;
use s3s::dto::{
    CompleteMultipartUploadInput, CompleteMultipartUploadOutput, CreateMultipartUploadInput,
    CreateMultipartUploadOutput, ETag, UploadPartInput, UploadPartOutput,
};
use s3s::{TrailingHeaders, s3_error};

use super::bodies::{Announced, NewBody};
use super::failure::Failure;
use super::headers::{Preconditions, set_checksums, take_checksums, take_headers};
use super::index;
use super::index::uploads::{
    UploadName, begun_ms, checksums_of_parts, chosen_parts, etag_of_parts, parts, remove_upload,
    upload_headers,
};
use super::store::{NewObject, Store};
use crate::database::{blocking, now_ms};
use crate::ids;
use crate::queue::events::Origin;

/// The largest part number.
const MAX_PARTS: i32 = 10_000;

impl Store {
    pub(crate) async fn create_upload(
        &self,
        mut input: CreateMultipartUploadInput,
    ) -> Result<CreateMultipartUploadOutput, Failure> {
        let headers = serde_json::to_string(&take_headers!(input))?;
        let upload = UploadName {
            bucket: input.bucket,
            key: input.key,
            id: ids::fresh(),
        };
        let name = upload.clone();
        self.database
            .write::<_, Failure>(move |transaction| {
                index::versioning(transaction, &name.bucket)?;
                let sql = "INSERT INTO upload (id, bucket, key, created_ms, headers) VALUES (?, ?, ?, ?, ?)";
                transaction.execute(sql, params![name.id, name.bucket, name.key, now_ms(), headers])?;
                Ok(())
            })
            .await?;
        Ok(CreateMultipartUploadOutput {
            bucket: Some(upload.bucket),
            key: Some(upload.key),
            upload_id: Some(upload.id),
            checksum_algorithm: input.checksum_algorithm,
            checksum_type: input.checksum_type,
            ..CreateMultipartUploadOutput::default()
        })
    }

    pub(crate) async fn receive_part(
        &self,
        mut input: UploadPartInput,
        trailers: Option<TrailingHeaders>,
    ) -> Result<UploadPartOutput, Failure> {
        let announced = Announced {
            checksums: take_checksums!(input),
            algorithm: input.checksum_algorithm.take(),
            content_md5: input.content_md5.take(),
            trailers,
        };
        let upload = UploadName {
            bucket: input.bucket,
            key: input.key,
            id: input.upload_id,
        };
        self.require_upload(&upload, input.part_number).await?;
        let body = self.bodies.receive(input.body.take(), announced, 0).await?;
        let mut output = UploadPartOutput {
            e_tag: Some(ETag::Strong(body.etag())),
            ..UploadPartOutput::default()
        };
        set_checksums!(output, body.checksums.clone());
        self.store_part(upload, input.part_number, body).await?;
        Ok(output)
    }

    async fn require_upload(&self, upload: &UploadName, part_number: i32) -> Result<(), Failure> {
        if !(1..=MAX_PARTS).contains(&part_number) {
            return Err(s3_error!(
                InvalidArgument,
                "part number `{part_number}` is not within 1 to {MAX_PARTS}"
            )
            .into());
        }
        let upload = upload.clone();
        self.database
            .read(move |connection| upload_headers(connection, &upload).map(drop))
            .await
    }

    async fn store_part(&self, upload: UploadName, number: i32, body: NewBody) -> Result<(), Failure> {
        let store = self.clone();
        blocking(move || {
            let checksums = serde_json::to_string(&body.checksums)?;
            store.database.write_now(|transaction| {
                upload_headers(transaction, &upload)?;
                // not `INSERT OR REPLACE`, which would not note the body that was replaced
                let sql = "DELETE FROM part WHERE upload_id = ? AND number = ?";
                transaction.execute(sql, params![upload.id, number])?;
                let sql = "INSERT INTO part (upload_id, number, body, n_bytes, etag, created_ms, checksums)
                    VALUES (?, ?, ?, ?, ?, ?, ?)";
                let row = params![
                    upload.id,
                    number,
                    body.name,
                    body.n_bytes,
                    body.etag(),
                    now_ms(),
                    checksums
                ];
                transaction.execute(sql, row)?;
                Ok::<_, Failure>(())
            })?;
            body.keep();
            store.settle(&[]);
            Ok(())
        })
        .await
    }

    pub(crate) async fn complete_upload(
        &self,
        input: CompleteMultipartUploadInput,
    ) -> Result<CompleteMultipartUploadOutput, Failure> {
        let upload = UploadName {
            bucket: input.bucket,
            key: input.key,
            id: input.upload_id,
        };
        let listed = input
            .multipart_upload
            .and_then(|upload| upload.parts)
            .unwrap_or_default();
        let conditions = Preconditions {
            if_match: input.if_match,
            if_none_match: input.if_none_match,
        };
        let store = self.clone();
        let name = upload.clone();
        let (headers, begun_ms, body, etag) = blocking(move || {
            let (mut headers, begun_ms, stored) = store.database.read_now(|connection| {
                let headers = upload_headers(connection, &name)?;
                Ok::<_, Failure>((headers, begun_ms(connection, &name)?, parts(connection, &name)?))
            })?;
            let chosen = chosen_parts(&stored, &listed)?;
            headers.checksums = checksums_of_parts(&chosen);
            let names: Vec<String> = chosen.iter().map(|part| part.body.clone()).collect();
            let body = store.bodies.concatenate(&names)?;
            Ok::<_, Failure>((headers, begun_ms, body, etag_of_parts(&chosen)))
        })
        .await?;
        let object = NewObject {
            bucket: upload.bucket.clone(),
            key: upload.key.clone(),
            headers,
            conditions,
            origin: Origin::CompleteMultipartUpload,
            begun_ms: Some(begun_ms),
        };
        let (bucket, key) = (upload.bucket.clone(), upload.key.clone());
        let checksums = object.headers.checksums.clone();
        let written = self
            .publish(object, body, etag.clone(), move |transaction| {
                remove_upload(transaction, &upload)
            })
            .await?;
        let mut output = CompleteMultipartUploadOutput {
            location: Some(format!("/{bucket}/{key}")),
            bucket: Some(bucket),
            key: Some(key),
            e_tag: Some(ETag::Strong(etag)),
            version_id: written.version_id,
            ..CompleteMultipartUploadOutput::default()
        };
        set_checksums!(output, checksums);
        Ok(output)
    }

    pub(crate) async fn abort_upload(&self, upload: UploadName) -> Result<(), Failure> {
        let store = self.clone();
        blocking(move || {
            store
                .database
                .write_now(|transaction| remove_upload(transaction, &upload))?;
            store.settle(&[]);
            Ok(())
        })
        .await
    }
}
