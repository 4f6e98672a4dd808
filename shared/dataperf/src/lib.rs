//! DataPerf's pure core: what hosts benchmarks of *data* with frozen models, and knows none of them.
//!
//! A submitter hands in an artifact (a training set, an order, a plan), a [`Benchmark`] says what it must look
//! like and what it is worth, and [`evaluate`](evaluate::evaluate) turns it into a [`Verdict`]. Nothing in here
//! knows AWS, a clock, an environment or a file system; what it needs from the world are the [`ports`].

pub mod admission;
pub mod archive;
pub mod artifact_judge;
pub mod benchmark;
mod board;
pub mod challenge;
pub mod closed;
pub mod comparison;
pub mod dataset;
mod descriptor;
mod digest;
pub mod effect;
pub mod encoding;
pub mod evaluate;
pub mod evidence;
pub mod failure;
mod fault;
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
pub mod misplaced;
pub mod paired;
pub mod pool;
pub mod ports;
pub mod programs;
pub mod progress;
mod rank;
mod ranking;
mod receipts;
mod rejection;
pub mod release;
pub mod replicates;
pub mod rescoring;
pub mod retirement;
mod row_cache;
pub mod scorecard;
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
pub use descriptor::{Descriptor, Fixed};
pub use digest::{Digest, InvalidDigest};
pub use feedback::{Feedback, Shown};
pub use file_kind::mistaken_for_text;
pub use rank::{Direction, RankKey};
pub use receipts::{receipt_level, write_receipt, write_where_it_shows_less};
pub use rejection::{MAX_LISTED_REASONS, Reason, Reasons, Rejection, explain_every, pointer, quote};
pub use similar::{offer, similar};
pub use spreadsheet::csv_cell;
pub use submitter::{InvalidSubmitterName, SubmitterName};
pub use timestamp::{InvalidTimestamp, Timestamp};
pub use unknown_ids::explain_unknown_ids;
pub use upload::{SubmissionId, Upload, UploadKey};
pub use verdict::{EVALUATOR, Ending, LineOutcome, Receipt, Scorecard, Verdict};
