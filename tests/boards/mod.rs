//! Boards: rows, ranks, comparisons, histories and published documents.

mod board_log;
mod books;
mod comparisons;
mod histories;
mod in_memory;
mod ladder;
pub(crate) mod many_rows;
mod numbers;
mod scale;
