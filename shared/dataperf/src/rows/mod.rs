//! The rows of boards: how they follow from facts, and what scoring a board again changes.

pub mod facts;
pub mod ranking;
pub mod revision;
