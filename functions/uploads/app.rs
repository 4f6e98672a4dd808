//! The handler's settings from the environment.

use std::sync::Arc;

use axum::http::HeaderMap;
use dataperf::Timestamp;
use dataperf_aws::{FormKey, FormRequest, Resources, UploadForm, upload_form, variable};
use dataperf_http::{Problem, s3_as_reached};

/// How long a form is good for.
const VALID_SECONDS: u32 = 5 * 60;

/// The state kept between invocations; clones share it.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

struct Inner {
    resources: Resources,
    bucket: String,
    /// The bucket's address in AWS.
    url: String,
    /// The address of S3, for a cloud on one machine.
    local_s3: Option<String>,
}

impl App {
    pub(crate) fn from_environment() -> Result<Self, lambda_http::Error> {
        Ok(Self(Arc::new(Inner {
            resources: Resources::from_environment()?,
            bucket: variable("DATAPERF_SUBMISSIONS_BUCKET")?,
            url: variable("DATAPERF_SUBMISSIONS_URL")?,
            local_s3: variable("AWS_ENDPOINT_URL_S3").ok(),
        })))
    }

    pub(crate) fn resources(&self) -> &Resources {
        &self.0.resources
    }

    /// A form for `key` alone, as the page that asks reaches the bucket.
    pub(crate) async fn form(
        &self,
        key: &str,
        max_bytes: u64,
        headers: &HeaderMap,
        at: Timestamp,
    ) -> Result<UploadForm, Problem> {
        let clients = self.0.resources.clients().await;
        let credentials = clients.credentials().await.map_err(|error| {
            tracing::error!(%error, "the function has no credentials to sign with");
            Problem::fault("the form can't be signed: the organizer finds the cause in the function's log")
        })?;
        let local = self.0.local_s3.as_ref();
        let url = local.map_or_else(
            || self.0.url.clone(),
            |endpoint| format!("{}/{}", s3_as_reached(endpoint, headers), self.0.bucket),
        );
        let request = FormRequest {
            url: &url,
            bucket: &self.0.bucket,
            key: FormKey::Exactly(key),
            region: clients.region().unwrap_or("us-east-1"),
            max_bytes,
            valid_seconds: VALID_SECONDS,
        };
        Ok(upload_form(&request, &credentials, at))
    }
}
