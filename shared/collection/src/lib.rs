//! What benchmarks share in which people make examples and others validate them: files of lines with an outcome each, names that give
//! nothing away, duplicates, leases on what costs money, what validators agree on and how far, whom and what the organizer has
//! disqualified, and how a submitter stands.
//!
//! It knows nothing of what is collected: Adversarial Nibbler and Adversarial Text stand on it. Like the crate `dataperf`, it knows no cloud, no clock, no
//! environment and no file system.

pub mod agreement;
mod allowance;
pub mod consensus;
mod disqualified;
mod duplicates;
mod fields;
pub mod filter;
mod ids;
mod lease;
mod lines;
pub mod offline;
pub mod spelling;
mod stands;
pub mod text;

pub use allowance::DailyAllowance;
pub use disqualified::{Disqualified, Subject};
pub use duplicates::{Duplicate, DuplicateKeys, Earlier, similarity};
pub use fields::{Fields, Term};
pub use ids::{InvalidId, SecretKey, WeakKey, digest, is_id, short};
pub use lease::Lease;
pub use lines::{Line, LineItem, MAX_LINE_BYTES, all_rejected, json_lines, read};
pub use stands::Stands;
