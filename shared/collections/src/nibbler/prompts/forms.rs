//! The forms in which prompts are compared.

pub use crate::common::text::{canonical, folded};
