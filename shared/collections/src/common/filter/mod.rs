//! Which texts are refused: those with denied words, and those in languages that are not allowed.

mod deny_list;
mod language;

pub use deny_list::denied;
pub use language::{foreign, is_language};
