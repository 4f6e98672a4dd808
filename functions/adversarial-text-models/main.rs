//! The Lambda function of the models that compete on Adversarial Text.

use dataperf_benchmarks::adversarial_text_models::AdversarialTextModels;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    dataperf_aws::run::<AdversarialTextModels>().await
}
