//! Verdicts and receipts: their content, what each level shows of them, and where they are written.

pub mod fault;
pub(crate) mod feedback;
mod redaction;
pub(crate) mod verdict;
pub(crate) mod write;
