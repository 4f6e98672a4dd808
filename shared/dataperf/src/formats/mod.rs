//! Reads file formats of artifacts, and writes numbers and cells for people.

pub mod archive;
pub(crate) mod decimals;
pub mod delimited;
pub(crate) mod file_kind;
pub mod json;
pub(crate) mod line_numbers;
pub(crate) mod spreadsheet;
