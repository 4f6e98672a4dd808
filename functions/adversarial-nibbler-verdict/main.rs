//! The Lambda function of Adversarial Nibbler: verdict.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    dataperf_nibbler_aws::run_verdict().await
}
