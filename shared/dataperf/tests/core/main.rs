//! The core without a cloud: the rules, the frozen format, and the workflow on ports that fail on purpose.
#![allow(clippy::expect_used)] // helpers of tests are tests

mod contract;
mod documents;
mod evidence;
mod failure;
mod feedback;
mod figures;
mod frozen;
mod ladder;
mod pipeline;
mod reading;
mod rounds;
mod rules;
mod signatures;
mod tiny;
mod warm;
