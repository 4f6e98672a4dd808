//! The Lambda function of Adversarial Nibbler: submit.

use dataperf_minilm::MiniLm;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    dataperf_collections_aws::nibbler::run_submit(|files| Ok(Box::new(MiniLm::load(files)?))).await
}
