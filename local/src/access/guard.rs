//! Checks the signature and the caller's rights for requests to `DynamoDB`, Lambda, Secrets Manager
//! and KMS.

use std::sync::Arc;

use http::StatusCode;
use http::request::Parts;

use super::signature::Claim;
use super::{Callers, Rights, table};
use crate::arns::{function_arn, secret_arn};
use crate::policy::Request;

/// Why a request is refused, in AWS's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

/// Knows everybody.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    callers: Arc<Callers>,
}

impl Guard {
    pub(crate) fn new(callers: &Arc<Callers>) -> Self {
        Self {
            callers: Arc::clone(callers),
        }
    }

    /// Lets a request to `DynamoDB` pass if its caller may do all that it asks for.
    pub(crate) fn table(&self, parts: &Parts, body: &[u8]) -> Result<(), Refused> {
        let (access_key, rights) = self.caller(parts, body, "dynamodb")?;
        if let Rights::These(_) = rights {
            let wanted = table::wanted(parts, body, self.callers.partition_keys());
            let wanted = wanted.map_err(|message| Refused {
                status: StatusCode::BAD_REQUEST,
                code: "ValidationException",
                message,
            })?;
            for wanted in wanted {
                check(&access_key, &rights, &wanted.request())?;
            }
        }
        Ok(())
    }

    /// Lets an invocation pass if its caller may invoke the function.
    pub(crate) fn invocation(&self, parts: &Parts, body: &[u8], function: &str) -> Result<(), Refused> {
        let (access_key, rights) = self.caller(parts, body, "lambda")?;
        let request = Request {
            action: "lambda:InvokeFunction",
            resource: &function_arn(function),
            context: [].into(),
        };
        check(&access_key, &rights, &request)
    }

    /// Lets a request for a secret pass if its caller may read it.
    pub(crate) fn secret(&self, parts: &Parts, body: &[u8], name: &str) -> Result<(), Refused> {
        let (access_key, rights) = self.caller(parts, body, "secretsmanager")?;
        let request = Request {
            action: "secretsmanager:GetSecretValue",
            resource: &secret_arn(name),
            context: [].into(),
        };
        check(&access_key, &rights, &request)
    }

    /// Admits a request to KMS if its caller may take the action on the resource, which may be
    /// named by an alias.
    pub(crate) fn key(
        &self,
        parts: &Parts,
        body: &[u8],
        action: &str,
        resource: &str,
        alias: Option<&str>,
    ) -> Result<(), Refused> {
        let (access_key, rights) = self.caller(parts, body, "kms")?;
        let alias = alias.map(|alias| ("kms:RequestAlias", vec![alias.to_owned()]));
        let request = Request {
            action,
            resource,
            context: alias.into_iter().collect(),
        };
        check(&access_key, &rights, &request)
    }

    fn caller(&self, parts: &Parts, body: &[u8], service: &str) -> Result<(String, Rights), Refused> {
        let refused = |code, message: &str| Refused {
            status: StatusCode::FORBIDDEN,
            code,
            message: message.to_owned(),
        };
        let claim = Claim::read(parts);
        let claim = claim
            .ok_or_else(|| refused("MissingAuthenticationTokenException", "the request is not signed"))?;
        let unknown = || refused("UnrecognizedClientException", "the access key does not exist");
        let secret = self.callers.secret(claim.access_key).ok_or_else(unknown)?;
        if !claim.holds(parts, body, &secret, service) {
            let message = "the signature does not match: check the secret, the clock, and proxies in between";
            return Err(refused("InvalidSignatureException", message));
        }
        let rights = self.callers.rights(claim.access_key).ok_or_else(unknown)?;
        Ok((claim.access_key.to_owned(), rights))
    }
}

fn check(access_key: &str, rights: &Rights, request: &Request<'_>) -> Result<(), Refused> {
    if rights.allow(request) {
        return Ok(());
    }
    Err(Refused {
        status: StatusCode::FORBIDDEN,
        code: "AccessDeniedException",
        message: format!(
            "`{access_key}` is not authorized to perform {} on {}",
            request.action, request.resource
        ),
    })
}
