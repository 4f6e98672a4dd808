//! Rounds of the closed division, which take programs. A separate function runs the program on the
//! round's hidden data. Its output is judged as the submission's artifact.
//!
//! The benchmark's function receives the upload, applies the round's rules, and requests a run of
//! the program. The function that runs it stores the [`Output`] below [`Output::folder`] in the
//! submissions bucket, where no submitter can write. That event calls the benchmark's function
//! again, which finds the output and continues. So a program runs only after its round and limits
//! have admitted it. Every other path to a verdict (a later delivery, the caretaker's sweep) finds
//! the same output.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Digest;
use crate::ports::PortError;
use crate::ports::bucket::{Bucket, Got};
use crate::receipt::verdict::{Ending, Verdict, is_false};
use crate::rejection::{Reason, Reasons, Rejection};
use crate::timestamp::Timestamp;
use crate::upload::{SubmissionId, UNNAMED, Upload};

pub use crate::receipt::verdict::{Layer, Program, PublicRun};

/// The folder of outputs below the benchmark's, where no submitter's name can be.
const OUTPUTS: &str = "closed";
/// The largest output in bytes: the largest artifact of any benchmark, doubled for JSON text, plus
/// its metadata.
const MAX_OUTPUT_BYTES: u64 = 48 << 20;

/// How a round runs submitted programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// How many programs of a submitter may fail in a day (UTC), where this is not the round's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub daily_failures: Option<u64>,
    /// Whether programs in Python are taken as well: they are run on one machine, and by no function on AWS.
    #[serde(default, skip_serializing_if = "is_false")]
    pub python: bool,
    /// The layers that must confine a program, in addition to the machine's own. A machine without
    /// these layers runs no program; that is the organizer's fault.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub layers: BTreeSet<Layer>,
}

impl Programs {
    /// The fuel of a run, unless the round says otherwise.
    pub const MAX_FUEL: u64 = 20_000_000_000;
    /// The memory of a program in MiB, unless the round says otherwise.
    pub const MAX_MEMORY_MIB: u64 = 1024;
    /// The largest module in bytes: as large as an artifact that stays in the bucket may be.
    pub const MAX_MODULE_BYTES: u64 = 4 << 20;
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

    /// Whether an upload is a program in Python, by the ending of its name: `.py`, or `.zip` for an archive with a `main.py`.
    pub fn is_python(name: &str) -> bool {
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        ["py", "zip"]
            .iter()
            .any(|other| ending.eq_ignore_ascii_case(other))
    }
}

/// After what time the verdict on a run on hidden data is recorded, if running and judging took `elapsed`: the next of [`TOLD_AFTER_MILLIS`]. A program
/// that knows something of the data could tell it by ending early or late, whatever fuel it has, or by an artifact that is scored quickly or slowly; so
/// there are a few times for all. What takes longer than all of them is recorded at once.
///
/// ```
/// use std::time::Duration;
/// let told = |millis| dataperf::programs::shown_after(Duration::from_millis(millis)).as_millis();
/// assert_eq!([0, 90, 1500, 1501, 3001, 6001].map(told), [1500, 1500, 1500, 3000, 6000, 24000]);
/// ```
pub fn shown_after(elapsed: Duration) -> Duration {
    let times = TOLD_AFTER_MILLIS.map(Duration::from_millis);
    let next = times.into_iter().find(|shown| elapsed <= *shown);
    next.unwrap_or(elapsed)
}

/// The times at which verdicts on runs on hidden data are recorded, in milliseconds since the run began: up to more than what a run's 300 seconds of
/// processor time and 150 seconds of judging take together. Judging and waiting for the next time fit into an evaluator's 300 seconds.
pub const TOLD_AFTER_MILLIS: [u64; 8] = [1_500, 3_000, 6_000, 24_000, 96_000, 280_000, 340_000, 560_000];
/// So long before one of these times the output is stored: for what the evaluator usually takes.
const JUDGING: Duration = Duration::from_secs(1);
/// This much time from the output to its evaluator counts as part of the run, for example to store
/// a large output. The rest is queueing, which the program can't influence.
const MAX_WAY: Duration = Duration::from_millis(500);
/// Verdicts are recorded at whole multiples of this since the upload.
const STEP_MILLIS: i64 = 500;

/// For how long the output of a run on hidden data that took `elapsed` is held, from the beginning of the run on.
pub fn stored_after(elapsed: Duration) -> Duration {
    shown_after(elapsed + JUDGING)
        .saturating_sub(JUDGING)
        .max(elapsed)
}

/// The time that a receipt says of a verdict on a program's output, which [`Output::wait`] has held: the last step since the upload.
pub(crate) fn finished_at(received_at: Timestamp, now: Timestamp) -> Timestamp {
    let since = (now.unix_millis() - received_at.unix_millis()).max(0);
    Timestamp::from_unix_millis(received_at.unix_millis() + since / STEP_MILLIS * STEP_MILLIS)
}

/// A data set's program that runs while its caller waits: a model that answers its input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelRun {
    /// The benchmark of the data set.
    pub benchmark: String,
    /// The data set that has the program.
    pub dataset: Digest,
    /// Its file there.
    pub file: String,
    /// Fuel that it may use.
    pub max_fuel: u64,
    /// Its input: the file [`Self::INPUTS`], with a JSON object on each line.
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

/// The result of a [`ModelRun`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelRunAnswer {
    /// The program's output.
    Written(String),
    /// The code that says why the output does not count, which is the program's fault.
    Failed(String),
}

/// The request to the function that runs programs.
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

/// The result of running a program: an object that only functions write and read.
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
    /// How long the run on the hidden data was [held](stored_after), in milliseconds since its beginning.
    #[serde(default)]
    pub held_millis: u64,
    /// When this was about to be stored.
    pub stored_at: Timestamp,
    /// Fuel that it used there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fuel: Option<u64>,
    /// The digest of its standard output in that run.
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

    /// The folder of a submission's output.
    pub fn key(benchmark: &str, submission: &SubmissionId) -> String {
        format!("{}{submission}", Self::folder(benchmark))
    }

    /// The submission whose output an object of the submissions bucket is; `None` for an object outside the folder of outputs, and `Some(None)` for
    /// another name in that folder, which is nobody's submission either.
    pub fn parse_upload(benchmark: &str, upload: &Upload) -> Option<Option<SubmissionId>> {
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
            subject: format!("`{key}`"),
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

    /// How long the verdict is still held `now`, if judging the output began at `begun` and the program was received at `received_at`.
    ///
    /// Everything that may depend on hidden data (the run, storing its output, judging it) ends at
    /// one of [`TOLD_AFTER_MILLIS`]. The verdict waits for the next step since the upload, so that
    /// a receipt, an object or a row reveals only the step.
    pub fn wait(&self, received_at: Timestamp, begun: Timestamp, now: Timestamp) -> Duration {
        if !self.is_hidden_run {
            return Duration::ZERO;
        }
        let between = |from: Timestamp, to: Timestamp| {
            let millis = to.unix_millis() - from.unix_millis();
            Duration::from_millis(u64::try_from(millis).unwrap_or(0))
        };
        let way = between(self.stored_at, begun).min(MAX_WAY);
        let took = Duration::from_millis(self.held_millis) + way + between(begun, now);
        let held = shown_after(took).saturating_sub(took);
        let since_upload = between(received_at, now) + held;
        let step = Duration::from_millis(STEP_MILLIS.unsigned_abs());
        let n_steps = since_upload.as_nanos().div_ceil(step.as_nanos());
        let rounded = step.saturating_mul(u32::try_from(n_steps).unwrap_or(u32::MAX));
        held + rounded.saturating_sub(since_upload)
    }

    /// The artifact, or the reason why it is missing.
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

    /// The public part of the verdict on a run on hidden data; everything else would be a channel
    /// from the hidden data to the program's author. A rejection has one code, the first in the
    /// alphabet if there are several, because a set of codes would reveal a bit for each. There are
    /// no metrics and no digest of the artifact; the score was rounded when it was computed.
    pub(crate) fn disclose(&self, verdict: Verdict) -> Verdict {
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
            content: None,
        }
    }
}

/// A reason of a run on hidden data.
pub fn code_only(code: &str) -> Reason {
    let message = "on the hidden data, so only the code is shown. Try the program on public data with `dataperf closed \
        run`";
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_unix_millis(1_772_366_400_000 + i64::try_from(millis).expect("a time"))
    }

    fn output(held_millis: u64, stored_at: Timestamp) -> Output {
        Output {
            schema: Output::SCHEMA,
            dataset: Digest::compute(b"hidden"),
            program: Program {
                module: Digest::compute(b"module"),
                engine: "engine".into(),
                layers: BTreeSet::new(),
            },
            public_run: None,
            is_hidden_run: true,
            held_millis,
            stored_at,
            fuel: None,
            output: None,
            artifact: None,
            reasons: Vec::new(),
        }
    }

    /// When a verdict is recorded, in milliseconds since the upload, if its run began `queued` milliseconds after it.
    fn recorded([queued, run, way, judging]: [u64; 4]) -> u64 {
        let held = stored_after(Duration::from_millis(run)).as_millis();
        let held = u64::try_from(held).expect("milliseconds");
        let stored = queued + held;
        let (begun, now) = (stored + way, stored + way + judging);
        let wait = output(held, at(stored)).wait(at(0), at(begun), at(now));
        let recorded = at(now + u64::try_from(wait.as_millis()).expect("milliseconds"));
        let shown = finished_at(at(0), recorded);
        assert_eq!(shown, recorded, "a step is a step");
        u64::try_from(shown.unix_millis() - at(0).unix_millis()).expect("not before the upload")
    }

    #[test]
    fn recorded_processing_times_have_at_most_eight_values() {
        let judging = [
            0, 5, 90, 400, 499, 600, 1_400, 2_900, 5_756, 20_000, 60_000, 150_000,
        ];
        let runs = (0..300_000).step_by(70);
        for queued in [0, 130, 777, 100_000_001] {
            for way in [0, 120, 500] {
                let times: BTreeSet<u64> = runs
                    .clone()
                    .flat_map(|run| judging.map(|judging| recorded([queued, run, way, judging])))
                    .collect();
                assert!(times.len() <= 8, "{times:?}");
                assert!(times.iter().all(|time| time % 500 == 0), "{times:?}");
            }
        }
    }

    #[test]
    fn an_evaluator_waits_no_longer_than_it_runs() {
        let longest = |judging: u64| {
            let waits = (0..300_000).step_by(70).map(|run| {
                let held = u64::try_from(stored_after(Duration::from_millis(run)).as_millis()).expect("fits");
                output(held, at(held)).wait(at(0), at(held), at(held + judging))
            });
            waits.max().expect("a run") + Duration::from_millis(judging)
        };
        // what benchmarks with a short time limit take, and half of the longest one
        assert!(longest(400) <= Duration::from_millis(1_500), "{:?}", longest(400));
        for judging in [600, 10_000, 75_000, 95_000, 96_000, 120_000, 150_000] {
            assert!(longest(judging) < Duration::from_secs(294), "{judging}");
        }
    }

    #[test]
    fn a_run_on_public_data_is_not_held() {
        let output = Output {
            is_hidden_run: false,
            ..output(0, at(0))
        };
        assert_eq!(output.wait(at(0), at(10), at(20)), Duration::ZERO);
    }
}
