//! The SDK's clients, made from the environment as every AWS tool makes them.

use aws_config::{BehaviorVersion, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::ProvideCredentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};

use crate::sdk::service::{Service, ServiceName};

/// One client a service, sharing one connection pool.
#[derive(Debug, Clone)]
pub struct Clients {
    /// S3.
    pub s3: aws_sdk_s3::Client,
    /// DynamoDB.
    pub dynamodb: aws_sdk_dynamodb::Client,
    shared: SdkConfig,
}

impl Clients {
    /// Clients for the region, credentials and endpoints of the environment and the profile: `AWS_REGION`,
    /// `AWS_PROFILE`, `AWS_ENDPOINT_URL_S3` and so on. Nothing is sent yet.
    pub async fn from_environment() -> Self {
        Self::new(&configuration().load().await)
    }

    /// Clients for a cloud at other addresses, such as the one on this machine, with fixed credentials.
    pub async fn at(s3_endpoint: &str, dynamodb_endpoint: &str, access_key: &str, secret_key: &str) -> Self {
        let credentials = aws_sdk_s3::config::Credentials::new(access_key, secret_key, None, None, "fixed");
        let loader = configuration()
            .credentials_provider(credentials)
            .region(aws_config::Region::new("us-east-1"));
        let shared = loader.load().await;
        let s3 = aws_sdk_s3::config::Builder::from(&shared)
            .endpoint_url(s3_endpoint)
            .force_path_style(true);
        let dynamodb = aws_sdk_dynamodb::config::Builder::from(&shared).endpoint_url(dynamodb_endpoint);
        Self {
            s3: aws_sdk_s3::Client::from_conf(s3.build()),
            dynamodb: aws_sdk_dynamodb::Client::from_conf(dynamodb.build()),
            shared,
        }
    }

    /// A client of Lambda with the same credentials, at `endpoint` or where the environment says.
    pub fn lambda(&self, endpoint: Option<&str>) -> Service {
        Service::new(ServiceName::Lambda, &self.shared, endpoint)
    }

    /// A client of KMS with the same credentials, at `endpoint` or where the environment says.
    pub fn kms(&self, endpoint: Option<&str>) -> Service {
        Service::new(ServiceName::Kms, &self.shared, endpoint)
    }

    /// A client of Secrets Manager with the same credentials, at `endpoint` or where the environment says.
    pub fn secrets_manager(&self, endpoint: Option<&str>) -> Service {
        Service::new(ServiceName::SecretsManager, &self.shared, endpoint)
    }

    /// The credentials that requests are signed with.
    ///
    /// # Errors
    /// When the environment has none, or they can't be renewed.
    pub async fn credentials(&self) -> Result<Credentials, CredentialsError> {
        let provider = self.shared.credentials_provider();
        let provider =
            provider.ok_or_else(|| CredentialsError::not_loaded("no credentials are configured"))?;
        provider.provide_credentials().await
    }

    /// The region that requests go to.
    pub fn region(&self) -> Option<&str> {
        self.shared.region().map(AsRef::as_ref)
    }

    fn new(shared: &SdkConfig) -> Self {
        Self {
            s3: aws_sdk_s3::Client::new(shared),
            dynamodb: aws_sdk_dynamodb::Client::new(shared),
            shared: shared.clone(),
        }
    }
}

fn configuration() -> aws_config::ConfigLoader {
    let http = Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::Ring))
        .build_https();
    aws_config::defaults(BehaviorVersion::latest()).http_client(http)
}
