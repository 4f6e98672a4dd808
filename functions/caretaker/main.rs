//! The Lambda function that ends the uploads that the evaluators could not end: those given up, never announced, or left unfinished.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    dataperf_aws::run_caretaker(
        dataperf_hosted::HOSTED,
        dataperf_collections_aws::common::give_back,
    )
    .await
}
