//! The core's ports on S3 and DynamoDB, the S3 event, the Lambda function around a benchmark, and the one
//! that ends what the others could not.

/// The allocator of every function and of the local cloud. Each request of the SDK allocates hundreds of small pieces, which takes the C library's
/// allocator a tenth of all time under load (`docs/performance.md`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod attributes;
mod board_page;
mod bucket;
mod caretaker;
mod clients;
mod comparisons;
mod counts;
mod daily;
mod evaluators;
mod event;
mod fault;
mod finish;
mod function;
mod give_up;
mod given_up;
mod go_on;
mod grants;
mod in_force;
mod in_parts;
mod items;
mod keys;
mod kms;
mod ladder;
mod leaderboards;
mod listing;
mod logging;
mod maintenance;
mod meter;
mod metrics;
mod names;
mod notes;
mod pages;
mod port_error;
mod projections;
mod query;
mod ranges;
mod reader;
mod report;
mod rescore;
mod resources;
mod retry;
mod row_spread;
mod runtime;
mod serve;
mod service;
mod submitters;
mod sweep;
mod sweep_marks;
mod sweep_misplaced;
mod sweep_state;
mod table;
mod time_limit;
mod tokens;
mod unfinished;
mod xray;

pub use board_page::BoardPlace;
pub use bucket::{S3Bucket, Tagged};
pub use caretaker::run_caretaker;
pub use clients::Clients;
pub use comparisons::CompareRequest;
pub use daily::N_TAKEN;
pub use evaluators::{Evaluators, program_request};
pub use event::{announcement, uploads};
pub use fault::{Fault, with_causes};
pub use function::requests::compare_request;
pub use function::run;
pub use give_up::GiveBack;
pub use given_up::{GivenUp, given_up};
pub use grants::{Access, Grant};
pub use in_force::change_in_force;
pub use items::{Item, SCHEMA, count, number, text};
pub use keys::{Key, RANKING_INDEX, TABLE_KEYS};
pub use kms::{KmsKey, ReceiptKeys};
pub use listing::{Place, Versions, folders, versions};
pub use logging::log_as_json;
pub use names::submitters;
pub use pages::{Cursor, Page, PageError, history_place};
pub use port_error::port_error;
pub use query::Partition;
pub use reader::Reader;
pub use resources::{Resources, programs_beside};
pub use retry::{Pauses, Retry};
pub use row_spread::{BoardRow, RowSpread};
pub use runtime::{guarded, now, variable};
pub use serve::{Function, serve};
pub use service::{Post, Service, ServiceError};
pub use submitters::{
    FormKey, FormRequest, MAX_FORM_SECONDS, Submitter, UploadForm, submitter_policy, upload_form,
};
pub use table::{Cancelled, Change, Condition, Operation, Step, Table};
pub use tokens::{Holder, InvalidToken, Issued, TOKEN_DAYS, Token, TokenDigest, days_after};
