//! The whole, end to end: the real function binary and the real SDK on the cloud on one machine, the command line as
//! a process, and the project's own rules.
//!
//! The programs are those that `cargo test --workspace` builds beside this one.
#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers of tests are tests

mod access;
mod artifacts;
mod attackers;
mod attackers_elsewhere;
mod baselines;
mod board_log;
mod books;
mod caretaking;
mod causes;
mod challenges;
mod comparisons;
mod contracts;

mod demo;
mod demo_story;
mod deployment;
mod dynamic;
mod exports;
mod finals;
mod histories;
mod imports;
mod in_force;
mod kits;
mod ladder;
mod layout;
mod leaks;
mod many_rows;
mod misplaced;
mod nibbler;
mod nothing_lost;
mod numbers;
mod organizer;
mod organizing;
mod page_uploads;
mod programs;
mod project;
mod promises;
mod publishing;
mod ranks;
mod read_api;
mod receipts;
mod retirements;
mod rush;
mod scale;
mod scores;
mod splits;
mod storms;
mod sweeping;
mod tables;
mod text;
mod tidy;
mod unreadable;
mod uploads;
mod wire_formats;
mod world;
