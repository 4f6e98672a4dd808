//! Verdicts and receipts: their content, what each level shows of them, and where they are written.

pub mod fault;
pub mod figures;
pub(crate) mod redaction;
pub mod released_score;
pub(crate) mod verdict;
pub(crate) mod write;
