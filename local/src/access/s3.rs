//! Checks callers' rights for requests to S3; `s3s` checks signatures and browsers' forms.

use std::sync::Arc;

use s3s::access::{S3Access, S3AccessContext};
use s3s::auth::{Credentials, S3Auth, SecretKey};
use s3s::dto::{CopyObjectInput, CopySource, DeleteObjectsInput, PostObjectInput};
use s3s::path::S3Path;
use s3s::{S3Request, S3Result, s3_error};

use super::Callers;
use crate::policy::Request;

/// The callers' secrets.
pub(crate) struct Keys(pub(crate) Arc<Callers>);

#[async_trait::async_trait]
impl S3Auth for Keys {
    async fn get_secret_key(&self, access_key: &str) -> S3Result<SecretKey> {
        let secret = self.0.secret(access_key);
        secret
            .map(SecretKey::from)
            .ok_or_else(|| s3_error!(InvalidAccessKeyId))
    }
}

/// The callers' rights.
pub(crate) struct Access(pub(crate) Arc<Callers>);

impl Access {
    fn require(
        &self,
        credentials: Option<&Credentials>,
        action: &str,
        resource: &str,
        prefix: Option<String>,
    ) -> S3Result<()> {
        let rights = credentials.and_then(|credentials| self.0.rights(&credentials.access_key));
        let request = Request {
            action,
            resource: &format!("arn:aws:s3:::{resource}"),
            context: prefix
                .map(|prefix| ("s3:prefix", vec![prefix]))
                .into_iter()
                .collect(),
        };
        if rights.is_some_and(|rights| rights.allow(&request)) {
            return Ok(());
        }
        Err(s3_error!(
            AccessDenied,
            "not authorized to perform {action} on {resource}"
        ))
    }

    /// The caller must be allowed to read the copied object.
    fn require_source(&self, credentials: Option<&Credentials>, source: &CopySource) -> S3Result<()> {
        let CopySource::Bucket {
            bucket,
            key,
            version_id,
        } = source
        else {
            return Err(s3_error!(AccessDenied, "only objects in buckets can be copied"));
        };
        let action = if version_id.is_some() {
            "s3:GetObjectVersion"
        } else {
            "s3:GetObject"
        };
        self.require(credentials, action, &format!("{bucket}/{key}"), None)
    }
}

/// The action that a caller needs for an operation; `None` for operations that are checked once their input is known.
fn action(operation: &str, has_version: bool) -> Option<String> {
    let action = match operation {
        "PostObject" | "DeleteObjects" => return None,
        "CreateMultipartUpload" | "UploadPart" | "CompleteMultipartUpload" | "CopyObject" => "PutObject",
        "GetObject" | "HeadObject" if has_version => "GetObjectVersion",
        "HeadObject" => "GetObject",
        "DeleteObject" if has_version => "DeleteObjectVersion",
        "ListObjectsV2" | "HeadBucket" => "ListBucket",
        "ListObjectVersions" => "ListBucketVersions",
        "ListBuckets" => "ListAllMyBuckets",
        other => other,
    };
    Some(format!("s3:{action}"))
}

/// A parameter of the query, decoded.
fn parameter(query: Option<&str>, name: &str) -> Option<String> {
    let query = query.unwrap_or_default().as_bytes();
    form_urlencoded::parse(query)
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.into_owned())
}

#[async_trait::async_trait]
impl S3Access for Access {
    async fn check(&self, context: &mut S3AccessContext<'_>) -> S3Result<()> {
        if context.credentials().is_none() {
            return Err(s3_error!(AccessDenied, "the request is not signed"));
        }
        let query = context.uri().query();
        let has_version = parameter(query, "versionId").is_some();
        let Some(action) = action(context.s3_op().name(), has_version) else {
            return Ok(());
        };
        let resource = match context.s3_path() {
            S3Path::Root => "*".to_owned(),
            S3Path::Bucket { bucket } => bucket.to_string(),
            S3Path::Object { bucket, key } => format!("{bucket}/{key}"),
        };
        let prefix = action
            .starts_with("s3:List")
            .then(|| parameter(query, "prefix").unwrap_or_default());
        self.require(context.credentials(), &action, &resource, prefix)
    }

    async fn post_object(&self, request: &mut S3Request<PostObjectInput>) -> S3Result<()> {
        let resource = format!("{}/{}", request.input.bucket, request.input.key);
        self.require(request.credentials.as_ref(), "s3:PutObject", &resource, None)
    }

    async fn copy_object(&self, request: &mut S3Request<CopyObjectInput>) -> S3Result<()> {
        self.require_source(request.credentials.as_ref(), &request.input.copy_source)
    }

    async fn delete_objects(&self, request: &mut S3Request<DeleteObjectsInput>) -> S3Result<()> {
        for object in &request.input.delete.objects {
            let action = if object.version_id.is_some() {
                "s3:DeleteObjectVersion"
            } else {
                "s3:DeleteObject"
            };
            let resource = format!("{}/{}", request.input.bucket, object.key);
            self.require(request.credentials.as_ref(), action, &resource, None)?;
        }
        Ok(())
    }
}
