//! The Lambda function that answers questions about leaderboards over HTTP: read only, and never a Scan.
//!
//! docs/read-api.md is its manual, `/api/v1/openapi.json` its contract. The local cloud runs this same binary.

mod answer;
mod app;
mod caller;
mod catalogue;
mod cursor;
mod dataset;
mod figures;
mod query;
mod routes;
mod rows;

use app::App;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_http::Error> {
    dataperf_aws::log_as_json();
    lambda_http::run(routes::router(App::from_environment()?)).await
}
