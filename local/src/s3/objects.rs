//! Putting, getting and describing one object.

use s3s::dto::{
    ETag, ETagCondition, GetObjectInput, GetObjectOutput, HeadObjectInput, HeadObjectOutput, PostObjectInput,
    PostObjectOutput, PutObjectInput, PutObjectOutput, Range, StorageClass, StreamingBlob, Timestamp,
};
use s3s::{S3Error, TrailingHeaders, s3_error};
use time::OffsetDateTime;

use super::bodies::{Announced, SMALL_BYTES};
use super::failure::Failure;
use super::headers::{Checksums, Preconditions, matches, set_checksums, take_checksums, take_headers};
use super::index::{self, Version};
use super::store::{NewObject, ObjectRequest, Opened, Store, invalid_range};
use crate::queue::events::Origin;

/// The client's wishes for the object that it reads.
#[allow(clippy::struct_field_names)] // the names of the headers
struct ReadConditions {
    if_match: Option<ETagCondition>,
    if_none_match: Option<ETagCondition>,
    if_modified_since: Option<Timestamp>,
    if_unmodified_since: Option<Timestamp>,
}

impl ReadConditions {
    /// Checks in the order of RFC 9110: a tag outweighs a date.
    fn check(&self, version: &Version) -> Result<(), S3Error> {
        // HTTP dates are whole seconds
        let modified = last_modified(version.created_ms - version.created_ms.rem_euclid(1000));
        match (&self.if_match, &self.if_unmodified_since) {
            (Some(condition), _) if !matches(condition, &version.etag) => {
                return Err(s3_error!(PreconditionFailed));
            }
            (None, Some(date)) if modified > *date => return Err(s3_error!(PreconditionFailed)),
            _ => {}
        }
        match (&self.if_none_match, &self.if_modified_since) {
            (Some(condition), _) if matches(condition, &version.etag) => Err(s3_error!(NotModified)),
            (None, Some(date)) if modified <= *date => Err(s3_error!(NotModified)),
            _ => Ok(()),
        }
    }
}

/// Takes the conditions out of a `GET` or `HEAD` input.
macro_rules! take_read_conditions {
    ($input:expr) => {
        ReadConditions {
            if_match: $input.if_match.take(),
            if_none_match: $input.if_none_match.take(),
            if_modified_since: $input.if_modified_since.take(),
            if_unmodified_since: $input.if_unmodified_since.take(),
        }
    };
}

/// Sets what `GET` and `HEAD` tell about an object in the same way.
macro_rules! describe {
    ($output:expr, $version:expr, $headers:expr, $range:expr, $with_checksums:expr) => {{
        let (version, headers) = ($version, $headers);
        $output.accept_ranges = Some("bytes".to_owned());
        $output.content_length = Some(i64::try_from($range.end - $range.start).unwrap_or(i64::MAX));
        $output.e_tag = Some(ETag::Strong(version.etag));
        $output.last_modified = Some(last_modified(version.created_ms));
        $output.metadata = headers.metadata();
        $output.version_id = (version.id != index::NULL_VERSION).then_some(version.id);
        $output.content_type = headers
            .content_type
            .or_else(|| Some("binary/octet-stream".to_owned()));
        $output.content_encoding = headers.content_encoding;
        $output.content_language = headers.content_language;
        $output.content_disposition = headers.content_disposition;
        $output.cache_control = headers.cache_control;
        $output.expires = headers.expires;
        $output.storage_class = headers.storage_class.map(StorageClass::from);
        $output.sse_customer_key_md5 = headers.sse_customer_key_md5;
        if $with_checksums {
            set_checksums!($output, headers.checksums);
        }
    }};
}

/// Takes what the client announces about the body out of a `PUT` or `POST` input.
macro_rules! announced {
    ($input:expr, $trailers:expr) => {
        Announced {
            checksums: take_checksums!($input),
            algorithm: $input.checksum_algorithm.take(),
            content_md5: $input.content_md5.take(),
            trailers: $trailers,
        }
    };
}

/// A time as S3 answers carry it.
pub(crate) fn last_modified(epoch_ms: i64) -> Timestamp {
    let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(epoch_ms) * 1_000_000);
    Timestamp::from(time.unwrap_or(OffsetDateTime::UNIX_EPOCH))
}

/// The bytes to send, and the `Content-Range` if they are a part.
fn wanted_bytes(
    range: Option<Range>,
    n_bytes: u64,
) -> Result<(std::ops::Range<u64>, Option<String>), Failure> {
    let Some(range) = range else {
        return Ok((0..n_bytes, None));
    };
    let wanted = range.check(n_bytes).map_err(|_| invalid_range(n_bytes))?;
    let content_range = format!("bytes {}-{}/{n_bytes}", wanted.start, wanted.end - 1);
    Ok((wanted, Some(content_range)))
}

/// An object as its client hears of it.
struct Stored {
    etag: String,
    n_bytes: u64,
    checksums: Checksums,
    version_id: Option<String>,
}

impl Store {
    pub(crate) async fn put(
        &self,
        mut input: PutObjectInput,
        trailers: Option<TrailingHeaders>,
    ) -> Result<PutObjectOutput, Failure> {
        let announced = announced!(input, trailers);
        let conditions = Preconditions {
            if_match: input.if_match.take(),
            if_none_match: input.if_none_match.take(),
        };
        let (sent, headers) = (input.body.take(), take_headers!(input));
        let object = NewObject {
            bucket: input.bucket,
            key: input.key,
            headers,
            conditions,
            origin: Origin::Put,
            begun_ms: None,
        };
        let stored = self.store(object, sent, announced).await?;
        let mut output = PutObjectOutput {
            e_tag: Some(ETag::Strong(stored.etag)),
            size: i64::try_from(stored.n_bytes).ok(),
            version_id: stored.version_id,
            ..PutObjectOutput::default()
        };
        set_checksums!(output, stored.checksums);
        Ok(output)
    }

    /// An upload from a browser's form, whose policy `s3s` has checked.
    pub(crate) async fn post(&self, mut input: PostObjectInput) -> Result<PostObjectOutput, Failure> {
        let announced = announced!(input, None);
        let (sent, headers) = (input.body.take(), take_headers!(input));
        let conditions = Preconditions::default();
        let object = NewObject {
            bucket: input.bucket,
            key: input.key,
            headers,
            conditions,
            origin: Origin::Post,
            begun_ms: None,
        };
        let stored = self.store(object, sent, announced).await?;
        Ok(PostObjectOutput {
            e_tag: Some(ETag::Strong(stored.etag)),
            version_id: stored.version_id,
            ..PostObjectOutput::default()
        })
    }

    async fn store(
        &self,
        mut object: NewObject,
        sent: Option<StreamingBlob>,
        announced: Announced,
    ) -> Result<Stored, Failure> {
        self.require_bucket(&object.bucket)?;
        let body = self.bodies.receive(sent, announced, SMALL_BYTES).await?;
        let (etag, n_bytes, checksums) = (body.etag(), body.n_bytes, body.checksums.clone());
        object.headers.checksums = checksums.clone();
        let written = self.publish(object, body, etag.clone(), |_| Ok(())).await?;
        Ok(Stored {
            etag,
            n_bytes,
            checksums,
            version_id: written.version_id,
        })
    }

    pub(crate) fn get(&self, mut input: GetObjectInput) -> Result<GetObjectOutput, Failure> {
        let conditions = take_read_conditions!(input);
        let request = ObjectRequest {
            bucket: input.bucket,
            key: input.key,
            version_id: input.version_id,
        };
        let wanted = input.range;
        let choose = move |version: &Version| {
            conditions.check(version)?;
            wanted_bytes(wanted, version.n_bytes)
        };
        let opened = self.open(request, choose)?;
        let key_md5 = input.sse_customer_key_md5.as_deref();
        opened.object.headers.check_readable(key_md5)?;
        let mut output = GetObjectOutput {
            body: Some(opened.body()?),
            ..GetObjectOutput::default()
        };
        let Opened {
            object,
            range,
            chosen: content_range,
        } = opened;
        let (version, headers) = (object.version.clone(), object.headers.clone());
        // a checksum is of the whole object: a part has none
        describe!(output, version, headers, range, content_range.is_none());
        // the parameters of a presigned address override the stored headers
        if let Some(disposition) = input.response_content_disposition {
            output.content_disposition = Some(disposition);
        }
        output.content_range = content_range;
        Ok(output)
    }

    pub(crate) fn head(&self, mut input: HeadObjectInput) -> Result<HeadObjectOutput, Failure> {
        let conditions = take_read_conditions!(input);
        let request = ObjectRequest {
            bucket: input.bucket,
            key: input.key,
            version_id: input.version_id,
        };
        let (version, headers) = self.find(&request)?;
        headers.check_key(input.sse_customer_key_md5.as_deref())?;
        conditions.check(&version)?;
        let (range, content_range) = wanted_bytes(input.range, version.n_bytes)?;
        let mut output = HeadObjectOutput::default();
        describe!(output, version, headers, range, content_range.is_none());
        output.content_range = content_range;
        Ok(output)
    }
}
