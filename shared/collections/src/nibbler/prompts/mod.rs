//! Prompts: their forms, the filter, and vectors of their meaning.

pub(crate) mod embedding;
pub mod filter;
pub mod forms;
pub(crate) mod ngrams;
