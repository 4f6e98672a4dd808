//! The core without a cloud: the rules, boards, and the frozen format.
#![allow(clippy::expect_used)] // helpers of tests are tests

mod boards;
mod datasets;
mod documents;
mod feedback;
mod figures;
mod reading;
mod rounds;
mod rules;
mod tiny;
