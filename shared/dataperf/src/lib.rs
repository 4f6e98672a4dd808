//! DataPerf's pure core: what hosts benchmarks of *data* with frozen models, and knows none of them.
//!
//! A submitter uploads an artifact (a training set, an order, a plan). A [`Benchmark`] defines its
//! form and its score. [`evaluate`](evaluation::evaluate::evaluate) turns it into a [`Verdict`]. Nothing here
//! uses AWS, a clock, an environment or a file system directly: the [`ports`] and the [`table`] provide them.
//!
//! Modules have no cycles. Each imports only modules before it in this list: [`formats`], [`ports`], [`upload`], [`signature`],
//! [`board`], [`dataset`], [`evidence`], [`benchmark`], [`receipt`], [`programs`], [`submission`], [`rows`], [`replicates`],
//! [`ladder`], [`challenge`], [`comparison`], [`table`], [`dataset_history`], [`evaluation`], [`closing`], [`board_log`].

pub mod benchmark;
pub mod board;
pub mod board_log;
pub mod challenge;
pub mod closing;
pub mod comparison;
pub mod dataset;
pub mod dataset_history;
mod digest;
pub mod evaluation;
pub mod evidence;
pub mod formats;
pub mod ladder;
pub mod ports;
pub mod programs;
pub mod progress;
pub mod receipt;
mod rejection;
pub mod replicates;
pub mod rows;
pub mod signature;
pub mod submission;
pub mod table;
mod timestamp;
pub mod upload;

pub use benchmark::Benchmark;
pub use benchmark::column::Column;
pub use benchmark::descriptor::{Collects, Descriptor, Fixed};
pub use benchmark::feedback::Feedback;
pub use benchmark::scorecard::Scorecard;
pub use board::rank_key::{Direction, RankKey};
pub use digest::{Digest, InvalidDigest};
pub use formats::decimals::decimals;
pub use formats::file_kind::{FileKind, UTF_16, is_zip, kind_of_file, mistaken_for_text, text_of_file};
pub use formats::line_numbers::{LineNumbers, line_number};
pub use formats::spreadsheet::csv_cell;
pub use receipt::redaction::Shown;
pub use receipt::verdict::{EVALUATOR, Ending, LineOutcome, Receipt, Verdict};
pub use receipt::write::{MAX_RECEIPT_BYTES, signed, write_receipt, write_where_it_shows_less};
pub use rejection::similar::{list_names, offer, similar};
pub use rejection::unknown_ids::{explain_unknown, other_spellings};
pub use rejection::{
    MAX_LISTED_BYTES, MAX_LISTED_REASONS, Reason, Reasons, Rejection, explain_every, pointer, quote,
};
pub use replicates::no_intervals::NoIntervals;
pub use submission::endings::Endings;
pub use timestamp::{InvalidTimestamp, Timestamp};
pub use upload::submitter::{InvalidSubmitterName, SubmitterName};
pub use upload::{SubmissionId, Upload, UploadKey};
