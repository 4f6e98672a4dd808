//! Why a program has no artifact: a closed list of codes.

use serde::{Deserialize, Serialize};

use crate::Limits;
use dataperf::Reason;

/// Why a program has no artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The module is larger than is read.
    ModuleTooLarge,
    /// It is no WebAssembly module, a damaged one, or one with instructions that are not offered.
    InvalidModule,
    /// It imports something that is no function of WASI preview 1.
    ForeignImport,
    /// It is a module, but no command: there is no `_start`, or no memory.
    NotACommand,
    /// Compiling it took too long or too much memory.
    CompileLimit,
    /// It used all of its fuel.
    OutOfFuel,
    /// It requested more memory than there is.
    OutOfMemory,
    /// It did what WebAssembly forbids, or gave up by itself.
    Trap,
    /// It ended with a status other than 0.
    ExitStatus,
    /// It wrote more to standard output than an artifact may have.
    OutputTooLarge,
    /// It wrote nothing to standard output.
    NoOutput,
    /// It was still running long after any fuel should have been used up.
    Deadline,
}

impl Code {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::ModuleTooLarge,
        Self::InvalidModule,
        Self::ForeignImport,
        Self::NotACommand,
        Self::CompileLimit,
        Self::OutOfFuel,
        Self::OutOfMemory,
        Self::Trap,
        Self::ExitStatus,
        Self::OutputTooLarge,
        Self::NoOutput,
        Self::Deadline,
    ];

    /// Its name in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ModuleTooLarge => "module_too_large",
            Self::InvalidModule => "invalid_module",
            Self::ForeignImport => "foreign_import",
            Self::NotACommand => "not_a_command",
            Self::CompileLimit => "compile_limit",
            Self::OutOfFuel => "out_of_fuel",
            Self::OutOfMemory => "out_of_memory",
            Self::Trap => "trap",
            Self::ExitStatus => "exit_status",
            Self::OutputTooLarge => "output_too_large",
            Self::NoOutput => "no_output",
            Self::Deadline => "deadline",
        }
    }
}

/// Why a program has no artifact, with what was the matter in this run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The failure.
    pub code: Code,
    /// A sentence that says what is wrong and what to change.
    pub message: String,
    /// The actual value, if a limit was broken and the value is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual: Option<u64>,
}

impl Failure {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            actual: None,
        }
    }

    /// The failure of a module of `n_bytes`, which is not read.
    pub fn module_too_large(limits: &Limits, n_bytes: u64) -> Self {
        let message = format!(
            "the module has {n_bytes} bytes, the limit is {}: build it optimised and stripped, without embedded data",
            limits.max_module_bytes
        );
        Self {
            actual: Some(n_bytes),
            ..Self::new(Code::ModuleTooLarge, message)
        }
    }

    pub(crate) fn output_too_large(limits: &Limits) -> Self {
        let message = format!(
            "the program wrote more than {} bytes to standard output: write only the artifact there, and \
                logs to standard error",
            limits.max_output_bytes
        );
        Self::new(Code::OutputTooLarge, message)
    }

    pub(crate) fn no_output() -> Self {
        let message = "the program wrote nothing to standard output: write the artifact there";
        Self::new(Code::NoOutput, message)
    }

    pub(crate) fn exit_status(status: u32) -> Self {
        let message =
            format!("the program ended with the status {status}: exit with 0 after writing the artifact");
        Self {
            actual: Some(u64::from(status)),
            ..Self::new(Code::ExitStatus, message)
        }
    }

    /// `n_bytes` is the requested size, if known.
    pub(crate) fn out_of_memory(limits: &Limits, n_bytes: Option<u64>) -> Self {
        let wanted = n_bytes.map_or("more".to_owned(), |n_bytes| n_bytes.to_string());
        let message = format!(
            "the program asked for {wanted} bytes of memory, the limit is {}: keep less in memory at once",
            limits.max_memory_bytes
        );
        Self {
            actual: n_bytes,
            ..Self::new(Code::OutOfMemory, message)
        }
    }

    pub(crate) fn deadline(limits: &Limits) -> Self {
        let message = format!(
            "the program was still running after {} seconds: make it do less",
            limits.run_seconds
        );
        Self::new(Code::Deadline, message)
    }

    /// The limit that the program broke, if it broke one.
    pub fn limit(&self, limits: &Limits) -> Option<u64> {
        match self.code {
            Code::ModuleTooLarge => Some(limits.max_module_bytes),
            Code::OutOfFuel => Some(limits.max_fuel),
            Code::OutOfMemory => Some(limits.max_memory_bytes),
            Code::OutputTooLarge => Some(limits.max_output_bytes),
            Code::CompileLimit => Some(limits.compile_seconds),
            Code::Deadline => Some(limits.run_seconds),
            Code::InvalidModule
            | Code::ForeignImport
            | Code::NotACommand
            | Code::Trap
            | Code::ExitStatus
            | Code::NoOutput => None,
        }
    }

    /// The reason for which the upload is rejected.
    pub fn reason(&self, limits: &Limits) -> Reason {
        let mut reason = Reason::new(self.code.as_str(), "", &self.message);
        reason.limit = self.limit(limits);
        reason.actual = self.actual;
        reason
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_serializes_as_documented() {
        for code in Code::ALL {
            let written = serde_json::to_value(code).ok();
            assert_eq!(written, Some(code.as_str().into()));
            let documented =
                include_str!("../../docs/closed-division.md").contains(&format!("`{}`", code.as_str()));
            assert!(documented, "docs/closed-division.md has no `{}`", code.as_str());
        }
    }
}
