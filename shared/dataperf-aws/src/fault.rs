//! What a function reports when it could not do its work, by whose fault it is: the error type is what retries,
//! alarms and the on-failure queue are read by.

use std::error::Error;
use std::fmt::{self, Write as _};

use dataperf::failure::FaultKind;
use dataperf::ports::PortError;
use dataperf::workflow::WorkflowError;

/// Why an invocation failed. A submitter's mistake is a receipt, never one of these.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// Whose fault it is.
    pub kind: FaultKind,
    /// What happened, with its causes.
    pub message: String,
}

impl Fault {
    /// That an event is not one that the function gets.
    pub fn event(what: impl fmt::Display) -> Self {
        Self {
            kind: FaultKind::Event,
            message: format!("the event is not one that this function gets: {what}"),
        }
    }

    /// That the function panicked.
    pub(crate) fn panic(said: &str) -> Self {
        Self {
            kind: FaultKind::Panic,
            message: format!("panicked: {said}"),
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
        let said = error.to_string();
        if !text.contains(&said) {
            let _ = write!(text, ": {said}"); // writing to a string can't fail
        }
        cause = error.source();
    }
    text
}
