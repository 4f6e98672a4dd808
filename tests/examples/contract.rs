//! Checks S3 and `DynamoDB` at any addresses against the contracts of the ports: `contract S3_URL
//! DYNAMODB_URL BUCKET TABLE`.
//!
//! The tests do so with the local cloud; `tests/peers/run moto` does it with this program. It ends with 0 when both keep them.

#[path = "../contracts/suites/mod.rs"]
mod contract;

use dataperf_aws::{Clients, S3Bucket, Table};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [s3, dynamodb, bucket, table] = args.as_slice() else {
        return Err("call it as `contract S3_URL DYNAMODB_URL BUCKET TABLE`".into());
    };
    let clients = Clients::at(s3, dynamodb, "local", "local").await;
    contract::bucket(&S3Bucket::new(clients.s3.clone(), bucket), "contract").await?;
    let table = Table::new(clients.dynamodb, table);
    contract::leaderboards(&table, "contract").await?;
    contract::maintenance(&table, "upkeep").await
}
