//! The Lambda function of `selection`.

use dataperf_benchmarks::own_data::selection::Selection;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    dataperf_aws::run::<Selection>().await
}
