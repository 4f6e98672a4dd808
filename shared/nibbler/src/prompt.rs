//! The forms in which prompts are compared.

pub use dataperf_collection::text::{canonical, folded};
