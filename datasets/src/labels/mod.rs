//! Labels of data sets: where they are, what people say of them, and their correction.

pub(crate) mod correct;
pub mod labelled;
pub mod near;
pub(crate) mod verdicts;
