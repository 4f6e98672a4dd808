//! The Lambda function of Selection for Vision.

use dataperf::benchmarks::vision_selection::VisionSelection;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    dataperf_aws::run::<VisionSelection>().await
}
