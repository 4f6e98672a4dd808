//! The Lambda function of Data Acquisition.

use dataperf_benchmarks::data_acquisition::DataAcquisition;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    dataperf_aws::run::<DataAcquisition>().await
}
