//! The Lambda function of Selection for Speech.

use dataperf_benchmarks::speech_selection::SpeechSelection;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    dataperf_aws::run::<SpeechSelection>().await
}
