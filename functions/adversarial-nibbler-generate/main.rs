//! The Lambda function of Adversarial Nibbler: generate.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    dataperf_collections_aws::nibbler::run_generate().await
}
