//! The Lambda function of `curation`.

use dataperf_benchmarks::own_data::curation::Curation;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    dataperf_aws::run::<Curation>().await
}
