//! The Lambda function of Adversarial Nibbler: verdict.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    dataperf_collections_aws::nibbler::run_verdict().await
}
