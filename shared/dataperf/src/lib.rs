//! DataPerf's pure core: what hosts benchmarks of *data* with frozen models, and knows none of them.
//!
//! A submitter hands in an artifact (a training set, an order, a plan), a [`Benchmark`] says what it must look
//! like and what it is worth, and [`evaluate`](evaluate::evaluate) turns it into a [`Verdict`]. Nothing in here
//! knows AWS, a clock, an environment or a file system; what it needs from the world are the [`ports`].

pub mod admission;
pub mod allowance;
pub mod archive;
pub mod artifact_judge;
pub mod benchmark;
mod board;
pub mod board_log;
pub mod challenge;
pub mod closed;
mod column;
pub mod comparison;
pub mod dataset;
mod decimals;
pub mod delimited;
mod descriptor;
mod digest;
pub mod effect;
pub mod encoding;
mod endings;
mod errors;
pub mod evaluate;
mod evaluated;
pub mod evidence;
pub mod facts;
pub mod failure;
pub mod fault;
mod feedback;
pub mod figures;
mod file_kind;
mod files;
pub mod finishing;
pub mod frozen;
pub mod in_force;
pub mod json;
pub mod ladder;
mod leaderboard;
mod line_numbers;
pub mod misplaced;
mod no_intervals;
pub mod noted;
pub mod paired;
pub mod pairs;
pub mod pool;
pub mod ports;
pub mod programs;
pub mod progress;
mod rank;
pub mod ranking;
mod receipts;
mod rejection;
pub mod release;
mod released;
pub mod replicates;
pub mod rescoring;
pub mod retirement;
mod row_cache;
pub mod scorecard;
mod shown;
pub mod signature;
mod similar;
mod spreadsheet;
mod submission;
mod submitter;
mod timestamp;
mod unknown_ids;
pub mod upload;
mod verdict;
pub mod warm;
pub mod workflow;

pub use benchmark::Benchmark;
pub use column::Column;
pub use decimals::decimals;
pub use descriptor::{Collects, Descriptor, Fixed};
pub use digest::{Digest, InvalidDigest};
pub use endings::Endings;
pub use feedback::{Feedback, Shown};
pub use file_kind::{FileKind, UTF_16, kind_of_file, mistaken_for_text, text_of_file};
pub use line_numbers::{LineNumbers, line_number};
pub use no_intervals::NoIntervals;
pub use rank::{Direction, RankKey};
pub use receipts::{signed, write_receipt, write_where_it_shows_less};
pub use rejection::{
    MAX_LISTED_BYTES, MAX_LISTED_REASONS, Reason, Reasons, Rejection, explain_every, pointer, quote,
};
pub use scorecard::Scorecard;
pub use similar::{list_names, offer, similar};
pub use spreadsheet::csv_cell;
pub use submitter::{InvalidSubmitterName, SubmitterName};
pub use timestamp::{InvalidTimestamp, Timestamp};
pub use unknown_ids::{explain_unknown, other_spellings};
pub use upload::{SubmissionId, Upload, UploadKey};
pub use verdict::{EVALUATOR, Ending, LineOutcome, Receipt, Verdict};
