//! S3 through the real SDK.
#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers of tests are tests

mod access;
#[path = "../common/mod.rs"]
mod common;
mod conditional;
mod expectations;
mod listings;
mod multipart;
mod objects;
mod requests;
mod restart;
mod versions;

use aws_sdk_s3::Client;
use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sdk_s3::operation::complete_multipart_upload::builders::CompleteMultipartUploadFluentBuilder;
use aws_sdk_s3::operation::delete_object::DeleteObjectOutput;
use aws_sdk_s3::operation::delete_object::builders::DeleteObjectFluentBuilder;
use aws_sdk_s3::operation::get_object::builders::GetObjectFluentBuilder;
use aws_sdk_s3::operation::head_object::HeadObjectOutput;
use aws_sdk_s3::operation::head_object::builders::HeadObjectFluentBuilder;
use aws_sdk_s3::operation::list_object_versions::builders::ListObjectVersionsFluentBuilder;
use aws_sdk_s3::operation::list_objects_v2::builders::ListObjectsV2FluentBuilder;
use aws_sdk_s3::operation::put_object::builders::PutObjectFluentBuilder;
use aws_sdk_s3::types::{CompletedMultipartUpload, CompletedPart};
use common::{config, s3};
use dataperf_local::LocalCloud;

async fn start() -> (tempfile::TempDir, LocalCloud, Client) {
    let dir = tempfile::tempdir().unwrap();
    let cloud = LocalCloud::start(config(dir.path())).await.unwrap();
    let client = s3(&cloud);
    (dir, cloud, client)
}

fn put_object(client: &Client, bucket: &str, key: &str) -> PutObjectFluentBuilder {
    client.put_object().bucket(bucket).key(key)
}

fn get_object(client: &Client, bucket: &str, key: &str) -> GetObjectFluentBuilder {
    client.get_object().bucket(bucket).key(key)
}

fn head_object(client: &Client, bucket: &str, key: &str) -> HeadObjectFluentBuilder {
    client.head_object().bucket(bucket).key(key)
}

async fn head_of(client: &Client, bucket: &str, key: &str) -> HeadObjectOutput {
    head_object(client, bucket, key).send().await.unwrap()
}

fn delete_object(client: &Client, bucket: &str, key: &str) -> DeleteObjectFluentBuilder {
    client.delete_object().bucket(bucket).key(key)
}

async fn delete_key(client: &Client, bucket: &str, key: &str) -> DeleteObjectOutput {
    delete_object(client, bucket, key).send().await.unwrap()
}

fn list(client: &Client, bucket: &str) -> ListObjectsV2FluentBuilder {
    client.list_objects_v2().bucket(bucket)
}

fn list_versions(client: &Client, bucket: &str) -> ListObjectVersionsFluentBuilder {
    client.list_object_versions().bucket(bucket)
}

/// Bytes that differ from place to place.
fn pattern(n_bytes: usize) -> Vec<u8> {
    (0..n_bytes)
        .map(|at| (at % 251) as u8 ^ (at / 65_536) as u8)
        .collect()
}

fn code<E, R>(error: &aws_sdk_s3::error::SdkError<E, R>) -> String
where
    aws_sdk_s3::error::SdkError<E, R>: ProvideErrorMetadata,
{
    error.code().unwrap_or_default().to_owned()
}

async fn upload_parts(
    client: &Client,
    bucket: &str,
    key: &str,
    bodies: &[Vec<u8>],
) -> (String, CompletedMultipartUpload) {
    let upload = client
        .create_multipart_upload()
        .bucket(bucket)
        .key(key)
        .content_type("text/csv");
    let upload_id = upload
        .metadata("team", "a b")
        .send()
        .await
        .unwrap()
        .upload_id
        .unwrap();
    let mut parts = CompletedMultipartUpload::builder();
    for (number, body) in (1..).zip(bodies) {
        let part = client
            .upload_part()
            .bucket(bucket)
            .key(key)
            .upload_id(&upload_id)
            .part_number(number);
        let part = part.body(body.clone().into()).send().await.unwrap();
        parts = parts.parts(
            CompletedPart::builder()
                .part_number(number)
                .e_tag(part.e_tag.unwrap())
                .build(),
        );
    }
    (upload_id, parts.build())
}

/// Bodies in files and in the index.
fn n_bodies(dir: &tempfile::TempDir) -> usize {
    let shards = std::fs::read_dir(dir.path().join("cloud/objects")).unwrap();
    let n_files: usize = shards
        .map(|shard| std::fs::read_dir(shard.unwrap().path()).unwrap().count())
        .sum();
    let index = rusqlite::Connection::open(dir.path().join("cloud/index.sqlite")).unwrap();
    let count = "SELECT count(*) FROM small_body";
    let n_small: usize = index.query_row(count, [], |row| row.get(0)).unwrap();
    n_files + n_small
}

fn complete(
    client: &Client,
    bucket: &str,
    key: &str,
    upload_id: &str,
    parts: CompletedMultipartUpload,
) -> CompleteMultipartUploadFluentBuilder {
    let complete = client.complete_multipart_upload().bucket(bucket).key(key);
    complete.upload_id(upload_id).multipart_upload(parts)
}

fn percent_decoded(text: &str) -> String {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next().unwrap().as_bytes().to_vec();
    for piece in pieces {
        bytes.push(u8::from_str_radix(&piece[..2], 16).unwrap());
        bytes.extend_from_slice(&piece.as_bytes()[2..]);
    }
    String::from_utf8(bytes).unwrap()
}
