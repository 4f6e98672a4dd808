//! The Lambda function of `debugging`.

use dataperf_benchmarks::own_data::debugging::Debugging;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    dataperf_aws::run::<Debugging>().await
}
