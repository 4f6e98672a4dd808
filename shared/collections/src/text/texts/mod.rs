//! Contexts, the texts that people write for them, and answers.

pub(crate) mod answers;
pub(crate) mod contexts;
pub mod filter;
pub mod squad;
