//! The Lambda function that signs forms, with which whoever holds a submitter's token uploads one file straight to the bucket.
//!
//! It stores nothing and scores nothing: limits are counted by the function that judges, as for any upload. docs/read-api.md is its
//! manual.

mod app;
mod sign;

use app::App;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    dataperf_aws::log_as_json();
    lambda_http::run(sign::router(App::from_environment()?)).await
}
