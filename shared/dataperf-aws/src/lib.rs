//! The core's ports on S3 and DynamoDB, the S3 event, and the Lambda function around a benchmark.

mod bucket;
mod clients;
mod event;
mod fault;
mod function;
mod items;
mod keys;
mod leaderboards;
mod logging;
mod pages;
mod ranges;
mod reader;
mod rows;
mod table;
mod tokens;
mod upkeep;

pub use bucket::S3Bucket;
pub use clients::Clients;
pub use event::{BadEvent, uploads};
pub use fault::Fault;
pub use function::run;
pub use leaderboards::DynamoLeaderboards;
pub use logging::log_as_json;
pub use pages::{Cursor, Page, PageError};
pub use tokens::{Holder, InvalidToken, Issued, Token, TokenDigest};
