//! The Lambda function of Debugging for Vision.

use dataperf::benchmarks::vision_debugging::VisionDebugging;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    dataperf_aws::run::<VisionDebugging>().await
}
