//! Boards in the table and in the results bucket: facts, rows, comparisons and published documents.

pub(crate) mod comparisons;
mod ladder;
mod leaderboards;
pub(crate) mod log;
mod maintenance;
pub(crate) mod page;
mod projections;
pub(crate) mod unfinished;
