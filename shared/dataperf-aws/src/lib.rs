//! The core's ports on S3 and DynamoDB, the S3 event, the Lambda function around a benchmark, and the one
//! that ends what the others could not.

/// The allocator of every function and of the local cloud. Each request of the SDK allocates hundreds of small pieces, which takes the C library's
/// allocator a tenth of all time under load (`docs/performance.md`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod boards;
mod bucket;
mod caretaker;
mod events;
mod function;
mod runtime;
mod sdk;
mod submitters;
mod table;

pub use boards::comparisons::CompareRequest;
pub use boards::log::LogStores;
pub use boards::page::BoardPlace;
pub use bucket::active_datasets::change_in_force;
pub use bucket::listing::{Place, Versions, folders, versions};
pub use bucket::ranges::Connections;
pub use bucket::signed::{Addresses, SignedBucket};
pub use bucket::{S3Bucket, Tagged};
pub use caretaker::run_caretaker;
pub use events::failed_event::{GivenUp, given_up};
pub use events::fault::{Fault, with_causes};
pub use events::s3_event::{announcement, uploads};
pub use function::evaluators::{Evaluators, PROBE, program_request};
pub use function::fail_upload::GiveBack;
pub use function::requests::compare_request;
pub use function::resources::{Resources, bundled_programs};
pub use function::run;
pub use function::serve::{Function, serve};
pub use runtime::logging::log_as_json;
pub use runtime::{guarded, now, variable};
pub use sdk::clients::Clients;
pub use sdk::kms::{KmsKey, ReceiptKeys};
pub use sdk::port_error::port_error;
pub use sdk::retry::{Pauses, Retry};
pub use sdk::service::{Post, Service, ServiceError};
pub use submitters::daily_use::N_TAKEN;
pub use submitters::forms::{FormKey, FormRequest, MAX_FORM_SECONDS, UploadForm, upload_form};
pub use submitters::grants::Grant;
pub use submitters::names::submitters;
pub use submitters::tokens::{Holder, InvalidToken, Issued, TOKEN_DAYS, Token, TokenDigest, days_after};
pub use table::items::{Item, SCHEMA, count, number, text};
pub use table::keys::{Key, RANKING_INDEX, TABLE_KEYS};
pub use table::pages::{Cursor, Page, PageError, history_place};
pub use table::query::Partition;
pub use table::reader::Reader;
pub use table::row_spread::{BoardRow, RowSpread};
pub use table::{Cancelled, Change, Condition, Operation, Step, Table};
