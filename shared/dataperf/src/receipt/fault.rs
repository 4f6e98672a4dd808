//! Classifies failures by who has to act. The words are stable.

use std::str::FromStr;

use crate::rejection::{Reason, quote};

/// Why the platform gave an upload up, by whose fault it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The challenge's data set or configuration can't be used.
    Organizer,
    /// Storage or table did not answer in all tries.
    Unavailable,
    /// A service outside the platform, whose answer is needed, did not give one.
    Provider,
    /// The evaluation took longer than it may.
    TimeLimit,
    /// The evaluator was ended from outside: out of memory, for one.
    Crashed,
    /// A defect of the evaluator.
    Defect,
    /// Its turn did not come in time.
    Overloaded,
    /// It was begun, tried again, and did not end.
    Unfinished,
}

impl Cause {
    /// All of them.
    const ALL: [Self; 8] = [
        Self::Organizer,
        Self::Unavailable,
        Self::Provider,
        Self::TimeLimit,
        Self::Crashed,
        Self::Defect,
        Self::Overloaded,
        Self::Unfinished,
    ];

    /// The cause with this code.
    pub fn of_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.code() == code)
    }

    /// Whether the artifact brings it about, as far as anybody can know: it counts on its submitter's allowance of failures.
    pub fn is_of_artifact(self) -> bool {
        matches!(self, Self::TimeLimit | Self::Crashed)
    }

    /// The stable code in the receipt.
    pub fn code(self) -> &'static str {
        match self {
            Self::Organizer => "organizer_fault",
            Self::Unavailable => "unavailable",
            Self::Provider => "provider_unavailable",
            Self::TimeLimit => "time_limit",
            Self::Crashed => "evaluator_crashed",
            Self::Defect => "evaluator_defect",
            Self::Overloaded => "overloaded",
            Self::Unfinished => "unfinished",
        }
    }

    fn what_happened(self) -> &'static str {
        match self {
            Self::Organizer => {
                "the platform can't use the challenge's data set or configuration at the moment"
            }
            Self::Unavailable => "the storage or the table did not answer in any try",
            Self::Provider => "the service for images or model answers did not answer correctly in any try",
            Self::TimeLimit => "the evaluation took longer than the platform allows",
            Self::Crashed => "the platform stopped the evaluator before it finished, in every try",
            Self::Defect => "the evaluator has a bug",
            Self::Overloaded => "the upload waited too long in the queue",
            Self::Unfinished => "the evaluation started several times and never finished",
        }
    }

    /// The message for the submitter. The organizer finds the cause in the logs by `reference`. The
    /// error itself is not shown, because it may reveal hidden data. `counts_failures` says whether
    /// the benchmark limits failures [of artifacts](Self::is_of_artifact).
    pub fn reason(self, reference: &str, counts_failures: bool) -> Reason {
        let (happened, reference) = (self.what_happened(), quote(reference));
        let counts = if counts_failures && self.is_of_artifact() {
            "This counts as one of your failures of the day (`daily_failures`), and a program as one of your runs, until the \
                organizer retries it"
        } else {
            "This is the platform's fault and does not count against you (a program counts until the organizer retries it)"
        };
        let message = format!(
            "{happened}. {counts}. The platform keeps the file, and the organizer can retry it. Don't upload it again. Quote \
                {reference} when you ask the organizer"
        );
        Reason::new(self.code(), "", message)
    }
}

/// By whose fault a function could not do its work, as Lambda, the failures queue and alarms know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The organizer has to act: data set, permissions, configuration.
    Organizer,
    /// The same may work the next time.
    Transient,
    /// A service outside the platform did not answer as it should; the same may work the next time.
    Provider,
    /// The event's permissions had expired when its turn came. The sender can send another event.
    Expired,
    /// The event is not one that the function gets.
    Event,
    /// A defect of the function.
    Panic,
}

/// A word that is no [`FaultKind`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no error type of a function")]
pub struct UnknownFault(String);

impl FaultKind {
    /// The error type that Lambda keeps of an invocation that failed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Organizer => "OrganizerFault",
            Self::Transient => "Transient",
            Self::Provider => "ProviderFault",
            Self::Expired => "Expired",
            Self::Event => "BadEvent",
            Self::Panic => "Panic",
        }
    }

    /// Why the platform gives up an upload whose event failed with this fault in all tries.
    pub fn cause(self) -> Cause {
        match self {
            Self::Organizer => Cause::Organizer,
            Self::Transient => Cause::Unavailable,
            Self::Provider => Cause::Provider,
            Self::Expired => Cause::Overloaded,
            Self::Event | Self::Panic => Cause::Defect,
        }
    }
}

impl FromStr for FaultKind {
    type Err = UnknownFault;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        [
            Self::Organizer,
            Self::Transient,
            Self::Provider,
            Self::Expired,
            Self::Event,
            Self::Panic,
        ]
        .into_iter()
        .find(|kind| kind.as_str() == word)
        .ok_or_else(|| UnknownFault(word.to_owned()))
    }
}
