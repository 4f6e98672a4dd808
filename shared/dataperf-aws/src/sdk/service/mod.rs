//! AWS services with one needed operation, without a generated client: Lambda's alone takes a
//! minute and a half of processor time to build. Signing, retries, time limits and tracing come
//! from the SDK, as for a generated client.

use std::fmt;

use aws_config::{BehaviorVersion, SdkConfig};
use aws_runtime::auth::sigv4::{SCHEME_ID, SigV4AuthScheme};
use aws_runtime::auth::{SigV4OperationSigningConfig, SigningOptions};
use aws_runtime::recursion_detection::RecursionDetectionInterceptor;
use aws_runtime::retries::classifiers::AwsErrorCodeClassifier;
use aws_sdk_dynamodb::config::endpoint::{DefaultResolver, Params, ResolveEndpoint};
use aws_smithy_runtime::client::orchestrator::operation::Operation;
use aws_smithy_runtime::client::retries::classifiers::{HttpStatusCodeClassifier, TransientErrorClassifier};
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::auth::static_resolver::StaticAuthSchemeOptionResolver;
use aws_smithy_runtime_api::client::auth::{
    AuthSchemeOptionResolverParams, SharedAuthScheme, SharedAuthSchemeOptionResolver,
};
use aws_smithy_runtime_api::client::identity::SharedIdentityResolver;
use aws_smithy_runtime_api::client::orchestrator::{
    HttpRequest, HttpResponse, OrchestratorError, SensitiveOutput,
};
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponentsBuilder;
use aws_smithy_runtime_api::client::runtime_plugin::StaticRuntimePlugin;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::config_bag::Layer;
use aws_smithy_types::error::ErrorMetadata;
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use aws_types::service_config::ServiceConfigKey;
use aws_types::{SigningName, region::SigningRegion};
use bytes::Bytes;
use serde_json::Value;

/// A service that has no generated client here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServiceName {
    /// AWS Key Management Service.
    Kms,
    /// AWS Lambda.
    Lambda,
    /// AWS Secrets Manager.
    SecretsManager,
}

impl ServiceName {
    /// The name in the environment and profiles: `AWS_ENDPOINT_URL_SECRETS_MANAGER`.
    fn id(self) -> &'static str {
        match self {
            Self::Kms => "KMS",
            Self::Lambda => "Lambda",
            Self::SecretsManager => "Secrets Manager",
        }
    }

    /// The name in signatures and host names.
    fn signing_name(self) -> &'static str {
        match self {
            Self::Kms => "kms",
            Self::Lambda => "lambda",
            Self::SecretsManager => "secretsmanager",
        }
    }
}

/// A client of a service.
#[derive(Debug, Clone)]
pub struct Service {
    name: ServiceName,
    endpoint: Option<String>,
    shared: SdkConfig,
}

/// A `POST` request.
pub struct Post {
    /// The operation's name, for traces.
    pub operation: &'static str,
    /// The path, percent-encoded.
    pub path: String,
    /// Headers in addition to those of the signature.
    pub headers: Vec<(&'static str, &'static str)>,
    /// The body.
    pub body: String,
}

impl fmt::Debug for Post {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Post({}, {} bytes)", self.operation, self.body.len())
    }
}

/// Why the service did not answer as it should.
pub type ServiceError = SdkError<ErrorMetadata, HttpResponse>;

impl Service {
    /// A client with the region, credentials, retries and HTTP client of `shared`. It calls `endpoint`, or the address that the environment or the
    /// profile says, or the one that AWS has.
    pub(crate) fn new(name: ServiceName, shared: &SdkConfig, endpoint: Option<&str>) -> Self {
        Self {
            name,
            endpoint: endpoint
                .map(str::to_owned)
                .or_else(|| configured_endpoint(name, shared)),
            shared: shared.clone(),
        }
    }

    /// Sends the request, again when that may help, and returns the answer's body.
    ///
    /// # Errors
    /// [`ServiceError`]: the service's error with its code, no answer, or no region or credentials.
    pub async fn post(&self, request: Post) -> Result<Bytes, ServiceError> {
        let endpoint = match &self.endpoint {
            Some(endpoint) => endpoint.clone(),
            None => usual_endpoint(self.name, &self.shared)
                .await
                .map_err(SdkError::construction_failure)?,
        };
        let shared = &self.shared;
        let retries = shared.retry_config().cloned();
        let timeouts = shared.timeout_config().cloned();
        let mut operation = Operation::builder()
            .service_name(self.name.id())
            .operation_name(request.operation)
            .behavior_version(BehaviorVersion::latest())
            .endpoint_url(&endpoint)
            .standard_retry(&retries.unwrap_or_else(RetryConfig::standard))
            .timeout_config(timeouts.unwrap_or_else(TimeoutConfig::disabled))
            .retry_classifier(TransientErrorClassifier::<ErrorMetadata>::new())
            .retry_classifier(AwsErrorCodeClassifier::<ErrorMetadata>::new())
            .retry_classifier(HttpStatusCodeClassifier::default())
            .with_connection_poisoning()
            .interceptor(RecursionDetectionInterceptor::new())
            .runtime_plugin(self.signing());
        if let Some(http) = shared.http_client() {
            operation = operation.http_client(http);
        }
        if let Some(sleep) = shared.sleep_impl() {
            operation = operation.sleep_impl(sleep);
        }
        if let Some(time) = shared.time_source() {
            operation = operation.time_source(time);
        }
        let operation = operation.serializer(serialized).deserializer(deserialized);
        operation.build().invoke(request).await
    }

    /// Signature Version 4 for this service.
    #[expect(
        clippy::field_reassign_with_default,
        reason = "the type is non-exhaustive: no literal can make it"
    )]
    fn signing(&self) -> StaticRuntimePlugin {
        let shared = &self.shared;
        let mut components = RuntimeComponentsBuilder::new("signing");
        components.set_auth_scheme_option_resolver(Some(SharedAuthSchemeOptionResolver::new(
            StaticAuthSchemeOptionResolver::new(vec![SCHEME_ID]),
        )));
        components.push_auth_scheme(SharedAuthScheme::new(SigV4AuthScheme::new()));
        components.set_identity_cache(shared.identity_cache());
        if let Some(credentials) = shared.credentials_provider() {
            components.set_identity_resolver(SCHEME_ID, SharedIdentityResolver::new(credentials));
        }
        let mut signing = SigV4OperationSigningConfig::default();
        signing.signing_options = SigningOptions::default();
        signing.region = shared.region().cloned().map(SigningRegion::from);
        signing.name = Some(SigningName::from_static(self.name.signing_name()));
        let mut layer = Layer::new("signing");
        layer.store_put(AuthSchemeOptionResolverParams::new(()));
        layer.store_put(signing);
        layer.store_put(SensitiveOutput); // a secret is in no log, whatever is logged
        StaticRuntimePlugin::new()
            .with_config(layer.freeze())
            .with_runtime_components(components)
    }
}

/// The address that is configured: `AWS_ENDPOINT_URL_LAMBDA` and the like, `AWS_ENDPOINT_URL`, or what the profile has for them.
fn configured_endpoint(name: ServiceName, shared: &SdkConfig) -> Option<String> {
    let key = ServiceConfigKey::builder()
        .service_id(name.id())
        .env("AWS_ENDPOINT_URL")
        .profile("endpoint_url")
        .build()
        .ok()?;
    let own = shared
        .service_config()
        .and_then(|configuration| configuration.load_config(key));
    own.or_else(|| shared.endpoint_url().map(str::to_owned))
}

/// The service's usual address, made of DynamoDB's in the region with another name in it: partitions, dual stack and FIPS are alike.
async fn usual_endpoint(name: ServiceName, shared: &SdkConfig) -> Result<String, BoxError> {
    let params = Params::builder()
        .set_region(shared.region().map(ToString::to_string))
        .set_use_fips(shared.use_fips())
        .set_use_dual_stack(shared.use_dual_stack())
        .build()?;
    let dynamodb = DefaultResolver::new().resolve_endpoint(&params).await?;
    Ok(dynamodb.url().replacen("dynamodb", name.signing_name(), 1))
}

fn serialized(post: Post) -> Result<HttpRequest, BoxError> {
    let mut request = HttpRequest::new(SdkBody::from(post.body));
    request.set_method("POST")?;
    request.set_uri(post.path)?;
    for (name, value) in post.headers {
        request.headers_mut().insert(name, value);
    }
    Ok(request)
}

fn deserialized(response: &HttpResponse) -> Result<Bytes, OrchestratorError<ErrorMetadata>> {
    let body = response.body().bytes().unwrap_or_default();
    if response.status().is_success() {
        return Ok(Bytes::copy_from_slice(body));
    }
    Err(OrchestratorError::operation(error(
        response.headers().get("x-amzn-errortype"),
        body,
    )))
}

/// An error as services that speak JSON write it: the code in a header or in the body, among other things.
///
/// # Source
/// Smithy, "AWS JSON 1.1 protocol" and "AWS restJson1 protocol", "Operation error serialization".
fn error(header: Option<&str>, body: &[u8]) -> ErrorMetadata {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = |names: &[&str]| names.iter().find_map(|&name| body[name].as_str());
    let mut error = ErrorMetadata::builder();
    if let Some(code) = header.or_else(|| text(&["code", "__type"])) {
        let code = code.split(':').next().unwrap_or_default();
        error = error.code(code.rsplit('#').next().unwrap_or_default());
    }
    if let Some(message) = text(&["message", "Message", "errorMessage"]) {
        error = error.message(message);
    }
    error.build()
}

#[cfg(test)]
mod tests;
