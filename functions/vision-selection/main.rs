//! The Lambda function of Selection for Vision.

use dataperf_benchmarks::vision_selection::VisionSelection;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    dataperf_aws::run::<VisionSelection>().await
}
