//! Many small ranges of one object, under one signature.
//!
//! A request through the SDK costs a quarter of a millisecond of processor time, most of it for preparing, signing and
//! accounting; a submission's nine hundred images would cost more than their score. A presigned request leaves the
//! `Range` header unsigned, so that one signature serves for all ranges of an object. Whatever goes wrong on this way is
//! left to the SDK, which asks again and knows what an error means.

use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::presigning::PresigningConfig;
use bytes::Bytes;
use http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

/// From this many ranges on a signature is worth making; for fewer the SDK is as good.
const MANY: usize = 8;
/// How long the signature holds: much longer than reading takes.
const VALID: Duration = Duration::from_mins(5);
/// The time limit for a range, in addition to the time for its bytes. A new request is faster than
/// a longer wait.
const PATIENCE: Duration = Duration::from_secs(5);
/// How much longer a range is waited for with each of its bytes: many ranges share what the network gives.
const PATIENCE_A_BYTE: Duration = Duration::from_micros(2);

type HttpClient = legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// Connections to signed addresses, made with the first use and kept.
#[derive(Debug, Clone, Default)]
pub struct Connections(Arc<OnceLock<Option<HttpClient>>>);

impl Connections {
    /// The client; `None` where the system has no certificates.
    pub(crate) fn client(&self) -> Option<&HttpClient> {
        self.0.get_or_init(connect).as_ref()
    }

    /// A signature for `n_ranges` of an object, if they are worth one.
    pub(crate) async fn sign(
        &self,
        client: &Client,
        bucket: &str,
        key: &str,
        n_ranges: usize,
    ) -> Option<Signed<'_>> {
        if n_ranges < MANY {
            return None;
        }
        let http = self.client()?;
        let config = PresigningConfig::expires_in(VALID).ok()?;
        let request = client.get_object().bucket(bucket).key(key);
        let signed = request.presigned(config).await.ok()?;
        let uri = signed.uri().parse().ok()?;
        Some(Signed { http, uri })
    }
}

/// The identity of a function's requests in the logs of a bucket: the function's name and the
/// stream of its log.
pub(crate) fn user_agent() -> String {
    let name = |variable| std::env::var(variable).unwrap_or_default();
    let (function, stream) = (
        name("AWS_LAMBDA_FUNCTION_NAME"),
        name("AWS_LAMBDA_LOG_STREAM_NAME"),
    );
    format!("dataperf {function}/{stream}")
}

fn connect() -> Option<HttpClient> {
    let connector = HttpsConnectorBuilder::new()
        .with_provider_and_native_roots(rustls::crypto::ring::default_provider())
        .ok()?;
    let connector = connector.https_or_http().enable_http1().build();
    Some(legacy::Client::builder(TokioExecutor::new()).build(connector))
}

/// Permission to read ranges of one object.
pub(crate) struct Signed<'a> {
    http: &'a HttpClient,
    uri: Uri,
}

impl Signed<'_> {
    /// The bytes of a range; `None` for any answer that is not exactly these bytes.
    pub(crate) async fn get(&self, range: &Range<u64>) -> Option<Bytes> {
        let n_bytes = u32::try_from(range.end - range.start).ok()?;
        let patience = PATIENCE + PATIENCE_A_BYTE * n_bytes;
        tokio::time::timeout(patience, self.exactly(range)).await.ok()?
    }

    async fn exactly(&self, range: &Range<u64>) -> Option<Bytes> {
        let n_bytes = usize::try_from(range.end - range.start).ok()?;
        let request = Request::get(self.uri.clone())
            .header(header::RANGE, format!("bytes={}-{}", range.start, range.end - 1))
            .body(Full::default())
            .ok()?;
        let answer = self.http.request(request).await.ok()?;
        if answer.status() != StatusCode::PARTIAL_CONTENT {
            return None;
        }
        let body = Limited::new(answer.into_body(), n_bytes).collect().await.ok()?;
        Some(body.to_bytes()).filter(|bytes| bytes.len() == n_bytes)
    }
}
