//! Keys of AWS KMS: signing receipts, and what rotating the key needs. Private halves never leave KMS.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dataperf::Timestamp;
use dataperf::ports::signer::{Signed, Signer};
use dataperf::ports::{PortError, async_trait};
use dataperf::signature::{ALGORITHM, PublicKey};
use serde_json::{Value, json};

use crate::sdk::port_error::port_error;
use crate::sdk::service::{Post, Service};

/// A key of KMS by its alias, its id or its ARN.
#[derive(Debug, Clone)]
pub struct KmsKey {
    service: Service,
    name: String,
}

impl KmsKey {
    /// The key to which `name` refers at the time of use: an alias may move to another key.
    pub fn new(service: Service, name: impl Into<String>) -> Self {
        Self {
            service,
            name: name.into(),
        }
    }

    /// Its public half, for receipts of a benchmark, as valid from a time on.
    ///
    /// # Errors
    /// [`PortError`] when there is no such key, or it is not on the curve P-256 and for signing.
    pub async fn public_key(&self, benchmark: &str, valid_from: Timestamp) -> Result<PublicKey, PortError> {
        let answer = self.ask("GetPublicKey", &json!({ "KeyId": self.name })).await?;
        let can_sign = answer["SigningAlgorithms"].as_array();
        if !can_sign.is_some_and(|can| can.iter().any(|can| can == ALGORITHM)) {
            return Err(self.malformed(format!("it does not sign with `{ALGORITHM}`")));
        }
        let der = self.bytes(&answer, "PublicKey")?;
        Ok(PublicKey::new(self.key_id(&answer)?, benchmark, &der, valid_from))
    }

    /// Makes a key for signing receipts and returns its id. Nothing uses the key yet.
    ///
    /// # Errors
    /// [`PortError`] when KMS makes none.
    pub async fn create(&self) -> Result<String, PortError> {
        let request = json!({
            "KeySpec": "ECC_NIST_P256", "KeyUsage": "SIGN_VERIFY", "Description": format!("signs receipts as {}", self.name),
            "Tags": [{ "TagKey": "project", "TagValue": "dataperf" }], // it is in no stack: who takes one down finds it by this
        });
        let answer = self.ask("CreateKey", &request).await?;
        let id = answer["KeyMetadata"]["KeyId"].as_str();
        id.map(str::to_owned)
            .ok_or_else(|| self.malformed("the answer has no `KeyMetadata/KeyId`".into()))
    }

    /// Points the alias to another key, which signs everything from then on.
    ///
    /// # Errors
    /// [`PortError`] when there is no such alias or key.
    pub async fn point_at(&self, key_id: &str) -> Result<(), PortError> {
        let request = json!({ "AliasName": self.name, "TargetKeyId": key_id });
        self.ask("UpdateAlias", &request).await.map(drop)
    }

    async fn sign(&self, message: &[u8]) -> Result<Signed, PortError> {
        let request = json!({
            "KeyId": self.name, "Message": STANDARD.encode(message), "MessageType": "RAW", "SigningAlgorithm": ALGORITHM,
        });
        let answer = self.ask("Sign", &request).await?;
        Ok(Signed {
            key: self.key_id(&answer)?,
            signature: self.bytes(&answer, "Signature")?,
        })
    }

    async fn ask(&self, operation: &'static str, request: &Value) -> Result<Value, PortError> {
        let target = match operation {
            "Sign" => "TrentService.Sign",
            "GetPublicKey" => "TrentService.GetPublicKey",
            "CreateKey" => "TrentService.CreateKey",
            _ => "TrentService.UpdateAlias",
        };
        let post = Post {
            operation,
            path: "/".into(),
            headers: vec![
                ("content-type", "application/x-amz-json-1.1"),
                ("x-amz-target", target),
            ],
            body: request.to_string(),
        };
        let answer = self.service.post(post).await;
        let answer = answer.map_err(|error| port_error(self.describe(operation), error))?;
        if answer.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&answer).map_err(|error| self.malformed(error.to_string()))
    }

    fn describe(&self, operation: &str) -> String {
        format!("{operation} of KMS with the key `{}`", self.name)
    }

    fn malformed(&self, why: String) -> PortError {
        PortError::Malformed {
            subject: format!("the key `{}` of KMS", self.name),
            why,
        }
    }

    fn bytes(&self, answer: &Value, member: &str) -> Result<Vec<u8>, PortError> {
        let base64 = answer[member]
            .as_str()
            .and_then(|text| STANDARD.decode(text).ok());
        base64.ok_or_else(|| self.malformed(format!("the answer's `{member}` is no base64")))
    }

    /// The id behind the last slash of the key's ARN, which has no account in it.
    fn key_id(&self, answer: &Value) -> Result<String, PortError> {
        let arn = answer["KeyId"].as_str();
        let id = arn.and_then(|arn| arn.rsplit('/').next());
        id.map(str::to_owned)
            .ok_or_else(|| self.malformed("the answer has no `KeyId`".into()))
    }
}

/// The keys that sign receipts: of each benchmark the one behind the alias `PREFIX-BENCHMARK`, so that a role may sign for one
/// benchmark alone. Aliases may share a key.
#[derive(Debug, Clone)]
pub struct ReceiptKeys {
    service: Service,
    prefix: String,
}

impl ReceiptKeys {
    /// The keys whose aliases begin with a prefix.
    pub fn new(service: Service, prefix: impl Into<String>) -> Self {
        Self {
            service,
            prefix: prefix.into(),
        }
    }

    /// The key for receipts of a benchmark.
    pub fn for_benchmark(&self, benchmark: &str) -> KmsKey {
        KmsKey::new(self.service.clone(), format!("{}-{benchmark}", self.prefix))
    }
}

#[async_trait]
impl Signer for ReceiptKeys {
    async fn sign(&self, benchmark: &str, message: &[u8]) -> Result<Signed, PortError> {
        self.for_benchmark(benchmark).sign(message).await
    }
}
