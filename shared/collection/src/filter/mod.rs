//! Which texts are refused: words that are denied, and languages that are not asked for.

mod deny_list;
mod language;

pub use deny_list::denied;
pub use language::{foreign, is_language};
