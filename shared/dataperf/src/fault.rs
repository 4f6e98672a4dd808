//! Whose fault it is that an upload could not be settled, in words that are stable.

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
            Self::Organizer => "the challenge's data set or its configuration can't be used at the moment",
            Self::Unavailable => "storage or table did not answer, in all tries",
            Self::Provider => {
                "a service that is asked for images or for a model's answers did not answer as it should, in all tries"
            }
            Self::TimeLimit => "the evaluation took longer than the platform allows",
            Self::Crashed => "the evaluator was ended before it was done, in all tries",
            Self::Defect => "the evaluator met a defect of its own",
            Self::Overloaded => "so many uploads came before it that its turn did not come in time",
            Self::Unfinished => "it was begun and tried again, and never came to an end",
        }
    }

    /// What the submitter reads. `reference` is what the organizer finds the cause in the logs by; nothing else of the
    /// error is shown, because its words may tell what is hidden. `counts_failures` says whether the benchmark counts those
    /// [of artifacts](Self::is_of_artifact).
    pub fn reason(self, reference: &str, counts_failures: bool) -> Reason {
        let (happened, reference) = (self.what_happened(), quote(reference));
        let counts = if counts_failures && self.is_of_artifact() {
            "this counts as one of the failures that you may have in a day (`daily_failures`), and a program's as a run, until it is evaluated again"
        } else {
            "this is the platform's fault and does not count against you (a program counts until it is evaluated again)"
        };
        let message = format!(
            "{happened}: {counts}; the file is kept, and the organizer can have it evaluated again, so there is no need to upload it once \
             more. Quote {reference} when you ask"
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
    /// What the event permits had expired when its turn came: whoever sent it can send another.
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
