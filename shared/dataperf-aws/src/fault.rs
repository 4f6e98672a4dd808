//! What a function reports when it could not do its work, by whose fault it is: the error type is what retries,
//! alarms and the on-failure queue are read by.

use std::error::Error;
use std::fmt::Write as _;

use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use dataperf::challenge::ChallengeError;
use dataperf::dataset::DatasetError;
use dataperf::pipeline::PipelineError;
use dataperf::ports::PortError;
use lambda_runtime::Diagnostic;

use crate::event::BadEvent;

/// Why an invocation failed. A submitter's mistake is a receipt, never one of these.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The organizer has to act: data set, permissions, configuration.
    #[error("{0}")]
    Organizer(String),
    /// It may work the next time.
    #[error("{0}")]
    Transient(String),
    /// A service outside the platform did not answer as it should; it may work the next time.
    #[error("{0}")]
    Provider(String),
    /// The event is not one of S3's.
    #[error(transparent)]
    Event(#[from] BadEvent),
    /// A defect of ours.
    #[error("panicked: {0}")]
    Panic(String),
}

impl From<PipelineError> for Fault {
    fn from(error: PipelineError) -> Self {
        let transient = match &error {
            PipelineError::Port(port)
            | PipelineError::Dataset(DatasetError::Port(port))
            | PipelineError::Challenge(ChallengeError::Port(port)) => port.is_transient(),
            PipelineError::Dataset(DatasetError::Frozen(_))
            | PipelineError::Challenge(ChallengeError::Malformed { .. } | ChallengeError::Gone { .. })
            | PipelineError::Receipt { .. } => false,
        };
        let message = with_causes(&error);
        if transient {
            Self::Transient(message)
        } else {
            Self::Organizer(message)
        }
    }
}

impl From<PortError> for Fault {
    fn from(error: PortError) -> Self {
        PipelineError::Port(error).into()
    }
}

impl Fault {
    /// What retries, alarms and the caretaker know it by.
    pub fn error_type(&self) -> &'static str {
        match self {
            Self::Organizer(_) => "OrganizerFault",
            Self::Transient(_) => "Transient",
            Self::Provider(_) => "ProviderFault",
            Self::Event(_) => "BadEvent",
            Self::Panic(_) => "Panic",
        }
    }
}

impl From<Fault> for Diagnostic {
    fn from(fault: Fault) -> Self {
        Self {
            error_type: fault.error_type().into(),
            error_message: fault.to_string(),
        }
    }
}

/// An error with its causes, on one line.
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            let _ = write!(text, ": {said}"); // writing to a string can't fail
        }
        cause = error.source();
    }
    text
}

/// What an SDK error means for a caller of a port.
pub fn port_error<E, R>(what: String, error: SdkError<E, R>) -> PortError
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
        PortError::Transient { what, source }
    } else {
        PortError::Refused { what, source }
    }
}
