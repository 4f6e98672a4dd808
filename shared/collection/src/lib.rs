//! What collections share, in which people submit items and raters judge them: files of lines with an outcome
//! each, ids that reveal nothing, duplicates, leases on what costs money, consensus and agreement of raters,
//! disqualifications, and standings of submitters.
//!
//! It knows nothing of what is collected: Adversarial Nibbler and Adversarial Text are built on it. Like the crate `dataperf`, it knows no cloud, no
//! clock, no environment and no file system.

pub mod agreement;
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

pub use disqualified::{Disqualified, Subject};
pub use duplicates::{Duplicate, DuplicateKeys, Earlier, similarity};
pub use fields::{Fields, Term};
pub use ids::{InvalidId, SecretKey, WeakKey, digest, is_id, short};
pub use lease::Lease;
pub use lines::{Line, LineItem, MAX_LINE_BYTES, all_rejected, check_lines, json_lines, pretty_json, read};
pub use stands::Stands;
