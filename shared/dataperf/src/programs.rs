//! Rounds of the closed division: what is uploaded is a program. A function of its own runs it on the round's hidden data, and what it
//! has written is judged as the submission's artifact.
//!
//! The benchmark's function receives the upload, refuses what the round refuses, and asks for the program to be run. The function that runs it stores
//! the [`Output`] below [`Output::folder`] in the submissions bucket, where no submitter can write. That is an event for the benchmark's
//! function, which finds the output and goes on. So a program is run after its round and limits have let it in, and every other way to a
//! verdict (a later delivery, the caretaker's sweep) finds the same output.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Digest;
use crate::ports::PortError;
use crate::ports::bucket::{Bucket, Got};
use crate::rejection::{Reason, Reasons, Rejection};
use crate::upload::{SubmissionId, UNNAMED, Upload};
use crate::verdict::{Ending, Verdict, is_false};

pub use crate::verdict::{Program, PublicRun};

/// The folder of outputs below the benchmark's, where no submitter's name can be.
const OUTPUTS: &str = "closed";
/// The largest output in bytes: the largest artifact of any benchmark, up to twice as long as a text in JSON, and what is beside it.
const MAX_OUTPUT_BYTES: u64 = 48 << 20;

/// How a round runs submitted programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Programs {
    /// The public data set that a program has to run on before it meets the round's own.
    pub public: Digest,
    /// The most fuel that a run may use.
    pub max_fuel: u64,
    /// The most memory that a program may have, in MiB.
    pub max_memory_mib: u64,
    /// The largest module in KiB, where the round's limit is lower than the one for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_module_kib: Option<u64>,
    /// The most that a program may write to standard output in KiB, where the round sets a lower limit than the benchmark's largest artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_kib: Option<u64>,
    /// How many programs of a submitter may fail on the public data set in a day (UTC), where the round says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_failures: Option<u64>,
    /// Whether programs in Python are taken as well: they are run on one machine, and by no function on AWS.
    #[serde(default, skip_serializing_if = "is_false")]
    pub python: bool,
}

impl Programs {
    /// The fuel of a run, unless the round says otherwise.
    pub const MAX_FUEL: u64 = 20_000_000_000;
    /// The memory of a program in MiB, unless the round says otherwise.
    pub const MAX_MEMORY_MIB: u64 = 1024;
    /// The largest module in bytes: as large as an artifact that stays in the bucket may be.
    pub const MAX_MODULE_BYTES: u64 = 4 << 20;
    /// Programs of a submitter that may fail on the public data set in a day, unless the round says otherwise.
    pub const DAILY_FAILURES: u64 = 20;
    /// The most fuel that a round may allow: more would not end within the time of a function.
    pub const MOST_FUEL: u64 = 100_000_000_000;
    /// The most memory in MiB that a round may allow: the function has no more.
    pub const MOST_MEMORY_MIB: u64 = 2048;

    /// The largest module in bytes in this round.
    pub fn max_module_bytes(&self) -> u64 {
        let own = self.max_module_kib.map(|kib| kib.saturating_mul(1024));
        own.unwrap_or(Self::MAX_MODULE_BYTES).min(Self::MAX_MODULE_BYTES)
    }

    /// How many bytes a program may write to standard output in this round, of a benchmark with artifacts of at most `max_artifact_bytes`.
    pub fn max_output_bytes(&self, max_artifact_bytes: u64) -> u64 {
        let own = self.max_output_kib.map(|kib| kib.saturating_mul(1024));
        own.unwrap_or(max_artifact_bytes).min(max_artifact_bytes)
    }

    /// How many programs of a submitter may fail on the public data set in a day.
    pub fn daily_failures(&self) -> u64 {
        self.daily_failures.unwrap_or(Self::DAILY_FAILURES)
    }

    /// Whether an upload is a program in Python, by the ending of its name: `.py`, or `.zip` for an archive with a `main.py`.
    pub fn is_python(name: &str) -> bool {
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        ["py", "zip"]
            .iter()
            .any(|other| ending.eq_ignore_ascii_case(other))
    }
}

/// After what time the outcome of a run on hidden data is told, if the run has ended after `elapsed`: the next of [`TOLD_AFTER_MILLIS`]. A program
/// that knows something of the data could tell it by ending early or late, whatever fuel it has; so there are a few times for all, and one for those
/// that end within a second. A run that takes longer than all of them, because its machine has too much else to do, is told at once.
///
/// ```
/// use std::time::Duration;
/// let told = |millis| dataperf::programs::told_after(Duration::from_millis(millis)).as_millis();
/// assert_eq!([0, 90, 1000, 1001, 1501, 3999].map(told), [1000, 1000, 1000, 1500, 2000, 6000]);
/// ```
pub fn told_after(elapsed: Duration) -> Duration {
    let times = TOLD_AFTER_MILLIS.map(Duration::from_millis);
    let next = times.into_iter().find(|told| elapsed <= *told);
    next.unwrap_or(elapsed)
}

/// The times at which runs on hidden data are told, in milliseconds: up to more than a run's seconds of processor time.
pub const TOLD_AFTER_MILLIS: [u64; 8] = [1_000, 1_500, 2_000, 3_000, 6_000, 24_000, 96_000, 384_000];

/// A program of a data set that is to be run while its caller waits: a model that answers what it reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelRun {
    /// Whose data set it is.
    pub benchmark: String,
    /// The data set that has the program.
    pub dataset: Digest,
    /// Its file there.
    pub file: String,
    /// Fuel that it may use.
    pub max_fuel: u64,
    /// What it reads: the file [`Self::INPUTS`], with a JSON object on each line.
    pub inputs: String,
}

impl ModelRun {
    /// The member of an event that has the request.
    pub const EVENT: &str = "model_run";
    /// The name of the file that the program reads.
    pub const INPUTS: &str = "inputs.jsonl";
    /// Bytes that it may write.
    pub const MAX_OUTPUT_BYTES: u64 = 4 << 20;
}

/// What came of a [`ModelRun`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelRunAnswer {
    /// What the program has written.
    Written(String),
    /// The code that says why the output does not count, which is the program's fault.
    Failed(String),
}

/// What the function that runs programs is asked to do with an upload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramRequest {
    /// The benchmark's id.
    pub benchmark: String,
    /// The leaderboard.
    pub leaderboard: String,
    /// The data set that the submission is scored with.
    pub dataset: Digest,
    /// How the round runs programs.
    pub programs: Programs,
}

/// What came of running a program: an object that only functions write and read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// The version of this document's form.
    pub schema: u32,
    /// The data set that the program was to be run on.
    pub dataset: Digest,
    /// The program.
    pub program: Program,
    /// Its run on public data, unless it could not be run at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_run: Option<PublicRun>,
    /// Whether it was run on the hidden data.
    pub is_hidden_run: bool,
    /// Fuel that it used there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fuel: Option<u64>,
    /// The digest of what it wrote to standard output there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Digest>,
    /// The artifact that it wrote, with the data set's own ids: a JSON document as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
    /// Why it has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Reason>,
}

impl Output {
    /// The version of the form written today.
    pub const SCHEMA: u32 = 1;

    /// The folder of a benchmark's outputs in the submissions bucket.
    pub fn folder(benchmark: &str) -> String {
        format!("{benchmark}/{UNNAMED}/{OUTPUTS}/")
    }

    /// Where the output of a submission is kept.
    pub fn key(benchmark: &str, submission: &SubmissionId) -> String {
        format!("{}{submission}", Self::folder(benchmark))
    }

    /// The submission whose output an object of the submissions bucket is; `None` for an object outside the folder of outputs, and `Some(None)` for
    /// another name in that folder, which is nobody's submission either.
    pub fn of(benchmark: &str, upload: &Upload) -> Option<Option<SubmissionId>> {
        let name = upload.key.strip_prefix(&Self::folder(benchmark))?;
        Some(name.parse().ok())
    }

    /// The output of a submission; `None` where the program has not been run yet on `dataset`.
    ///
    /// # Errors
    /// [`PortError`] when the bucket does not answer, or the object is of another form.
    pub async fn read(
        submissions: &dyn Bucket,
        benchmark: &str,
        submission: &SubmissionId,
        dataset: Option<Digest>,
    ) -> Result<Option<Self>, PortError> {
        let key = Self::key(benchmark, submission);
        let malformed = |why: String| PortError::Malformed {
            what: format!("`{key}`"),
            why,
        };
        let bytes = match submissions.get(&key, None, MAX_OUTPUT_BYTES).await? {
            Got::Object(object) => object.bytes,
            Got::Missing => return Ok(None),
            Got::TooLarge { n_bytes } => return Err(malformed(format!("it has {n_bytes} bytes"))),
        };
        let output: Self = serde_json::from_slice(&bytes).map_err(|error| malformed(error.to_string()))?;
        if output.schema != Self::SCHEMA {
            let why = format!(
                "its schema is {}, this version reads {}",
                output.schema,
                Self::SCHEMA
            );
            return Err(malformed(why));
        }
        Ok(Some(output).filter(|output| Some(output.dataset) == dataset))
    }

    /// The artifact, or why there is none.
    pub(crate) fn artifact(&self) -> Result<&[u8], Rejection> {
        let mut reasons = Reasons::default();
        for reason in &self.reasons {
            reasons.add(reason.clone());
        }
        if self.artifact.is_none() && reasons.is_empty() {
            reasons.add(code_only("no_output"));
        }
        reasons.into_verdict(self.artifact.as_deref().unwrap_or_default().as_bytes())
    }

    /// The verdict as it may be told of a run on hidden data: everything else is a channel from the hidden data to the program's author. A rejection
    /// has one code and nothing more, the first in the alphabet if there are several: a set of codes would tell a bit for each of them. There are no
    /// metrics and no digest of the artifact; the score was rounded where it was computed.
    pub(crate) fn told(&self, verdict: Verdict) -> Verdict {
        let public_run = self.public_run.clone();
        if !self.is_hidden_run {
            return Verdict {
                public_run,
                ..verdict
            };
        }
        let codes = verdict.reasons.iter().map(|reason| reason.code.as_str());
        let first = codes.min().filter(|_| verdict.status == Ending::Rejected);
        // every field by its name, so that a new one is decided about here
        Verdict {
            status: verdict.status,
            benchmark: verdict.benchmark,
            leaderboard: verdict.leaderboard,
            score: verdict.score,
            evaluator: verdict.evaluator,
            program: Some(self.program.clone()),
            public_run,
            dataset: Some(self.dataset),
            reasons: first.map(code_only).into_iter().collect(),
            n_reasons: None,
            cause: None,
            metrics: BTreeMap::new(),
            lines: Vec::new(),
            artifact: None,
        }
    }
}

/// A reason of a run on hidden data.
pub fn code_only(code: &str) -> Reason {
    let message = "on the hidden data; more than the code is not told. Try the program on public data with `dataperf closed run`";
    Reason::new(code, "", message)
}

/// A score with as many digits after the decimal point as `n_items` can tell apart: one item is at least one unit of the last digit.
///
/// ```
/// assert_eq!(dataperf::programs::rounded(0.851_017_028, 733), 0.851);
/// ```
pub fn rounded(score: f64, n_items: usize) -> f64 {
    let digits = (1..=9)
        .find(|&digits| 10_usize.pow(digits) >= n_items)
        .unwrap_or(9);
    let unit = 10_f64.powi(digits.cast_signed());
    (score * unit).round() / unit
}
