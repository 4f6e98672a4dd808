//! The whole, end to end: the real function binary and the real SDK on the cloud on one machine, the command line as
//! a process, and the project's own rules.
//!
//! `cargo test --workspace` builds the programs next to this one.
#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers of tests are tests

mod access;
mod boards;
mod challenges;
mod commands;
mod contracts;
mod datasets;
mod faults;
mod leaks;
mod nibbler;
mod page_uploads;
mod people;
mod programs;
mod project_rules;
mod read_api;
mod support;
mod text;
mod uploads;
