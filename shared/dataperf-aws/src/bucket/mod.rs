//! The bucket port on S3.

pub(crate) mod active_datasets;
pub(crate) mod listing;
pub(crate) mod multipart;
pub(crate) mod ranges;
pub(crate) mod signed;

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::config::RequestChecksumCalculation;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::get_object::{GetObjectError, GetObjectOutput};
use aws_sdk_s3::operation::put_object::builders::PutObjectFluentBuilder;
use aws_sdk_s3::presigning::PresigningConfig;
use aws_sdk_s3::primitives::ByteStream;
use bytes::{Bytes, BytesMut};
use dataperf::Timestamp;
use dataperf::ports::bucket::{Bucket, Got, Object};
use dataperf::ports::{PortError, Unreadable, async_trait};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};

use crate::bucket::listing::folders;
use crate::bucket::ranges::Connections;
use crate::sdk::meter::Meter;
use crate::sdk::port_error::port_error;
use crate::sdk::retry::Retry;

/// Larger objects are read in parts of this size, several at once: one connection gives less than the network has.
const PART_BYTES: u64 = 8 << 20;
const PARTS_AT_ONCE: usize = 8;
/// How many small ranges are read at once: each waits some 25 ms for its first byte.
const RANGES_AT_ONCE: usize = 64;

/// One bucket of S3.
#[derive(Debug, Clone)]
pub struct S3Bucket {
    client: Client,
    name: String,
    meter: Meter,
    connections: Connections,
}

/// Objects of one bucket by their keys, each with a signed address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SignedObjects {
    /// The addresses for reading.
    pub(crate) reads: BTreeMap<String, String>,
    /// The addresses for writing.
    pub(crate) writes: BTreeMap<String, String>,
}

/// An object with what tells its versions apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tagged {
    /// All its bytes.
    pub bytes: Bytes,
    /// The entity tag.
    pub tag: String,
}

impl S3Bucket {
    /// The names directly below `prefix`, as [`folders`](crate::folders) returns them.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn folders(&self, prefix: &str) -> Result<Vec<String>, PortError> {
        folders(&self.client, &self.name, prefix).await
    }

    /// The bucket `name`.
    pub fn new(client: Client, name: impl Into<String>) -> Self {
        Self {
            client,
            name: name.into(),
            meter: Meter::default(),
            connections: Connections::default(),
        }
    }

    /// The same bucket, with its calls counted by `meter`.
    pub(crate) fn metered(mut self, meter: &Meter) -> Self {
        self.meter = meter.clone();
        self
    }

    fn describe(&self, verb: &str, key: &str) -> String {
        format!("{verb} `s3://{}/{key}`", self.name)
    }

    /// Asks for an object or a range of it; `None` when there is no such object or version.
    async fn request(
        &self,
        key: &str,
        version: Option<&str>,
        range: Option<String>,
    ) -> Result<Option<GetObjectOutput>, PortError> {
        let request = self
            .client
            .get_object()
            .bucket(&self.name)
            .key(key)
            .set_range(range);
        match request.set_version_id(version.map(str::to_owned)).send().await {
            Ok(output) => Ok(Some(output)),
            Err(SdkError::ServiceError(error)) if is_missing(error.err()) => Ok(None),
            Err(error) => Err(match unreadable(error.code(), error.message()) {
                Some(why) => PortError::Unreadable {
                    subject: self.describe("reading", key),
                    why,
                },
                None => port_error(self.describe("reading", key), error),
            }),
        }
    }

    /// The whole of one range of an object. It fails if the object has been replaced and has another entity tag.
    async fn range(
        &self,
        key: &str,
        (version, tag): (Option<&str>, Option<&str>),
        range: Range<u64>,
    ) -> Result<Option<Bytes>, PortError> {
        let short = |why: String| PortError::Malformed {
            subject: self.describe("reading", key),
            why,
        };
        let header = format!("bytes={}-{}", range.start, range.end - 1);
        let Some(output) = self.request(key, version, Some(header)).await? else {
            return Ok(None);
        };
        if tag.is_some() && output.e_tag() != tag {
            return Err(PortError::Transient {
                subject: self.describe("reading", key),
                source: "it was replaced while it was read".into(),
            });
        }
        let bytes = self.body(key, output.body).await?;
        if bytes.len() as u64 == range.end - range.start {
            return Ok(Some(bytes));
        }
        Err(short(format!(
            "bytes {} to {} were asked for, {} came",
            range.start,
            range.end,
            bytes.len()
        )))
    }

    async fn body(&self, key: &str, body: ByteStream) -> Result<Bytes, PortError> {
        let whole = body.collect().await.map_err(|error| PortError::Transient {
            subject: self.describe("reading", key),
            source: Box::new(error),
        })?;
        let bytes = whole.into_bytes();
        self.meter.read(bytes.len());
        Ok(bytes)
    }

    async fn in_parts(
        &self,
        key: &str,
        version: (Option<&str>, Option<&str>),
        n_bytes: u64,
    ) -> Result<Option<Bytes>, PortError> {
        let begins = (0..n_bytes).step_by(PART_BYTES as usize);
        let parts = begins.map(|begin| self.range(key, version, begin..(begin + PART_BYTES).min(n_bytes)));
        let mut parts = stream::iter(parts).buffered(PARTS_AT_ONCE);
        let mut whole = BytesMut::with_capacity(n_bytes as usize);
        while let Some(part) = parts.try_next().await? {
            let Some(part) = part else { return Ok(None) };
            whole.extend_from_slice(&part);
        }
        Ok(Some(whole.freeze()))
    }

    /// An object of at most `max_bytes` with its entity tag, by which [`put_if`](Self::put_if) replaces it.
    ///
    /// # Errors
    /// [`PortError`], also of an object that is larger.
    pub async fn get_tagged(&self, key: &str, max_bytes: u64) -> Result<Option<Tagged>, PortError> {
        let _call = self.meter.call();
        let Some(output) = self.request(key, None, None).await? else {
            return Ok(None);
        };
        let malformed = |why: String| PortError::Malformed {
            subject: self.describe("reading", key),
            why,
        };
        let n_bytes = output.content_length().unwrap_or(0).max(0) as u64;
        if n_bytes > max_bytes {
            return Err(malformed(format!(
                "it has {n_bytes} bytes, more than {max_bytes}"
            )));
        }
        let tag = output.e_tag().map(str::to_owned);
        let tag = tag.ok_or_else(|| malformed("it has no entity tag".into()))?;
        let bytes = self.body(key, output.body).await?;
        Ok(Some(Tagged { bytes, tag }))
    }

    /// The first `n_bytes` of an object, with the whole object's entity tag.
    ///
    /// # Errors
    /// [`PortError`], also of an object that is shorter.
    pub async fn get_beginning(&self, key: &str, n_bytes: u64) -> Result<Option<Tagged>, PortError> {
        let _call = self.meter.call();
        let range = format!("bytes=0-{}", n_bytes.saturating_sub(1));
        let Some(output) = self.request(key, None, Some(range)).await? else {
            return Ok(None);
        };
        let malformed = |why: String| PortError::Malformed {
            subject: self.describe("reading", key),
            why,
        };
        let tag = output.e_tag().map(str::to_owned);
        let tag = tag.ok_or_else(|| malformed("it has no entity tag".into()))?;
        let bytes = self.body(key, output.body).await?;
        if (bytes.len() as u64) < n_bytes {
            return Err(malformed(format!(
                "it has {} bytes, fewer than {n_bytes}",
                bytes.len()
            )));
        }
        Ok(Some(Tagged { bytes, tag }))
    }

    /// A signed address with which anybody can read this one object during `valid`, and do nothing else. The browser saves the object as `name`,
    /// which has letters, digits, `-`, `_` and `.` only. With `endpoint` the address is there instead of at the client's endpoint.
    ///
    /// # Errors
    /// [`PortError`] when there are no credentials to sign with.
    pub async fn link(
        &self,
        key: &str,
        valid: Duration,
        name: &str,
        endpoint: Option<&str>,
    ) -> Result<String, PortError> {
        let unsigned = |source: Box<dyn std::error::Error + Send + Sync>| PortError::Transient {
            subject: self.describe("signing an address of", key),
            source,
        };
        let config = PresigningConfig::expires_in(valid).map_err(|error| unsigned(error.into()))?;
        let client = match endpoint {
            Some(url) => {
                let config = self.client.config().to_builder();
                // a host such as `localhost` has no subdomain for each bucket
                let config = config.endpoint_url(url).force_path_style(true);
                Client::from_conf(config.build())
            }
            None => self.client.clone(),
        };
        let request = client.get_object().bucket(&self.name).key(key);
        let disposition = format!("attachment; filename=\"{name}\"");
        let signed = request
            .response_content_disposition(disposition)
            .presigned(config);
        let signed = signed.await.map_err(|error| unsigned(error.into()))?;
        Ok(signed.uri().to_owned())
    }

    /// Signs an address for each object to read, in a given or the newest version, and for each
    /// object to write.
    pub(crate) async fn signed(
        &self,
        reads: Vec<(String, Option<String>)>,
        writes: Vec<String>,
        config: &PresigningConfig,
    ) -> Result<SignedObjects, PortError> {
        // otherwise the writer would have to send the checksum of bytes that this function does not
        // know
        let whenever = RequestChecksumCalculation::WhenRequired;
        let client = self.client.config().to_builder();
        let client = Client::from_conf(client.request_checksum_calculation(whenever).build());
        let unsigned = |key: &str, source| PortError::Transient {
            subject: self.describe("signing an address of", key),
            source,
        };
        let mut objects = SignedObjects::default();
        for (key, version) in reads {
            let request = client.get_object().bucket(&self.name).key(&key);
            let signed = request.set_version_id(version).presigned(config.clone()).await;
            let signed = signed.map_err(|error| unsigned(&key, error.into()))?;
            objects.reads.insert(key, signed.uri().to_owned());
        }
        for key in writes {
            let request = client.put_object().bucket(&self.name).key(&key);
            let signed = request.presigned(config.clone()).await;
            let signed = signed.map_err(|error| unsigned(&key, error.into()))?;
            objects.writes.insert(key, signed.uri().to_owned());
        }
        Ok(objects)
    }

    /// Stores an object if the stored one has the entity tag `tag`, or, without a `tag`, if there
    /// is none. Of several calls that read the same object, only one stores. Returns whether this
    /// call did.
    ///
    /// # Errors
    /// [`PortError`].
    pub async fn put_if(&self, key: &str, bytes: Bytes, tag: Option<&str>) -> Result<bool, PortError> {
        let _call = self.meter.call();
        let request = self.put_request(key, bytes);
        let request = match tag {
            Some(tag) => request.if_match(tag),
            None => request.if_none_match("*"),
        };
        match request.send().await {
            Ok(_) => Ok(true),
            // Changed, met by another conditional write at the same moment, or deleted meanwhile.
            Err(error)
                if matches!(
                    error.code(),
                    Some("PreconditionFailed" | "ConditionalRequestConflict" | "NoSuchKey")
                ) =>
            {
                Ok(false)
            }
            Err(error) => Err(port_error(self.describe("writing", key), error)),
        }
    }

    fn put_request(&self, key: &str, bytes: Bytes) -> PutObjectFluentBuilder {
        self.client
            .put_object()
            .bucket(&self.name)
            .key(key)
            .body(ByteStream::from(bytes))
    }
}

fn is_missing(error: &GetObjectError) -> bool {
    error.is_no_such_key() || error.code() == Some("NoSuchVersion")
}

/// Whether S3 refuses to read an object because of how it was stored, which its uploader chose. All else that it refuses is
/// about the reader's rights.
pub(crate) fn unreadable(code: Option<&str>, message: Option<&str>) -> Option<Unreadable> {
    let says = |words: &str| message.is_some_and(|message| message.contains(words));
    match code? {
        "InvalidObjectState" => Some(Unreadable::Archived),
        // SSE-C: the key comes with each request, and only its owner has it
        "InvalidRequest" if says("Server Side Encryption") => Some(Unreadable::Encrypted),
        // a KMS key of somebody else, or one that is disabled, deleted or no longer there
        "AccessDenied" if says("kms:") || says("customer master key") => Some(Unreadable::Encrypted),
        "KMS.DisabledException"
        | "KMS.InvalidStateException"
        | "KMS.KMSInvalidStateException"
        | "KMS.NotFoundException" => Some(Unreadable::Encrypted),
        _ => None,
    }
}

#[async_trait]
impl Bucket for S3Bucket {
    async fn get(&self, key: &str, version: Option<&str>, max_bytes: u64) -> Result<Got, PortError> {
        let _call = self.meter.call();
        let Some(output) = self.request(key, version, None).await? else {
            return Ok(Got::Missing);
        };
        // The answer's head tells the size: the body of one that is too large is never read.
        let n_bytes = output.content_length().unwrap_or(0).max(0) as u64;
        let stored_at = output
            .last_modified()
            .and_then(|time| time.to_millis().ok())
            .map(Timestamp::from_unix_millis);
        if n_bytes > max_bytes {
            return Ok(Got::TooLarge { n_bytes });
        }
        let tag = output.e_tag().map(str::to_owned);
        let bytes = if n_bytes > 2 * PART_BYTES {
            drop(output.body);
            self.in_parts(key, (version, tag.as_deref()), n_bytes).await?
        } else {
            Some(self.body(key, output.body).await?)
        };
        Ok(bytes.map_or(Got::Missing, |bytes| {
            Got::Object(Object {
                bytes,
                stored_at,
                tag,
            })
        }))
    }

    async fn get_ranges(&self, key: &str, ranges: &[Range<u64>]) -> Result<Option<Vec<Bytes>>, PortError> {
        let _call = self.meter.call();
        let signed = self
            .connections
            .sign(&self.client, &self.name, key, ranges.len())
            .await;
        let signed = signed.as_ref();
        let part = |range: Range<u64>| async move {
            if range.is_empty() {
                return Ok(Some(Bytes::new()));
            }
            let bytes = match signed {
                Some(signed) => signed.get(&range).await,
                None => None,
            };
            match bytes {
                Some(bytes) => {
                    self.meter.read(bytes.len());
                    Ok(Some(bytes))
                }
                None => self.range(key, (None, None), range).await,
            }
        };
        let parts = stream::iter(ranges.iter().cloned().map(part)).buffered(RANGES_AT_ONCE);
        let parts: Vec<Option<Bytes>> = parts.try_collect().await?;
        Ok(parts.into_iter().collect())
    }

    async fn put(&self, key: &str, bytes: Bytes) -> Result<(), PortError> {
        let _call = self.meter.call();
        let sent = self.put_request(key, bytes).send().await;
        sent.map(drop)
            .map_err(|error| port_error(self.describe("writing", key), error))
    }

    async fn put_over(&self, key: &str, bytes: Bytes, read: &Object) -> Result<bool, PortError> {
        let Some(tag) = &read.tag else {
            self.put(key, bytes).await?;
            return Ok(true);
        };
        self.put_if(key, bytes, Some(tag)).await
    }

    async fn put_if_absent(&self, key: &str, bytes: Bytes) -> Result<bool, PortError> {
        let _call = self.meter.call();
        let mut retry = Retry::new(self.describe("writing", key));
        loop {
            let sent = self
                .put_request(key, bytes.clone())
                .if_none_match("*")
                .send()
                .await;
            match sent {
                Ok(_) => return Ok(true),
                Err(error) if error.code() == Some("PreconditionFailed") => return Ok(false),
                // Two conditional writes of one key at the same moment make S3 answer so to one of them.
                Err(error) if error.code() == Some("ConditionalRequestConflict") => {
                    retry
                        .busy(port_error(self.describe("writing", key), error))
                        .await?;
                }
                Err(error) => return Err(port_error(self.describe("writing", key), error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_encryption_errors_differ_from_missing_rights() {
        let sse_c = "The object was stored using a form of Server Side Encryption. The correct parameters must be provided to retrieve the object.";
        let foreign_key = "User: arn:aws:sts::111122223333:assumed-role/r/f is not authorized to perform: kms:Decrypt on resource: \
            arn:aws:kms:us-east-1:444455556666:key/k because no resource-based policy allows the kms:Decrypt action";
        let other_region = "The ciphertext refers to a customer master key that does not exist, does not exist in this region, or \
            you are not allowed to access.";
        let no_right = "User: arn:aws:sts::111122223333:assumed-role/r/f is not authorized to perform: s3:GetObject on resource: \
            \"arn:aws:s3:::b/k\" because no identity-based policy allows the s3:GetObject action";
        for (code, message, expected) in [
            (
                "InvalidObjectState",
                "The operation is not valid for the object's storage class",
                Some(Unreadable::Archived),
            ),
            ("InvalidRequest", sse_c, Some(Unreadable::Encrypted)),
            ("AccessDenied", foreign_key, Some(Unreadable::Encrypted)),
            ("AccessDenied", other_region, Some(Unreadable::Encrypted)),
            (
                "KMS.DisabledException",
                "key is disabled.",
                Some(Unreadable::Encrypted),
            ),
            ("AccessDenied", no_right, None),
            ("AccessDenied", "Access Denied", None),
            ("InvalidRequest", "Missing required header for this request", None),
            ("KMS.ThrottlingException", "slow down", None),
            ("SlowDown", "", None),
        ] {
            assert_eq!(
                unreadable(Some(code), Some(message)),
                expected,
                "{code} {message}"
            );
        }
        assert_eq!(unreadable(None, None), None);
    }
}
