//! Objects that a function without rights reads and writes: each at an address that a function with rights has signed, for one run of a
//! program.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_sdk_s3::presigning::PresigningConfig;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use dataperf::dataset::active::published_manifest;
use dataperf::dataset::dataset_prefix;
use dataperf::dataset::frozen::MANIFEST;
use dataperf::evaluation::workflow::WorkflowError;
use dataperf::ports::bucket::{Bucket, Got, Object};
use dataperf::ports::{PortError, async_trait};
use dataperf::programs::{ModelRun, Output, ProgramRequest};
use dataperf::{Timestamp, Upload};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full, Limited};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bucket::ranges::{Connections, user_agent};
use crate::bucket::{S3Bucket, SignedObjects, unreadable};
use crate::events::fault::Fault;
use crate::runtime::now;
use crate::sdk::retry::Retry;

/// How long addresses hold: as long as Lambda keeps an event at most, and an hour for the run. They hold no longer than the credentials that
/// signed them.
const VALID: Duration = Duration::from_hours(7);
/// Bytes of all addresses of a run.
const MAX_ADDRESSES_BYTES: u64 = 64 << 20;
/// The time limit for an answer, in addition to the time for its bytes.
const PATIENCE: Duration = Duration::from_secs(30);
/// How much longer with each byte that may come or go.
const PATIENCE_A_BYTE: Duration = Duration::from_micros(2);
/// Bytes of an answer that says what went wrong.
const MAX_REFUSAL_BYTES: usize = 64 << 10;
/// How many ranges are read at once.
const RANGES_AT_ONCE: usize = 16;

/// S3's error codes for expired credentials, with which signed addresses expire too.
const GONE: [&str; 3] = ["ExpiredToken", "InvalidAccessKeyId", "InvalidToken"];

/// The addresses of all that one run of a program reads and writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Addresses {
    expires_at: Timestamp,
    submissions: SignedObjects,
    datasets: SignedObjects,
}

impl Addresses {
    /// The member of an event that has the addresses.
    pub const EVENT: &str = "addresses";

    /// Signs the addresses of a submission's run: the program and its output, and what participants may have of both data sets.
    ///
    /// # Errors
    /// [`WorkflowError`] when a data set can't be read, or there are no credentials to sign with.
    pub async fn of_run(
        submissions: &S3Bucket,
        datasets: &S3Bucket,
        upload: &Upload,
        request: &ProgramRequest,
        is_public: fn(&str) -> bool,
    ) -> Result<Self, WorkflowError> {
        let benchmark = &request.benchmark;
        let mut keys = Vec::new();
        for dataset in [request.dataset, request.programs.public] {
            let prefix = dataset_prefix(benchmark, dataset);
            let manifest = published_manifest(datasets, benchmark, dataset).await?;
            let public = manifest.files.keys().filter(|path| is_public(path));
            keys.extend(public.map(|path| format!("{prefix}{path}")));
            keys.push(format!("{prefix}{MANIFEST}"));
        }
        let (config, expires_at) = validity()?;
        let output = Output::key(benchmark, &upload.id());
        let program = (upload.key.clone(), upload.version.clone());
        let read = vec![program, (output.clone(), None)];
        let keys = keys.into_iter().map(|key| (key, None)).collect();
        Ok(Self {
            expires_at,
            submissions: submissions.signed(read, vec![output], &config).await?,
            datasets: datasets.signed(keys, Vec::new(), &config).await?,
        })
    }

    /// Signs the addresses of a model that is a program of a data set.
    ///
    /// # Errors
    /// [`PortError`] when there are no credentials to sign with.
    pub async fn of_model(datasets: &S3Bucket, run: &ModelRun) -> Result<Self, PortError> {
        let prefix = dataset_prefix(&run.benchmark, run.dataset);
        let keys = [MANIFEST, &run.file].map(|path| (format!("{prefix}{path}"), None));
        let (config, expires_at) = validity()?;
        Ok(Self {
            expires_at,
            submissions: SignedObjects::default(),
            datasets: datasets.signed(keys.into(), Vec::new(), &config).await?,
        })
    }

    /// The addresses as a member of an event. They are compressed, because each has the same long token: an event takes 1 MB.
    ///
    /// # Errors
    /// [`PortError`] when they can't be compressed.
    pub fn packed(&self) -> Result<String, PortError> {
        let pack = || -> std::io::Result<String> {
            let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
            packed.write_all(&serde_json::to_vec(self)?)?;
            Ok(STANDARD.encode(packed.finish()?))
        };
        pack().map_err(|error| PortError::Malformed {
            subject: "the addresses of a run".into(),
            why: error.to_string(),
        })
    }

    /// The addresses of an event.
    ///
    /// # Errors
    /// [`Fault`] when it has none.
    pub fn of_event(event: &Value) -> Result<Self, Fault> {
        let packed = event.get(Self::EVENT).and_then(Value::as_str);
        let packed = packed.ok_or_else(|| Fault::event("it has no addresses of what it is about"))?;
        let unpack = || -> Result<Self, Box<dyn std::error::Error>> {
            let packed = STANDARD.decode(packed)?;
            let mut document = Vec::new();
            let mut unpacked = ZlibDecoder::new(&packed[..]).take(MAX_ADDRESSES_BYTES);
            unpacked.read_to_end(&mut document)?;
            Ok(serde_json::from_slice(&document)?)
        };
        unpack().map_err(|error| Fault::event(format!("its addresses can't be read: {error}")))
    }

    /// The buckets of submissions and of data sets, as far as there are addresses.
    pub fn buckets(self, connections: &Connections) -> (SignedBucket, SignedBucket) {
        let bucket = |objects| SignedBucket {
            objects: Arc::new(objects),
            expires_at: self.expires_at,
            connections: connections.clone(),
        };
        (bucket(self.submissions), bucket(self.datasets))
    }
}

fn validity() -> Result<(PresigningConfig, Timestamp), PortError> {
    let begins = SystemTime::now();
    let config = PresigningConfig::builder().start_time(begins).expires_in(VALID);
    let config = config.build().map_err(|error| PortError::Transient {
        subject: "signing addresses".into(),
        source: Box::new(error),
    })?;
    let millis = now().unix_millis() + i64::try_from(VALID.as_millis()).unwrap_or_default();
    Ok((config, Timestamp::from_unix_millis(millis)))
}

/// A bucket of which there are addresses of some objects, and no rights.
#[derive(Debug, Clone)]
pub struct SignedBucket {
    objects: Arc<SignedObjects>,
    expires_at: Timestamp,
    connections: Connections,
}

/// A request to one address.
struct Sending<'a> {
    subject: String,
    method: Method,
    address: &'a str,
    range: Option<String>,
    body: Bytes,
    /// Bytes of the answer.
    max_bytes: u64,
}

impl SignedBucket {
    /// A request to an address, which must exist.
    fn sending<'a>(
        key: &str,
        method: Method,
        addresses: &'a BTreeMap<String, String>,
    ) -> Result<Sending<'a>, PortError> {
        let subject = format!("{method} of `{key}` at its signed address");
        let Some(address) = addresses.get(key) else {
            let source = "it has no signed address".into();
            return Err(PortError::Refused { subject, source });
        };
        Ok(Sending {
            subject,
            method,
            address,
            range: None,
            body: Bytes::new(),
            max_bytes: MAX_REFUSAL_BYTES as u64,
        })
    }

    /// Sends a request, again when that may help.
    async fn send(&self, sending: &Sending<'_>) -> Result<Got, PortError> {
        let mut retry = Retry::new(&sending.subject);
        let n_bytes = sending.max_bytes.max(sending.body.len() as u64);
        let patience = PATIENCE + PATIENCE_A_BYTE * u32::try_from(n_bytes).unwrap_or(u32::MAX);
        loop {
            let sent = tokio::time::timeout(patience, self.send_once(sending)).await;
            let sent = sent.unwrap_or_else(|late| Err(transient(&sending.subject, late)));
            match sent {
                Err(error) if error.is_transient() => retry.busy(error).await?,
                sent => return sent,
            }
        }
    }

    async fn send_once(&self, sending: &Sending<'_>) -> Result<Got, PortError> {
        let subject = &sending.subject;
        let refused = |source: Box<dyn std::error::Error + Send + Sync>| PortError::Refused {
            subject: subject.clone(),
            source,
        };
        let http = self.connections.client();
        let http = http.ok_or_else(|| refused("this machine has no certificates".into()))?;
        let mut request = Request::builder()
            .method(&sending.method)
            .uri(sending.address)
            .header(header::USER_AGENT, user_agent());
        if let Some(range) = &sending.range {
            request = request.header(header::RANGE, range);
        }
        let request = request.body(Full::new(sending.body.clone()));
        let request = request.map_err(|error| refused(error.into()))?;
        let answer = http.request(request).await;
        let (head, body) = answer.map_err(|error| transient(subject, error))?.into_parts();
        if !head.status.is_success() {
            let body = Limited::new(body, MAX_REFUSAL_BYTES).collect().await;
            let body = body.map_err(|error| transient(subject, error))?.to_bytes();
            return self.refusal(subject, head.status, &String::from_utf8_lossy(&body));
        }
        let length = head.headers.get(header::CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
        if let Some(n_bytes) = length.filter(|&n_bytes| n_bytes > sending.max_bytes) {
            return Ok(Got::TooLarge { n_bytes });
        }
        let limit = usize::try_from(sending.max_bytes).unwrap_or(usize::MAX);
        let body = Limited::new(body, limit).collect().await;
        let bytes = body.map_err(|error| transient(subject, error))?.to_bytes();
        Ok(Got::Object(Object {
            bytes,
            stored_at: None,
            tag: None,
        }))
    }

    /// The meaning of S3's error answers.
    fn refusal(&self, subject: &str, status: StatusCode, body: &str) -> Result<Got, PortError> {
        let (code, message) = (element(body, "Code"), element(body, "Message"));
        let subject = subject.to_owned();
        if let Some(why) = unreadable(code, message) {
            return Err(PortError::Unreadable { subject, why });
        }
        let is_over = code == Some("AccessDenied") && self.expires_at <= now();
        if is_over || code.is_some_and(|code| GONE.contains(&code)) {
            return Err(PortError::Expired { subject });
        }
        if status == StatusCode::NOT_FOUND && code != Some("NoSuchBucket") {
            return Ok(Got::Missing);
        }
        let text = format!(
            "{status}: {} {}",
            code.unwrap_or_default(),
            message.unwrap_or_default()
        );
        let is_busy = status.is_server_error()
            || status == StatusCode::TOO_MANY_REQUESTS
            || matches!(
                code,
                Some("RequestTimeout" | "OperationAborted" | "ConditionalRequestConflict")
            );
        if is_busy {
            return Err(transient(&subject, text));
        }
        let source = text.into();
        Err(PortError::Refused { subject, source })
    }
}

fn transient(subject: &str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> PortError {
    PortError::Transient {
        subject: subject.to_owned(),
        source: source.into(),
    }
}

/// The text of the first element of this name in an error of S3's.
fn element<'a>(body: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = body.split_once(&format!("<{name}>"))?;
    Some(rest.split_once('<')?.0)
}

#[async_trait]
impl Bucket for SignedBucket {
    /// The address fixes the version.
    async fn get(&self, key: &str, _version: Option<&str>, max_bytes: u64) -> Result<Got, PortError> {
        let sending = Self::sending(key, Method::GET, &self.objects.reads)?;
        self.send(&Sending { max_bytes, ..sending }).await
    }

    async fn get_ranges(&self, key: &str, ranges: &[Range<u64>]) -> Result<Option<Vec<Bytes>>, PortError> {
        let part = |range: Range<u64>| async move {
            if range.is_empty() {
                return Ok(Some(Bytes::new()));
            }
            let max_bytes = range.end - range.start;
            let sending = Sending {
                range: Some(format!("bytes={}-{}", range.start, range.end - 1)),
                max_bytes,
                ..Self::sending(key, Method::GET, &self.objects.reads)?
            };
            match self.send(&sending).await? {
                Got::Missing => Ok(None),
                Got::Object(object) if object.bytes.len() as u64 == max_bytes => Ok(Some(object.bytes)),
                other => Err(PortError::Malformed {
                    subject: sending.subject,
                    why: format!("{max_bytes} bytes of a range were asked for, and {other:?} came"),
                }),
            }
        };
        let parts = stream::iter(ranges.iter().cloned().map(part)).buffered(RANGES_AT_ONCE);
        let parts: Vec<Option<Bytes>> = parts.try_collect().await?;
        Ok(parts.into_iter().collect())
    }

    async fn put(&self, key: &str, body: Bytes) -> Result<(), PortError> {
        let sending = Self::sending(key, Method::PUT, &self.objects.writes)?;
        let sending = Sending { body, ..sending };
        match self.send(&sending).await? {
            Got::Object(_) => Ok(()),
            other => Err(PortError::Malformed {
                subject: sending.subject,
                why: format!("{other:?} is not an answer to a write"),
            }),
        }
    }

    async fn put_if_absent(&self, key: &str, _bytes: Bytes) -> Result<bool, PortError> {
        Err(PortError::Refused {
            subject: format!("writing `{key}` unless it is there"),
            source: "no address is signed for that".into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Addresses of so many objects. Like addresses signed at one moment, they differ only in key
    /// and signature.
    fn addresses(n: usize) -> Addresses {
        let token: String = (0..1_400).map(|_| fastrand::alphanumeric()).collect();
        let address = |n: usize| {
            let key = format!(
                "acquisition/{}/public/sellers/{n}.json",
                dataperf::Digest::compute(b"data").hex()
            );
            let signature = dataperf::Digest::compute(&n.to_le_bytes()).hex();
            let host = "https://dataperf-datasets-111122223333-eu-central-1.s3.eu-central-1.amazonaws.com";
            let address = format!(
                "{host}/{key}?x-id=GetObject&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Expires=25200&X-Amz-Signature={signature}\
                 &X-Amz-Security-Token={token}"
            );
            (key, address)
        };
        Addresses {
            expires_at: Timestamp::from_unix_millis(1),
            submissions: SignedObjects::default(),
            datasets: SignedObjects {
                reads: (0..n).map(address).collect(),
                writes: BTreeMap::new(),
            },
        }
    }

    #[test]
    fn the_largest_markets_addresses_fit_into_an_event() {
        let addresses = addresses(2_004);
        let packed = addresses.packed().expect("packed");
        assert!(packed.len() < 256 << 10, "{}", packed.len());
        let event = serde_json::json!({ Addresses::EVENT: packed });
        assert_eq!(Addresses::of_event(&event), Ok(addresses));
        for event in [
            serde_json::json!({}),
            serde_json::json!({ Addresses::EVENT: "AAAA" }),
        ] {
            assert_eq!(
                Addresses::of_event(&event).expect_err("no addresses").kind,
                dataperf::evaluation::failure_judge::FaultKind::Event
            );
        }
    }

    fn refusal(expires_at: i64, status: u16, body: &str) -> Result<Got, PortError> {
        let bucket = SignedBucket {
            objects: Arc::default(),
            expires_at: Timestamp::from_unix_millis(expires_at),
            connections: Connections::default(),
        };
        bucket.refusal("reading", StatusCode::from_u16(status).expect("a status"), body)
    }

    #[test]
    fn an_expired_address_is_no_missing_right() {
        let denied = "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>";
        let gone =
            "<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>";
        let far = i64::MAX / 4;
        assert!(matches!(refusal(1, 403, denied), Err(PortError::Expired { .. })));
        assert!(matches!(
            refusal(far, 403, denied),
            Err(PortError::Refused { .. })
        ));
        assert!(matches!(refusal(far, 400, gone), Err(PortError::Expired { .. })));
        assert!(matches!(refusal(far, 503, ""), Err(PortError::Transient { .. })));
        let missing = "<Error><Code>NoSuchKey</Code></Error>";
        assert!(matches!(refusal(1, 404, missing), Ok(Got::Missing)));
        let no_bucket = "<Error><Code>NoSuchBucket</Code></Error>";
        assert!(matches!(
            refusal(far, 404, no_bucket),
            Err(PortError::Refused { .. })
        ));
    }
}
