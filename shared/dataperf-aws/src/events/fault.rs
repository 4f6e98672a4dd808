//! A function's failure, classified by who has to act. Retries, alarms and the on-failure queue
//! read the error type.

use std::error::Error;
use std::fmt::{self, Write as _};

use dataperf::evaluation::failure_judge::FaultKind;
use dataperf::evaluation::workflow::WorkflowError;
use dataperf::ports::PortError;

/// Why an invocation failed. A submitter's mistake is a receipt, never one of these.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// Who has to act.
    pub kind: FaultKind,
    /// The failure, with its causes.
    pub message: String,
}

impl Fault {
    /// The event is not for this function.
    pub fn event(problem: impl fmt::Display) -> Self {
        Self {
            kind: FaultKind::Event,
            message: format!("the event is not for this function: {problem}"),
        }
    }

    /// The function panicked.
    pub(crate) fn panic(text: &str) -> Self {
        Self {
            kind: FaultKind::Panic,
            message: format!("panicked: {text}"),
        }
    }
}

impl From<WorkflowError> for Fault {
    fn from(error: WorkflowError) -> Self {
        Self {
            kind: error.fault(),
            message: with_causes(&error),
        }
    }
}

impl From<PortError> for Fault {
    fn from(error: PortError) -> Self {
        WorkflowError::Port(error).into()
    }
}

/// An error with its causes, on one line.
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.contains(&message) {
            let _ = write!(text, ": {message}"); // writing to a string can't fail
        }
        cause = error.source();
    }
    text
}
