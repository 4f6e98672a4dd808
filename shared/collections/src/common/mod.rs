//! Code shared by collections, to which people submit items that raters judge. It covers files of
//! lines with an outcome each, ids that reveal nothing, duplicates, leases on paid work, consensus
//! and agreement of raters, disqualifications, and standings.
//!
//! It is independent of the items: Adversarial Nibbler and Adversarial Text are built on it. Like
//! the crate `dataperf`, it uses no cloud, no clock, no environment and no file system.

pub mod agreement;
pub mod consensus;
mod disqualified;
mod fields;
pub mod filter;
mod ids;
mod lease;
mod lines;
pub mod offline;
mod progress;
pub mod text;
mod words;

pub use disqualified::{Disqualified, Subject};
pub use fields::{Fields, Term};
pub(crate) use ids::id;
pub use ids::{InvalidId, SecretKey, WeakKey, digest, is_id, short};
pub use lease::Lease;
pub use lines::{Line, LineItem, MAX_LINE_BYTES, all_rejected, check_lines, json_lines, pretty_json, read};
pub use progress::Progress;
pub use text::duplicates::{Duplicate, DuplicateKeys, Earlier, similarity};
pub use words::UnknownWord;
pub(crate) use words::words;
