//! The Lambda function of `acquisition`.

use dataperf_benchmarks::own_data::acquisition::Acquisition;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    dataperf_aws::run::<Acquisition>().await
}
