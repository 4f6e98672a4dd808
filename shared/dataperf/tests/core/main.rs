//! The core without a cloud: the rules, boards, and the frozen format.
#![allow(clippy::expect_used)] // helpers of tests are tests

mod board_log;
mod documents;
mod evidence;
mod feedback;
mod figures;
mod frozen;
mod ladder;
mod reading;
mod rounds;
mod rules;
mod signatures;
mod tiny;
mod warm;
