//! Translates errors of the AWS SDK for callers of a port.

use std::error::Error;

use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use dataperf::ports::PortError;

/// Translates an SDK error for a caller of a port.
pub fn port_error<E, R>(subject: String, error: SdkError<E, R>) -> PortError
where
    E: ProvideErrorMetadata + Error + Send + Sync + 'static,
    R: std::fmt::Debug + Send + Sync + 'static,
{
    const RETRIABLE: &[&str] = &[
        "InternalError",
        "InternalServerError",
        "InternalFailure",
        "LimitExceededException",
        "OperationAborted",
        "DependencyTimeoutException", // these of KMS
        "KMSInternalException",
        "KeyUnavailableException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestTimeTooSkewed", // one of the two clocks is wrong, and the next process may be elsewhere
        "RequestTimeout",
        "ServiceException", // Lambda's word for a fault of its own
        "ServiceUnavailable",
        "SlowDown",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionConflictException",
        "TransactionInProgressException",
        "ConditionalRequestConflict",
    ];
    let transient = match &error {
        SdkError::ServiceError(service) => service.err().code().is_none_or(|code| RETRIABLE.contains(&code)),
        SdkError::ConstructionFailure(_) => false,
        _ => true, // timed out, not connected, answer cut off
    };
    let source = Box::new(error);
    if transient {
        PortError::Transient { subject, source }
    } else {
        PortError::Refused { subject, source }
    }
}
