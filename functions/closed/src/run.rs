//! Runs one submission's program, and stores what it has written.

use std::fmt::Display;

use dataperf::dataset::{Dataset, DatasetError};
use dataperf::evaluate::check;
use dataperf::failure::FaultKind;
use dataperf::ports::PortError;
use dataperf::ports::bucket::{Bucket, Got};
use dataperf::programs::{Output, Program, ProgramRequest, code_only};
use dataperf::workflow::WorkflowError;
use dataperf::{Benchmark, Digest, Reason, Rejection, Upload};
use dataperf_aws::{Fault, S3Bucket};
use dataperf_closed::{ENGINE, Failure, Job, Limits, RunError, Runner};

/// Bytes of what a program writes to standard error that are told, of a run on public data: its end.
const TOLD_LOG_BYTES: usize = 2 << 10;

/// What a program is run with.
pub(crate) struct Run<'a> {
    pub(crate) runner: &'a Runner,
    pub(crate) submissions: &'a S3Bucket,
    pub(crate) datasets: &'a S3Bucket,
    pub(crate) request: &'a ProgramRequest,
}

/// How a run on one data set ended.
struct Ended {
    fuel: Option<u64>,
    artifact: Result<Vec<u8>, Rejection>,
}

impl Run<'_> {
    /// Runs the program, and stores the output for the benchmark's function.
    pub(crate) async fn settle<B: Benchmark>(&self, upload: &Upload) -> Result<Output, Fault> {
        let output = self.output::<B>(upload).await?;
        let document = serde_json::to_vec(&output).map_err(|error| fault(FaultKind::Organizer, &error))?;
        let key = Output::key(B::ID, &upload.id());
        self.submissions.put(&key, document.into()).await?;
        Ok(output)
    }

    async fn output<B: Benchmark>(&self, upload: &Upload) -> Result<Output, Fault> {
        let limits = self.limits::<B>();
        let mut output = Output {
            schema: Output::SCHEMA,
            dataset: self.request.dataset,
            program: Program {
                module: Digest::of(b""),
                engine: ENGINE.to_owned(),
            },
            is_hidden_run: false,
            fuel: None,
            artifact: None,
            reasons: Vec::new(),
        };
        let module = match self.module(upload, &limits).await? {
            Ok(module) => module,
            Err(reason) => {
                output.reasons.push(reason);
                return Ok(output);
            }
        };
        output.program.module = Digest::of(&module);
        let public = self
            .run::<B>(self.request.programs.public, &module, limits)
            .await?;
        if let Err(rejection) = public.artifact {
            output.reasons = rejection.reasons().to_vec();
            return Ok(output);
        }
        let hidden = self.run::<B>(self.request.dataset, &module, limits).await?;
        (output.is_hidden_run, output.fuel) = (true, hidden.fuel);
        match hidden.artifact {
            Ok(artifact) => output.artifact = String::from_utf8(artifact).ok(),
            Err(rejection) => {
                let codes = rejection.reasons().iter().map(|reason| code_only(&reason.code));
                output.reasons = codes.collect();
            }
        }
        Ok(output)
    }

    fn limits<B: Benchmark>(&self) -> Limits {
        Limits {
            max_fuel: self.request.programs.max_fuel,
            max_memory_bytes: self.request.programs.max_memory_mib << 20,
            ..Limits::for_artifacts_of(B::MAX_ARTIFACT_BYTES)
        }
    }

    async fn module(&self, upload: &Upload, limits: &Limits) -> Result<Result<Vec<u8>, Reason>, Fault> {
        let got = self
            .submissions
            .get(&upload.key, upload.version.as_deref(), limits.max_module_bytes);
        Ok(match got.await {
            Ok(Got::Object(object)) => Ok(object.bytes.to_vec()),
            Ok(Got::TooLarge { n_bytes }) => Err(Failure::module_too_large(limits, n_bytes).reason(limits)),
            Ok(Got::Missing) => {
                let message = "the file was deleted before it could be run: upload it again";
                Err(Reason::new("deleted", "", message))
            }
            Err(PortError::Unreadable { why, .. }) => Err(Reason::new(why.code(), "", why.description())),
            Err(error) => return Err(error.into()),
        })
    }

    /// Runs the program on the participants' part of a data set, and holds what it has written against the rules.
    async fn run<B: Benchmark>(
        &self,
        dataset: Digest,
        module: &[u8],
        limits: Limits,
    ) -> Result<Ended, Fault> {
        let leaderboard = &self.request.leaderboard;
        let dataset = Dataset::<B>::published(self.datasets.clone(), dataset).await;
        let dataset = dataset.map_err(unusable)?;
        let task = dataset.closed_task(leaderboard).await.map_err(unusable)?;
        let Some((task, seed)) = task else {
            let message = format!("`{}` takes no programs", B::ID);
            return Err(fault(FaultKind::Organizer, &message));
        };
        let job = Job {
            module,
            files: &task.files,
            seed,
        };
        let run = self.runner.run(job, limits).map_err(|error| not_run(&error))?;
        let artifact = match &run.output {
            Ok(written) => task.artifact(written),
            Err(failure) => Err(with_log(failure.reason(&limits), &run.log).into()),
        };
        // the rules without an eval set, which this function could not read
        let dataset = dataset.retaining(B::is_public);
        let artifact = match artifact {
            Ok(artifact) => match check(&dataset, leaderboard, &artifact).await {
                Ok(()) => Ok(artifact),
                Err(not_scored) => Err(not_scored.rejection().map_err(unusable)?),
            },
            Err(rejection) => Err(rejection),
        };
        Ok(Ended {
            fuel: run.fuel,
            artifact,
        })
    }
}

/// A reason with the end of what the program has written to standard error and, for a trap, of where it was.
fn with_log(reason: Reason, log: &[u8]) -> Reason {
    let told = String::from_utf8_lossy(&log[log.len().saturating_sub(TOLD_LOG_BYTES)..]);
    let told: String = told
        .chars()
        .map(|c| {
            if c.is_control() && c != '\n' {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect();
    if told.trim().is_empty() {
        return reason;
    }
    let message = format!("{}; the end of its log: {}", reason.message, told.trim());
    Reason { message, ..reason }
}

fn fault(kind: FaultKind, error: &dyn Display) -> Fault {
    Fault {
        kind,
        message: error.to_string(),
    }
}

fn unusable(error: DatasetError) -> Fault {
    WorkflowError::from(error).into()
}

/// Why a program was not run, which is never its fault.
pub(crate) fn not_run(error: &RunError) -> Fault {
    let kind = match error {
        RunError::Refused { .. } => FaultKind::Organizer,
        RunError::Start(_) | RunError::Busy { .. } | RunError::Lost { .. } => FaultKind::Transient,
    };
    fault(kind, &dataperf_aws::with_causes(error))
}
