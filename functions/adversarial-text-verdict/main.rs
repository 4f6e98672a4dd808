//! The Lambda function of Adversarial Text: verdict.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    dataperf_collections_aws::text::run_verdict().await
}
