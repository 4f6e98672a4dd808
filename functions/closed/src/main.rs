//! The Lambda function that runs programs. Submitted ones for one submission, first on public data and then on the round's hidden data:
//! what comes of it is an object that the benchmark's function goes on with. And target models of Adversarial Text that are programs, whose
//! caller waits for what they write.

mod model;
mod run;

use std::ffi::OsString;
use std::process::ExitCode;

use dataperf::programs::{ModelRun, ProgramRequest};
use dataperf::{Benchmark, Upload};
use dataperf_aws::{Clients, Fault, S3Bucket, guarded, program_request, uploads, variable};
use dataperf_closed::Runner;
use lambda_runtime::{LambdaEvent, service_fn};
use serde_json::{Value, json};

use crate::run::Run;

/// The variable that names the interpreter for programs in Python. `dataperf local` sets it; the template does not, and must not, because only the
/// kernel of one machine confines such programs.
const PYTHON: &str = "DATAPERF_PYTHON";

/// What is kept between invocations.
struct Function {
    clients: Clients,
    datasets: String,
    runner: Runner,
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
    let (runner, datasets) = (Runner::of_this_program()?, variable("DATAPERF_DATASETS_BUCKET")?);
    dataperf_closed::hide_memory()?; // the credentials in it are nobody's but this process's
    let function = Function {
        clients: Clients::from_environment().await,
        datasets,
        runner,
        python: std::env::var_os(PYTHON),
    };
    let function = &function;
    lambda_runtime::run(service_fn(|event: LambdaEvent<Value>| async move {
        guarded(function.handle(&event)).await
    }))
    .await
}

impl Function {
    async fn handle(&self, event: &LambdaEvent<Value>) -> Result<Value, Fault> {
        if let Some(request) = event.payload.get(ModelRun::EVENT) {
            let datasets = S3Bucket::new(self.clients.s3.clone(), &self.datasets);
            return model::run(&self.runner, datasets, request, &event.context.request_id).await;
        }
        let request = program_request(&event.payload)?;
        let uploads = uploads(&event.payload)?;
        let (Some(request), [upload]) = (request, &uploads[..]) else {
            return Err(Fault::event("it is not one upload with a request to run it"));
        };
        let request_id = &event.context.request_id;
        Box::pin(self.with_benchmark(&request, upload, request_id)).await?;
        Ok(json!({ "run": upload.id() }))
    }

    async fn run<B: Benchmark>(
        &self,
        request: &ProgramRequest,
        upload: &Upload,
        request_id: &str,
    ) -> Result<(), Fault> {
        let bucket = |name: &str| S3Bucket::new(self.clients.s3.clone(), name);
        let run = Run {
            runner: &self.runner,
            python: self.python.as_deref(),
            submissions: &bucket(&upload.bucket),
            datasets: &bucket(&self.datasets),
            request,
        };
        let output = run.settle::<B>(upload).await?;
        tracing::info!(
            request_id,
            benchmark = B::ID,
            leaderboard = request.leaderboard,
            submission = %upload.id(),
            module = %output.program.module,
            engine = output.program.engine,
            is_hidden_run = output.is_hidden_run,
            fuel = output.fuel,
            codes = output.reasons.iter().map(|reason| reason.code.as_str()).collect::<Vec<_>>().join(" "),
            "program run"
        );
        Ok(())
    }
}

macro_rules! dispatch {
    ($($benchmark:ty,)*) => {
        impl Function {
            async fn with_benchmark(&self, request: &ProgramRequest, upload: &Upload, request_id: &str) -> Result<(), Fault> {
                $(
                    if request.benchmark == <$benchmark as Benchmark>::ID {
                        return self.run::<$benchmark>(request, upload, request_id).await;
                    }
                )*
                Err(Fault::event(format!("there is no benchmark `{}`", request.benchmark)))
            }
        }
    };
}
dataperf_benchmarks::for_each_benchmark!(dispatch);
