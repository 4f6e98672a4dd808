//! Runs one submission's program, and stores what it has written.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Display;
use std::time::Instant;

use dataperf::benchmark::FrozenPart;
use dataperf::benchmark::dataset::Dataset;
use dataperf::dataset::DatasetError;
use dataperf::evaluation::evaluate::check;
use dataperf::evaluation::failure_judge::FaultKind;
use dataperf::evaluation::workflow::WorkflowError;
use dataperf::ports::PortError;
use dataperf::ports::bucket::{Bucket, Got};
use dataperf::programs::{
    Layer, Output, Program, ProgramRequest, Programs, PublicRun, code_only, stored_after,
};
use dataperf::{Benchmark, Descriptor, Digest, Reason, Rejection, Upload};
use dataperf_aws::{Fault, SignedBucket, now};
use dataperf_closed::{ENGINE, Failure, Job, Limits, RunError, Runner};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use dataperf_closed::Python;

/// The resources of a program's run.
pub(crate) struct Run<'a> {
    /// Demands the layers of the round.
    pub(crate) runner: &'a Runner,
    /// The layers that confine every kind of program here.
    pub(crate) around: &'a BTreeSet<Layer>,
    /// The interpreter, where programs in Python are run.
    pub(crate) python: Option<&'a OsStr>,
    pub(crate) submissions: &'a SignedBucket,
    pub(crate) datasets: &'a SignedBucket,
    pub(crate) request: &'a ProgramRequest,
    pub(crate) tasks: &'a Tasks,
}

/// The tasks of a benchmark. Only [`TaskData`] depends on the benchmark's type; all other code is
/// compiled once for all benchmarks.
pub(crate) struct Tasks {
    pub(crate) hosted: Descriptor,
    open: fn(SignedBucket, Digest) -> LocalBoxFuture<'static, Opened>,
}

type Opened = Result<Box<dyn TaskData>, Fault>;

impl Tasks {
    /// The tasks of `B`.
    pub(crate) fn for_benchmark<B: Benchmark>() -> Self {
        Self {
            hosted: Descriptor::for_benchmark::<B>(),
            open: |datasets, digest| {
                async move {
                    let opened = Dataset::<B>::published(datasets, digest).await;
                    Ok(Box::new(opened.map_err(unusable)?) as Box<dyn TaskData>)
                }
                .boxed_local()
            },
        }
    }
}

/// An open data set for programs.
trait TaskData {
    /// Whether the data set has the board; otherwise the rejection of the upload.
    fn check_board(&self, leaderboard: &str) -> Result<Result<(), Rejection>, Fault>;

    /// Runs the program on the participants' part of the data set, and checks its output against
    /// the rules.
    fn run<'a>(
        self: Box<Self>,
        leaderboard: &'a str,
        engine: &'a Engine<'_>,
        module: &'a [u8],
        limits: Limits,
    ) -> LocalBoxFuture<'a, Result<Ended, Fault>>;
}

impl<B: Benchmark> TaskData for Dataset<B> {
    fn check_board(&self, leaderboard: &str) -> Result<Result<(), Rejection>, Fault> {
        match Self::check_board(self, leaderboard) {
            Ok(()) => Ok(Ok(())),
            Err(not_scored) => Ok(Err(not_scored.rejection().map_err(unusable)?)),
        }
    }

    fn run<'a>(
        self: Box<Self>,
        leaderboard: &'a str,
        engine: &'a Engine<'_>,
        module: &'a [u8],
        limits: Limits,
    ) -> LocalBoxFuture<'a, Result<Ended, Fault>> {
        async move {
            let task = self.closed_task(leaderboard).await.map_err(unusable)?;
            let Some((task, seed)) = task else {
                let message = format!("`{}` takes no programs", B::ID);
                return Err(fault(FaultKind::Organizer, &message));
            };
            let job = Job {
                module,
                files: &task.files,
                seed,
            };
            let run = engine.run(job, limits).map_err(|error| not_run(&error))?;
            // the rules without a test set, which this function can't read
            let dataset = self.retaining(B::Frozen::is_public);
            let artifact = match run.artifact::<B::ClosedBoards>(&task, &limits) {
                Ok(artifact) => match check(&dataset, leaderboard, &artifact).await {
                    Ok(()) => Ok(artifact),
                    Err(not_scored) => Err(not_scored.rejection().map_err(unusable)?),
                },
                Err(rejection) => Err(rejection),
            };
            Ok(Ended { run, artifact })
        }
        .boxed_local()
    }
}

/// How a run on one data set ended.
struct Ended {
    run: dataperf_closed::Run,
    artifact: Result<Vec<u8>, Rejection>,
}

impl Ended {
    fn output(&self) -> Option<Digest> {
        Some(Digest::compute(self.run.output.as_ref().ok()?))
    }
}

/// The runner of a program.
enum Engine<'a> {
    Wasm(&'a Runner),
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    Python(Box<Python>),
}

impl Engine<'_> {
    fn run(&self, job: Job<'_>, limits: Limits) -> Result<dataperf_closed::Run, RunError> {
        match self {
            Self::Wasm(runner) => runner.run(job, limits),
            #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
            Self::Python(python) => python.run(job, limits),
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Wasm(_) => ENGINE,
            #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
            Self::Python(python) => python.engine(),
        }
    }
}

impl Run<'_> {
    /// Runs the program, and stores the output for the benchmark's function. It never runs a
    /// program twice on a data set: its caller may have sent the request twice.
    pub(crate) async fn settle(&self, upload: &Upload) -> Result<Output, Fault> {
        let id = self.tasks.hosted.id;
        let known = Output::read(self.submissions, id, &upload.id(), Some(self.request.dataset)).await;
        if let Some(output) = known? {
            return Ok(output);
        }
        let output = self.output(upload).await?;
        let document = serde_json::to_vec(&output).map_err(|error| fault(FaultKind::Organizer, &error))?;
        let key = Output::key(id, &upload.id());
        self.submissions.put(&key, document.into()).await?;
        Ok(output)
    }

    async fn output(&self, upload: &Upload) -> Result<Output, Fault> {
        let (limits, leaderboard) = (self.limits(), &self.request.leaderboard);
        let mut output = Output {
            schema: Output::SCHEMA,
            dataset: self.request.dataset,
            program: Program {
                module: Digest::compute(b""),
                engine: ENGINE.to_owned(),
                layers: BTreeSet::new(),
            },
            public_run: None,
            is_hidden_run: false,
            held_millis: 0,
            stored_at: now(),
            fuel: None,
            output: None,
            artifact: None,
            reasons: Vec::new(),
        };
        let engine = match self.engine(upload)? {
            Ok(engine) => engine,
            Err(reason) => {
                output.reasons.push(reason);
                return Ok(output);
            }
        };
        engine.name().clone_into(&mut output.program.engine);
        let module = match self.module(upload, &limits).await? {
            Ok(module) => module,
            Err(reason) => {
                output.reasons.push(reason);
                return Ok(output);
            }
        };
        output.program.module = Digest::compute(&module);
        // nothing is run for a board that the hidden data have not: a program could choose its name, and read it
        let open = |dataset| (self.tasks.open)(self.datasets.clone(), dataset);
        let hidden = open(self.request.dataset).await?;
        if let Err(rejection) = hidden.check_board(leaderboard)? {
            output.reasons = rejection.reasons().to_vec();
            return Ok(output);
        }
        let public = open(self.request.programs.public).await?;
        if let Err(rejection) = public.check_board(leaderboard)? {
            output.reasons = rejection.reasons().to_vec();
            return Ok(output);
        }
        let public = public.run(leaderboard, &engine, &module, limits).await?;
        output.program.layers.clone_from(&public.run.layers);
        let shown = PublicRun {
            fuel: public.run.fuel,
            output: public.output(),
            log: String::new(),
            is_log_cut: false,
        };
        output.public_run = Some(shown.with_log(&public.run.log, public.run.is_log_cut));
        if let Err(rejection) = public.artifact {
            output.reasons = rejection.reasons().to_vec();
            return Ok(output);
        }
        let began = Instant::now();
        let hidden = hidden.run(leaderboard, &engine, &module, limits).await;
        // hide its cost and the moment at which the machine ended it; the evaluator delays the
        // verdict
        let held = stored_after(began.elapsed());
        tokio::time::sleep(held.saturating_sub(began.elapsed())).await;
        let hidden = hidden?;
        output.held_millis = u64::try_from(held.as_millis()).unwrap_or(u64::MAX);
        (output.is_hidden_run, output.fuel, output.output) = (true, hidden.run.fuel, hidden.output());
        match hidden.artifact {
            Ok(artifact) => output.artifact = String::from_utf8(artifact).ok(),
            Err(rejection) => {
                let codes = rejection.reasons().iter().map(|reason| code_only(&reason.code));
                output.reasons = codes.collect();
            }
        }
        output.stored_at = now();
        Ok(output)
    }

    fn limits(&self) -> Limits {
        Limits {
            max_fuel: self.request.programs.max_fuel,
            max_memory_bytes: self.request.programs.max_memory_mib << 20,
            max_module_bytes: self.request.programs.max_module_bytes(),
            ..Limits::for_artifacts_of(
                self.request
                    .programs
                    .max_output_bytes(self.tasks.hosted.max_artifact_bytes),
            )
        }
    }

    /// The runner for the upload, or why there is none.
    fn engine(&self, upload: &Upload) -> Result<Result<Engine<'_>, Reason>, Fault> {
        if !Programs::is_python(&upload.key) {
            return Ok(Ok(Engine::Wasm(self.runner)));
        }
        let not_taken = |why: &str| {
            Ok(Err(Reason::new(
                "python_not_taken",
                "",
                format!("{why}: upload a WebAssembly module"),
            )))
        };
        if !self.request.programs.python {
            return not_taken("this round takes no programs in Python");
        }
        let Some(interpreter) = self.python else {
            return not_taken(
                "programs in Python run only in a cloud on one machine, and this round is on AWS",
            );
        };
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        {
            let executable = std::env::current_exe().map_err(|error| fault(FaultKind::Organizer, &error))?;
            let python = Python::new(executable, interpreter)
                .and_then(|python| python.within(self.around, &self.request.programs.layers))
                .map_err(|error| not_run(&error))?;
            Ok(Ok(Engine::Python(Box::new(python))))
        }
        #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
        {
            let _ = interpreter;
            not_taken("programs in Python run only on Linux on x86_64")
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
                let message = "somebody deleted the file before the platform could run it: upload it again";
                Err(Reason::new("deleted", "", message))
            }
            Err(PortError::Unreadable { why, .. }) => Err(Reason::new(why.code(), "", why.description())),
            Err(error) => return Err(error.into()),
        })
    }
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
