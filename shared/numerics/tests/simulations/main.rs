//! How often intervals hold the truth, by simulation: the tables of docs/statistics.md.
//!
//! Each test makes few runs. More are made on demand, such as `PLACE_RUNS=1000 cargo test --workspace --test simulations places -- --nocapture`.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests"
)]

mod across;
mod curves;
mod places;
mod random;
mod regression;
mod shares;
mod swaps;
