//! The core's ports on S3 and DynamoDB, the S3 event, the Lambda function around a benchmark, and the one
//! that ends what the others could not.

mod bucket;
mod caretaker;
mod clients;
mod evaluators;
mod event;
mod fault;
mod function;
mod given_up;
mod items;
mod keys;
mod leaderboards;
mod logging;
mod meter;
mod metrics;
mod pages;
mod ranges;
mod reader;
mod report;
mod rows;
mod runtime;
mod submitters;
mod sweep;
mod sweep_state;
mod table;
mod tokens;
mod upkeep;
mod xray;

pub use bucket::S3Bucket;
pub use caretaker::run_caretaker;
pub use clients::Clients;
pub use evaluators::Evaluators;
pub use event::{BadEvent, announcement, uploads};
pub use fault::Fault;
pub use function::run;
pub use given_up::{GivenUp, given_up};
pub use leaderboards::DynamoLeaderboards;
pub use logging::log_as_json;
pub use pages::{Cursor, Page, PageError};
pub use submitters::{FormRequest, MAX_FORM_SECONDS, Submitter, UploadForm, submitter_policy, upload_form};
pub use tokens::{Holder, InvalidToken, Issued, Token, TokenDigest};
