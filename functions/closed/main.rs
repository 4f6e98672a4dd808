//! The Lambda function that runs programs. It runs submitted programs for one submission, first on
//! public data and then on the round's hidden data. The benchmark's function continues with its
//! output object. It also runs target models of Adversarial Text that are programs; their caller
//! waits for the output.

mod model;
mod run;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use dataperf::evaluation::failure_judge::FaultKind;
use dataperf::programs::{Layer, ModelRun, ProgramRequest};
use dataperf::{Benchmark, Upload};
use dataperf_aws::{Addresses, Connections, Fault, PROBE, SignedBucket, guarded, program_request, uploads};
use dataperf_closed::{Probe, Runner};
use lambda_runtime::{LambdaEvent, service_fn};
use serde_json::{Value, json};

use crate::run::{Run, Tasks, not_run};

/// The variable that names the interpreter for Python programs. `dataperf local` sets it. The
/// template must not set it, because only the kernel of a single machine confines such programs.
const PYTHON: &str = "DATAPERF_PYTHON";

/// The variable that says that each run has its own virtual machine and a role without rights. The
/// template sets it. Then these and the engine confine programs, and layers that the kernel refuses
/// are skipped.
const MICRO_VM: &str = "DATAPERF_MICRO_VM";

/// The layers that must confine programs that share a machine with other processes.
const ON_ONE_MACHINE: [Layer; 5] = [
    Layer::Process,
    Layer::KernelLimits,
    Layer::SystemCallFilter,
    Layer::EndsWithParent,
    Layer::HiddenMemory,
];

/// The state kept between invocations.
struct Function {
    connections: Connections,
    /// An error if the program's identity is unknown.
    runner: io::Result<Runner>,
    /// The layers that confine programs in addition to those that their own process requests from
    /// the kernel.
    around: BTreeSet<Layer>,
    python: Option<OsString>,
}

fn main() -> Result<ExitCode, lambda_runtime::Error> {
    // the process of a submitted program is this program, before it has read anything
    if let Some(ended) = dataperf_closed::child() {
        return Ok(ended);
    }
    dataperf_aws::log_as_json();
    serve()?;
    Ok(ExitCode::SUCCESS)
}

#[tokio::main(flavor = "current_thread")]
async fn serve() -> Result<(), lambda_runtime::Error> {
    let function = Function::new();
    // nothing ends the function here: an event that can't be handled says why in its record of failure
    match function.probe() {
        Ok(Probe {
            layers,
            missing,
            runs,
            ..
        }) => {
            tracing::info!(layers = %json!(layers), missing = %json!(missing), runs, "what holds programs");
        }
        Err(fault) => tracing::error!(outcome = "fault", error = %fault, "programs are not run"),
    }
    let function = &function;
    lambda_runtime::run(service_fn(|event: LambdaEvent<Value>| async move {
        guarded(function.handle(&event)).await
    }))
    .await
}

impl Function {
    fn new() -> Self {
        let is_alone = std::env::var_os(MICRO_VM).is_some();
        let runner = Runner::of_this_program(); // before its own file is hidden with its memory
        let mut around = BTreeSet::from([Layer::WebAssembly]);
        // the credentials in it are nobody's but this process's
        if dataperf_closed::hide_memory().is_ok() {
            around.insert(Layer::HiddenMemory);
        }
        let mut required = BTreeSet::from(ON_ONE_MACHINE);
        if is_alone {
            around.insert(Layer::MicroVm);
            required = [Layer::WebAssembly, Layer::Process].into();
        }
        Self {
            connections: Connections::default(),
            runner: runner.map(|runner| runner.requiring(required).within(around.clone())),
            around,
            python: std::env::var_os(PYTHON).filter(|_| !is_alone),
        }
    }

    fn runner(&self) -> Result<&Runner, Fault> {
        self.runner.as_ref().map_err(|error| Fault {
            kind: FaultKind::Organizer,
            message: format!("it is not known which program this is: {error}"),
        })
    }

    fn probe(&self) -> Result<Probe, Fault> {
        self.runner()?.probe().map_err(|error| not_run(&error))
    }

    async fn handle(&self, event: &LambdaEvent<Value>) -> Result<Value, Fault> {
        let payload = &event.payload;
        if payload.get(PROBE).is_some() {
            return Ok(json!(self.probe()?));
        }
        let (submissions, datasets) = Addresses::of_event(payload)?.buckets(&self.connections);
        let request_id = &event.context.request_id;
        if let Some(request) = payload.get(ModelRun::EVENT) {
            return model::run(self.runner()?, datasets, request, request_id).await;
        }
        let request = program_request(payload)?;
        let uploads = uploads(payload)?;
        let (Some(request), [upload]) = (request, &uploads[..]) else {
            return Err(Fault::event("it is not one upload with a request to run it"));
        };
        let tasks = tasks(&request.benchmark)
            .ok_or_else(|| Fault::event(format!("there is no benchmark `{}`", request.benchmark)))?;
        let buckets = (&submissions, &datasets);
        self.run(&request, &tasks, upload, buckets, request_id).await?;
        Ok(json!({ "run": upload.id() }))
    }

    async fn run(
        &self,
        request: &ProgramRequest,
        tasks: &Tasks,
        upload: &Upload,
        (submissions, datasets): (&SignedBucket, &SignedBucket),
        request_id: &str,
    ) -> Result<(), Fault> {
        let run = Run {
            runner: &self.runner()?.clone().requiring_also(&request.programs.layers),
            around: &self.around,
            python: self.python.as_deref(),
            submissions,
            datasets,
            request,
            tasks,
        };
        let output = run.settle(upload).await?;
        tracing::info!(
            request_id,
            benchmark = tasks.hosted.id,
            leaderboard = request.leaderboard,
            submission = %upload.id(),
            module = %output.program.module,
            engine = output.program.engine,
            layers = %json!(output.program.layers),
            is_hidden_run = output.is_hidden_run,
            fuel = output.fuel,
            codes = output.reasons.iter().map(|reason| reason.code.as_str()).collect::<Vec<_>>().join(" "),
            "program run"
        );
        Ok(())
    }
}

macro_rules! define_tasks {
    ($($benchmark:ty,)*) => {
        /// The tasks of a benchmark by its id.
        fn tasks(id: &str) -> Option<Tasks> {
            $(
                if id == <$benchmark as Benchmark>::ID {
                    return Some(Tasks::for_benchmark::<$benchmark>());
                }
            )*
            None
        }
    };
}
dataperf_benchmarks::for_each_benchmark!(define_tasks);
