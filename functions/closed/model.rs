//! Runs a program of a data set, a model, on what its caller sends and waits for.

use dataperf::benchmark::closed::DataFile;
use dataperf::dataset::{FrozenFiles, Integrity, dataset_prefix};
use dataperf::evaluation::workflow::WorkflowError;
use dataperf::programs::{ModelRun, ModelRunAnswer};
use dataperf_aws::{Fault, SignedBucket};
use dataperf_closed::{Job, Limits, Runner};
use serde_json::{Value, json};

use crate::run::not_run;

/// Runs the model that an event asks for.
pub(crate) async fn run(
    runner: &Runner,
    datasets: SignedBucket,
    request: &Value,
    request_id: &str,
) -> Result<Value, Fault> {
    let request = serde_json::from_value(request.clone());
    let request: ModelRun = request.map_err(|error| Fault::event(error.to_string()))?;
    let prefix = dataset_prefix(&request.benchmark, request.dataset);
    let digest = Some(request.dataset);
    let files = FrozenFiles::open(datasets, &request.benchmark, prefix, digest, Integrity::Digests);
    let files = files.await.map_err(WorkflowError::from)?;
    let module = files.file(&request.file).await.map_err(WorkflowError::from)?;
    let limits = Limits {
        max_fuel: request.max_fuel,
        ..Limits::for_artifacts_of(ModelRun::MAX_OUTPUT_BYTES)
    };
    let inputs = DataFile {
        name: ModelRun::INPUTS.into(),
        bytes: request.inputs.into_bytes(),
    };
    let job = Job {
        module: &module,
        files: &[inputs],
        seed: [0; 32], // a model answers the same whenever it is asked
    };
    let run = runner.run(job, limits).map_err(|error| not_run(&error))?;
    let answer = match run.output {
        Ok(written) => match String::from_utf8(written) {
            Ok(written) => ModelRunAnswer::Written(written),
            Err(_) => ModelRunAnswer::Failed("not_utf8".into()),
        },
        Err(failure) => ModelRunAnswer::Failed(failure.reason(&limits).code),
    };
    tracing::info!(
        request_id,
        benchmark = request.benchmark,
        dataset = %request.dataset,
        file = request.file,
        fuel = run.fuel,
        has_written = matches!(answer, ModelRunAnswer::Written(_)),
        "model run"
    );
    Ok(json!(answer))
}
