//! Write-once objects, each with the SHA-256 of its bytes. S3 checks it on arrival and stores it
//! with the object.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Result, bail};
use aws_sdk_s3::Client;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::head_object::HeadObjectOutput;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{ChecksumAlgorithm, ChecksumMode, CompletedMultipartUpload, CompletedPart};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use dataperf::Digest;
use futures_util::{StreamExt, TryStreamExt, stream};
use sha2::{Digest as _, Sha256};

/// Bytes of a part. Larger files are uploaded in parts, because one request takes 5 GiB at most and is sent again whole if it fails.
const PART_BYTES: u64 = 16 << 20;
/// The most parts that an object may have in S3; a file that would need more gets larger parts.
const MAX_PARTS: u64 = 10_000;
const PARTS_AT_ONCE: usize = 4;
/// Bytes that are read at once of a file that is not uploaded in parts; each read is handed to another thread.
const READ_BYTES: usize = 1 << 20;

/// A file with its digest, and the object that it is to be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Object<'a> {
    pub(super) s3: &'a Client,
    pub(super) bucket: &'a str,
    pub(super) key: &'a str,
    pub(super) path: &'a Path,
    pub(super) n_bytes: u64,
    pub(super) digest: Digest,
}

/// The state of an object's key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StoredState {
    Nothing,
    /// The same bytes.
    Same,
    /// Other bytes; in what they differ.
    Other(String),
}

impl Object<'_> {
    fn place(&self) -> String {
        format!("s3://{}/{}", self.bucket, self.key)
    }

    /// Compares the object in the bucket with the file, by the stored checksum if it is enough, or else by the bytes.
    pub(super) async fn find(&self) -> Result<StoredState> {
        let head = self.s3.head_object().bucket(self.bucket).key(self.key);
        let head = match head.checksum_mode(ChecksumMode::Enabled).send().await {
            Ok(head) => head,
            Err(SdkError::ServiceError(error)) if error.err().is_not_found() => {
                return Ok(StoredState::Nothing);
            }
            Err(error) => return Err(error).with_context(|| format!("can't ask for `{}`", self.place())),
        };
        let n_bytes = head.content_length().unwrap_or_default();
        if u64::try_from(n_bytes) != Ok(self.n_bytes) {
            return Ok(StoredState::Other(format!(
                "{n_bytes} bytes instead of {}",
                self.n_bytes
            )));
        }
        let is_same = match self.is_same(&head)? {
            Some(is_same) => is_same,
            None => self.digest_there().await? == self.digest,
        };
        Ok(if is_same {
            StoredState::Same
        } else {
            StoredState::Other(format!(
                "the same size, but a SHA-256 other than {}",
                self.digest.hex()
            ))
        })
    }

    /// Whether the stored checksum matches the file; `None` without a checksum, or if it covers
    /// differently cut parts.
    fn is_same(&self, head: &HeadObjectOutput) -> Result<Option<bool>> {
        let Some(stored) = head.checksum_sha256() else {
            return Ok(None);
        };
        if !stored.contains('-') {
            return Ok(Some(stored == in_base64(self.digest)));
        }
        Ok((stored == self.checksum_of_parts()?).then_some(true))
    }

    /// The digest of the stored object, which is read for it: its stored checksum is not enough.
    async fn digest_there(&self) -> Result<Digest> {
        let reading = || format!("can't read `{}`", self.place());
        let get = self.s3.get_object().bucket(self.bucket).key(self.key);
        let mut body = get.send().await.with_context(reading)?.body;
        let mut hasher = Sha256::new();
        while let Some(bytes) = body.try_next().await.with_context(reading)? {
            hasher.update(&bytes);
        }
        Ok(Digest::from_hasher(hasher))
    }

    /// Stores the object if it does not exist; it never overwrites one.
    pub(super) async fn upload(&self) -> Result<()> {
        let uploaded = if self.n_bytes <= part_bytes(self.n_bytes) {
            self.upload_whole().await
        } else {
            self.upload_in_parts().await
        };
        match uploaded {
            // somebody else has stored it meanwhile: the same, or not
            Err(error) if is_there_already(&error) => match Box::pin(self.find()).await? {
                StoredState::Same => Ok(()),
                state => bail!("somebody else stored `{}` meanwhile: {state:?}", self.place()),
            },
            uploaded => uploaded.with_context(|| format!("can't upload to `{}`", self.place())),
        }
    }

    async fn upload_whole(&self) -> Result<()> {
        let put = self.s3.put_object().bucket(self.bucket).key(self.key);
        let body = ByteStream::read_from()
            .path(self.path)
            .buffer_size(READ_BYTES)
            .build()
            .await
            .with_context(|| format!("can't read `{}`", self.path.display()))?;
        let put = put.if_none_match("*").checksum_sha256(in_base64(self.digest));
        put.body(body).send().await?;
        Ok(())
    }

    async fn upload_in_parts(&self) -> Result<()> {
        let create = self
            .s3
            .create_multipart_upload()
            .bucket(self.bucket)
            .key(self.key);
        let created = create
            .checksum_algorithm(ChecksumAlgorithm::Sha256)
            .send()
            .await?;
        let id = created.upload_id().context("S3 gave the upload no id")?;
        let done = self.parts(id).await;
        if done.is_err() {
            let abort = self.s3.abort_multipart_upload().bucket(self.bucket).key(self.key);
            let _ = abort.upload_id(id).send().await; // if not, the bucket's lifecycle rule removes the parts
        }
        done
    }

    async fn parts(&self, id: &str) -> Result<()> {
        let file = File::open(self.path).with_context(|| format!("can't read `{}`", self.path.display()))?;
        let file = &file;
        let size = part_bytes(self.n_bytes);
        let parts = (0..self.n_bytes.div_ceil(size)).map(|n| async move {
            let mut bytes = vec![0; size.min(self.n_bytes - n * size) as usize];
            file.read_exact_at(&mut bytes, n * size)
                .with_context(|| format!("can't read `{}`", self.path.display()))?;
            let checksum = in_base64(Digest::compute(&bytes));
            let number = i32::try_from(n + 1)?;
            let part = self
                .s3
                .upload_part()
                .bucket(self.bucket)
                .key(self.key)
                .upload_id(id);
            let part = part.part_number(number).checksum_sha256(&checksum);
            let sent = part.body(ByteStream::from(bytes)).send().await?;
            let tag = sent.e_tag().context("S3 gave a part no entity tag")?;
            let part = CompletedPart::builder().part_number(number).e_tag(tag);
            anyhow::Ok(part.checksum_sha256(checksum).build())
        });
        let parts: Vec<CompletedPart> = stream::iter(parts).buffered(PARTS_AT_ONCE).try_collect().await?;
        let parts = CompletedMultipartUpload::builder().set_parts(Some(parts)).build();
        let complete = self
            .s3
            .complete_multipart_upload()
            .bucket(self.bucket)
            .key(self.key);
        let complete = complete.upload_id(id).if_none_match("*");
        complete.multipart_upload(parts).send().await?;
        Ok(())
    }

    /// The checksum that S3 stores for a file uploaded in parts: the digest of the parts' digests,
    /// and their number.
    fn checksum_of_parts(&self) -> Result<String> {
        let reading = || format!("can't read `{}`", self.path.display());
        let mut file = File::open(self.path).with_context(reading)?;
        let mut of_parts = Sha256::new();
        let size = part_bytes(self.n_bytes);
        let n_parts = self.n_bytes.div_ceil(size);
        for _ in 0..n_parts {
            let (digest, _) = Digest::of_all(Read::by_ref(&mut file).take(size)).with_context(reading)?;
            of_parts.update(digest.bytes());
        }
        Ok(format!(
            "{}-{n_parts}",
            BASE64_STANDARD.encode(of_parts.finalize())
        ))
    }
}

/// The size of a file's parts, in bytes; a file that is no larger than one part is uploaded whole.
fn part_bytes(n_bytes: u64) -> u64 {
    n_bytes
        .div_ceil(MAX_PARTS)
        .next_multiple_of(1 << 20)
        .max(PART_BYTES)
}

fn in_base64(digest: Digest) -> String {
    BASE64_STANDARD.encode(digest.bytes())
}

/// Whether an error says that the object is there already, or that somebody else is just storing it.
fn is_there_already(error: &anyhow::Error) -> bool {
    use aws_sdk_s3::operation::complete_multipart_upload::CompleteMultipartUploadError as Complete;
    use aws_sdk_s3::operation::put_object::PutObjectError as Put;
    let put = error
        .downcast_ref::<SdkError<Put>>()
        .and_then(ProvideErrorMetadata::code);
    let complete = error.downcast_ref::<SdkError<Complete>>();
    let code = put.or_else(|| complete.and_then(ProvideErrorMetadata::code));
    matches!(code, Some("PreconditionFailed" | "ConditionalRequestConflict"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_has_more_parts_than_s3_takes() {
        const TIB: u64 = 1 << 40;
        for n_bytes in [
            1,
            PART_BYTES,
            PART_BYTES + 1,
            PART_BYTES * MAX_PARTS,
            PART_BYTES * MAX_PARTS + 1,
            5 * TIB,
        ] {
            let size = part_bytes(n_bytes);
            assert!(n_bytes.div_ceil(size) <= MAX_PARTS, "{n_bytes}");
            assert!((PART_BYTES..=5 << 30).contains(&size), "{n_bytes}: {size}");
        }
        assert_eq!(part_bytes(PART_BYTES * MAX_PARTS), PART_BYTES);
    }
}
