//! Errors on the way to an S3 answer.

use s3s::{S3Error, S3ErrorCode, s3_error};

use crate::error::DatabaseError;

/// An S3 error, or a fault of ours that is logged and becomes `InternalError`.
#[derive(Debug)]
pub(crate) struct Failure(S3Error);

impl From<S3Error> for Failure {
    fn from(error: S3Error) -> Self {
        Self(error)
    }
}

impl From<DatabaseError> for Failure {
    fn from(error: DatabaseError) -> Self {
        tracing::error!(%error, source = ?std::error::Error::source(&error), "storage failed");
        let message = format!("the local storage failed: {error}");
        Self(S3Error::with_message(S3ErrorCode::InternalError, message))
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        DatabaseError::from(error).into()
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        tracing::error!(%error, "the file of a body failed");
        let message = format!("the file of a body failed: {error}");
        Self(S3Error::with_message(S3ErrorCode::InternalError, message))
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        tracing::error!(%error, "the index holds headers that cannot be read");
        Self(s3_error!(
            InternalError,
            "the index holds headers that cannot be read: {error}"
        ))
    }
}

impl From<Failure> for S3Error {
    fn from(failure: Failure) -> Self {
        failure.0
    }
}
