//! The Lambda function that signs forms. The holder of a submitter's token uploads one file
//! straight to the bucket with a form.
//!
//! It stores and scores nothing. The judging function counts limits, as for any upload.
//! docs/read-api.md is its manual.

mod app;
mod sign;

use app::App;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    dataperf_aws::log_as_json();
    lambda_http::run(sign::router(App::from_environment()?)).await
}
