//! The result of an evaluation: the verdict, which anybody can recompute, and the receipt, which
//! adds submitter and time.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::benchmark::descriptor::Descriptor;
use crate::benchmark::feedback::Feedback;
use crate::benchmark::scorecard::Scorecard;
use crate::board::Board;
use crate::receipt::fault::Cause;
use crate::receipt::released_score::{Climb, Released};
use crate::rejection::unknown_ids::Unknown;
use crate::rejection::{Reason, Reasons, Rejection};
use crate::signature::Signature;
use crate::upload::{SubmissionId, receipt_key};
use crate::{Digest, Timestamp};

/// The evaluator's name and version, part of every verdict: another version may score otherwise.
pub const EVALUATOR: &str = concat!("dataperf ", env!("CARGO_PKG_VERSION"));

/// How an evaluation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// The artifact obeyed the rules and has a score.
    Scored,
    /// The artifact obeyed the rules, and is of a kind that has no score of its own.
    Accepted,
    /// The artifact broke rules: for the submitter to fix.
    Rejected,
    /// The platform could not evaluate it: for the organizer to fix.
    Failed,
}

impl Ending {
    /// The word documents use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scored => "scored",
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
            Self::Failed => "failed",
        }
    }
}

/// A word that is no [`Ending`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not `scored`, `accepted`, `rejected` or `failed`")]
pub struct UnknownEnding(String);

impl FromStr for Ending {
    type Err = UnknownEnding;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        [Self::Scored, Self::Accepted, Self::Rejected, Self::Failed]
            .into_iter()
            .find(|ending| ending.as_str() == word)
            .ok_or_else(|| UnknownEnding(word.to_owned()))
    }
}

/// The result of one line of an artifact whose lines are judged separately.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LineOutcome {
    /// The line's number, from 1.
    pub line: usize,
    /// [`Ending::Accepted`] or [`Ending::Rejected`].
    pub status: Ending,
    /// The broken rules, when rejected; their places name the line too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Reason>,
    /// How many rules were broken, when more than are listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n_reasons: Option<usize>,
    /// Further results for the line, by name.
    #[serde(flatten)]
    pub details: BTreeMap<String, Value>,
    /// Names that are not known, until the lines are explained together.
    #[serde(skip)]
    unknown: Vec<Unknown>,
}

impl LineOutcome {
    /// A line that was taken.
    pub fn accepted(line: usize, details: BTreeMap<String, Value>) -> Self {
        Self {
            line,
            status: Ending::Accepted,
            reasons: Vec::new(),
            n_reasons: None,
            details,
            unknown: Vec::new(),
        }
    }

    /// A line that breaks rules.
    pub fn rejected(line: usize, rejection: &Rejection) -> Self {
        Self {
            line,
            status: Ending::Rejected,
            reasons: rejection.reasons().to_vec(),
            n_reasons: unlisted(rejection),
            details: BTreeMap::new(),
            unknown: rejection.unknown().to_vec(),
        }
    }
}

/// A program that was run on hidden data, as verdicts name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The digest of the module.
    pub module: Digest,
    /// The engine's version and settings.
    pub engine: String,
    /// The layers that confined the program during the run.
    pub layers: BTreeSet<Layer>,
}

/// A layer that confines a program, named in receipts and in the rounds that demand it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// The engine: the program has its own memory and calls only WASI.
    WebAssembly,
    /// A process of its own, without environment variables and open files.
    Process,
    /// Limits of the kernel on the process: memory, processor time, files, further processes.
    KernelLimits,
    /// Filters of system calls (seccomp) on the process.
    SystemCallFilter,
    /// The kernel ends the process with the one that started it.
    EndsWithParent,
    /// Namespaces of the kernel: no network, no other process, no other file.
    Namespaces,
    /// The memory of the process that started it is hidden from it.
    HiddenMemory,
    /// A virtual machine that runs one program at a time and nothing else.
    MicroVm,
}

impl Layer {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::WebAssembly,
        Self::Process,
        Self::KernelLimits,
        Self::SystemCallFilter,
        Self::EndsWithParent,
        Self::Namespaces,
        Self::HiddenMemory,
        Self::MicroVm,
    ];
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
pub(crate) fn is_false(flag: &bool) -> bool {
    !flag
}

/// A run on public data; everything about it may be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicRun {
    /// Fuel that it used, where fuel is counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fuel: Option<u64>,
    /// The digest of its standard output, if that counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Digest>,
    /// The end of its standard error and, for a trap, of the stack trace.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub log: String,
    /// Whether it wrote more than that.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_log_cut: bool,
}

impl PublicRun {
    /// The shown bytes of a log. A receipt must hold them, because the table stores it in one item
    /// with its reasons.
    pub const MAX_LOG_BYTES: usize = 32 << 10;

    /// The same run with the end of a log, in which control characters that a terminal would obey are replaced.
    #[must_use]
    pub fn with_log(self, log: &[u8], is_cut: bool) -> Self {
        let begin = log.len().saturating_sub(Self::MAX_LOG_BYTES);
        let visible = |c: char| {
            if c.is_control() && !matches!(c, '\n' | '\t') {
                '\u{fffd}'
            } else {
                c
            }
        };
        let log_tail: String = String::from_utf8_lossy(&log[begin..])
            .chars()
            .map(visible)
            .collect();
        Self {
            log: log_tail,
            is_log_cut: is_cut || begin > 0,
            ..self
        }
    }
}

/// The outcome of evaluating one artifact against one frozen data set. It has no time and no place in it, so the
/// same artifact and data set give the same verdict, byte for byte, in the cloud and offline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// How it ended.
    pub status: Ending,
    /// The benchmark's id.
    pub benchmark: String,
    /// The leaderboard the artifact was judged for.
    pub leaderboard: String,
    /// The score, when scored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The parts of the score, when scored; what else is worth knowing, when accepted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, Value>,
    /// The result of each line, if lines are judged separately.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<LineOutcome>,
    /// The frozen data set's digest; absent when the artifact was refused without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<Digest>,
    /// The artifact's digest; absent when it was never read, because it is too large or gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Digest>,
    /// The digest of the artifact's content, independent of order and form; absent if it was not
    /// scored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Digest>,
    /// The program that was run on the hidden data, in the closed division.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Program>,
    /// The run of an uploaded program on public data, in the closed division.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_run: Option<PublicRun>,
    /// The evaluator's name and version.
    pub evaluator: String,
    /// The broken rules, when rejected; what went wrong, when failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Reason>,
    /// How many rules were broken, when more than are listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n_reasons: Option<usize>,
    /// The one mistake that explains many of the reasons, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Reason>,
}

impl Verdict {
    fn new(status: Ending, benchmark: &str, leaderboard: &str) -> Self {
        Self {
            status,
            benchmark: benchmark.to_owned(),
            leaderboard: leaderboard.to_owned(),
            score: None,
            metrics: BTreeMap::new(),
            lines: Vec::new(),
            dataset: None,
            artifact: None,
            content: None,
            program: None,
            public_run: None,
            evaluator: EVALUATOR.to_owned(),
            reasons: Vec::new(),
            n_reasons: None,
            cause: None,
        }
    }

    /// A score.
    pub fn scored(
        benchmark: &str,
        leaderboard: &str,
        dataset: Digest,
        artifact: Digest,
        card: Scorecard,
    ) -> Self {
        Self {
            score: Some(card.score),
            metrics: card.metrics.into_json(),
            dataset: Some(dataset),
            artifact: Some(artifact),
            ..Self::new(Ending::Scored, benchmark, leaderboard)
        }
    }

    /// The outcomes of an artifact's lines: accepted when at least one is, otherwise a refusal for all their reasons. Of
    /// all lines together as many reasons are listed as of one artifact.
    pub fn of_lines(
        benchmark: &str,
        leaderboard: &str,
        dataset: Digest,
        artifact: Digest,
        mut lines: Vec<LineOutcome>,
        metrics: BTreeMap<String, Value>,
    ) -> Self {
        let is_accepted = lines.iter().any(|line| line.status == Ending::Accepted);
        let ending = if is_accepted {
            Ending::Accepted
        } else {
            Ending::Rejected
        };
        let mut listed = Reasons::default();
        for line in &mut lines {
            let n = line.n_reasons.unwrap_or(line.reasons.len());
            line.reasons
                .retain(|reason| listed.lists(|| reason.clone()).is_some());
            line.n_reasons = Some(n).filter(|&n| n > line.reasons.len());
            listed.append_unknown(std::mem::take(&mut line.unknown));
        }
        let verdict = Self {
            metrics,
            dataset: Some(dataset),
            artifact: Some(artifact),
            lines,
            ..Self::new(ending, benchmark, leaderboard)
        };
        match listed.into_verdict(()) {
            Err(rejection) if is_accepted => Self {
                cause: rejection.cause().cloned(),
                ..verdict
            },
            Err(rejection) => verdict.with_reasons(&rejection),
            Ok(()) => verdict,
        }
    }

    fn with_reasons(self, rejection: &Rejection) -> Self {
        Self {
            reasons: rejection.reasons().to_vec(),
            n_reasons: unlisted(rejection),
            cause: rejection.cause().cloned(),
            ..self
        }
    }

    /// A refusal.
    pub fn rejected(
        benchmark: &str,
        leaderboard: &str,
        dataset: Option<Digest>,
        artifact: Option<Digest>,
        rejection: &Rejection,
    ) -> Self {
        let verdict = Self {
            dataset,
            artifact,
            ..Self::new(Ending::Rejected, benchmark, leaderboard)
        };
        verdict.with_reasons(rejection)
    }

    /// Whether it counts against its submitter's limits: a score does, and so does a rejection that follows from hidden data or takes the time of a
    /// score. Each rejection of a program that was run on hidden data follows from them.
    /// `hosted` describes its benchmark.
    pub fn is_counted(&self, hosted: &Descriptor) -> bool {
        let tells = |reason: &Reason| hosted.counted_rejections.contains(&reason.code.as_str());
        match self.status {
            Ending::Scored => true,
            Ending::Rejected => self.program.is_some() || self.reasons.iter().any(tells),
            Ending::Accepted | Ending::Failed => false,
        }
    }

    /// Whether it rejects a program that has failed on public data and was therefore not run on hidden data.
    pub fn has_failed_on_public_data(&self) -> bool {
        self.status == Ending::Rejected && self.program.is_none() && self.public_run.is_some()
    }

    /// Whether it counts on its submitter's allowance of failures: the time or the end of the evaluator that it cost brought nothing. Faults of the
    /// platform never do.
    pub fn is_counted_failure(&self) -> bool {
        let is_of_artifact =
            |reason: &Reason| Cause::of_code(&reason.code).is_some_and(Cause::is_of_artifact);
        match self.status {
            Ending::Failed => self.reasons.iter().any(is_of_artifact),
            Ending::Rejected => self.has_failed_on_public_data(),
            Ending::Scored | Ending::Accepted => false,
        }
    }

    /// A failure of the platform, in the submitter's receipt.
    pub fn failed(benchmark: &str, leaderboard: &str, reason: Reason) -> Self {
        Self {
            reasons: vec![reason],
            ..Self::new(Ending::Failed, benchmark, leaderboard)
        }
    }
}

/// How many rules were broken, when more than are listed.
fn unlisted(rejection: &Rejection) -> Option<usize> {
    Some(rejection.n_reasons()).filter(|&n| n > rejection.reasons().len())
}

pub(crate) const FIRST_REVISION: u32 = 1;

/// The document a submitter finds in the results bucket: one for each upload, written once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// The version of this document's form.
    pub schema: u32,
    /// The submission's id.
    pub submission: SubmissionId,
    /// 1 for the first verdict; scoring a board again writes receipts with higher numbers next to
    /// the first.
    #[serde(default = "first_revision", skip_serializing_if = "is_first_revision")]
    pub revision: u32,
    /// The submitter's name, as the key has it.
    pub submitter: String,
    /// The round the submission counts in.
    pub round: String,
    /// The submissions bucket.
    pub bucket: String,
    /// The object's key.
    pub key: String,
    /// The object's version, where the bucket is versioned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// When the object was stored.
    pub received_at: Timestamp,
    /// When the verdict was reached.
    pub finished_at: Timestamp,
    /// How much of the verdict this document shows; without it everything, as the table keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Feedback>,
    /// How much was shown when it was recorded; in the table only. Whoever does not know the challenge shows no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown_at_first: Option<Feedback>,
    /// When the score is shown, where the round withholds it and that time is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld_until: Option<Timestamp>,
    /// The score that is shown until the round shows everything, if the round has a Ladder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ladder: Option<Released>,
    /// The verdict; its fields are members of the receipt.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// The signer of this document; the table stores receipts without a signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Signature>,
}

impl Receipt {
    /// The version of the form written today.
    pub const SCHEMA: u32 = 2;

    /// The board it is of.
    pub fn board(&self) -> Board {
        Board {
            benchmark: self.verdict.benchmark.clone(),
            leaderboard: self.verdict.leaderboard.clone(),
            round: self.round.clone(),
        }
    }

    /// The score as boards show it: its own, or what the Ladder has released.
    pub fn public_score(&self) -> Option<f64> {
        let released = self.ladder.as_ref().filter(|released| !released.is_lifted);
        released.map_or(self.verdict.score, |released| released.score)
    }

    /// Whether it climbed; `None` unless the board shows what the Ladder has released.
    pub fn climb(&self) -> Option<Climb> {
        self.ladder.as_ref().and_then(Released::climb)
    }

    /// Whether it can take the place of an earlier receipt of its submission: it is of the next revision, and does not hide a score again that the
    /// board shows by now. Only with another data set may it do so, since the Ladder then decides again.
    pub fn follows(&self, old: &Self) -> bool {
        let was_lifted = old.ladder.is_some() && old.climb().is_none();
        let is_of_same = self.verdict.dataset == old.verdict.dataset;
        let hides_again = was_lifted && is_of_same && self.climb().is_some();
        self.revision == old.revision + 1 && !hides_again
    }

    /// The receipt without its signature, as the table keeps it.
    #[must_use]
    pub fn unsigned(&self) -> Self {
        Self {
            signature: None,
            ..self.clone()
        }
    }

    /// The key of the receipt in the results bucket.
    pub fn object_key(&self) -> String {
        let first = receipt_key(
            &self.verdict.benchmark,
            &self.verdict.leaderboard,
            &self.submitter,
            &self.submission,
        );
        match self.revision {
            FIRST_REVISION => first,
            revision => format!("{}.{revision}.json", first.trim_end_matches(".json")),
        }
    }
}

fn first_revision() -> u32 {
    FIRST_REVISION
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
fn is_first_revision(revision: &u32) -> bool {
    *revision == FIRST_REVISION
}
