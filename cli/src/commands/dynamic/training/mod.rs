//! Commands that train models on exported rounds, query them, and compare them on rounds.

pub(crate) mod ask;
pub(crate) mod data;
pub(crate) mod matrix;
pub(crate) mod train;
