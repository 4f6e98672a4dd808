//! A model that is a WebAssembly program of the data set: the function that runs submitted programs runs it, too, and is waited for.

use std::time::Instant;

use dataperf::programs::{ModelRun, ModelRunAnswer};
use dataperf_aws::{Addresses, Post, Resources};
use serde_json::json;

use super::NotAnswered;

/// Runs a program, and returns its output.
pub(super) async fn run(
    resources: &Resources,
    function: &str,
    run: &ModelRun,
    deadline: Instant,
) -> Result<String, NotAnswered> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(NotAnswered::NotAsked(
            "got no request: there was no time left".into(),
        ));
    }
    let addresses = Addresses::of_model(&resources.datasets().await, run).await;
    let addresses = addresses.and_then(|addresses| addresses.packed());
    let addresses = addresses.map_err(|error| NotAnswered::Transient(error.to_string()))?;
    let event = json!({ (ModelRun::EVENT): run, (Addresses::EVENT): addresses }).to_string();
    let request = Post {
        operation: "Invoke",
        path: format!("/2015-03-31/functions/{function}/invocations"),
        headers: vec![("x-amz-invocation-type", "RequestResponse")],
        body: event,
    };
    let invoked = resources.clients().await.lambda(None);
    let answer = tokio::time::timeout(left, invoked.post(request)).await;
    let late = |_| NotAnswered::Transient(format!("gave no answer in {:.1} s", left.as_secs_f64()));
    let answer = answer.map_err(late)?;
    let answer = answer.map_err(|_| NotAnswered::Transient("could not be run".into()))?;
    match serde_json::from_slice(&answer) {
        Ok(ModelRunAnswer::Written(written)) => Ok(written),
        Ok(ModelRunAnswer::Failed(why)) => Err(NotAnswered::Organizer(format!("failed: {why}"))),
        Err(_) => Err(NotAnswered::Transient("could not be run".into())),
    }
}
