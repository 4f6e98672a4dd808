//! The Lambda function of Debugging for Vision.

use dataperf_benchmarks::vision_debugging::VisionDebugging;

// More threads than one: while the curves are drawn, for seconds, connections that the services close should be noticed.
#[tokio::main]
async fn main() -> Result<(), lambda_runtime::Error> {
    dataperf_aws::run::<VisionDebugging>().await
}
