//! What each function's binary says when it is started where it can't work: `tests/starts.rs` of each function.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use std::process::{Command, Output};

/// What every function needs; what one needs beside it is its `MORE`.
const NEEDED: [&str; 4] = [
    "DATAPERF_TABLE",
    "DATAPERF_DATASETS_BUCKET",
    "DATAPERF_RESULTS_BUCKET",
    "DATAPERF_SIGNING_KEY",
];

fn needed() -> Vec<&'static str> {
    [&NEEDED, super::MORE].concat()
}

fn start(environment: &[&str]) -> Output {
    let mut command = Command::new(super::BINARY);
    command
        .env_clear()
        .envs(environment.iter().map(|&name| (name, "60")))
        .output()
        .unwrap()
}

#[test]
fn a_missing_variable_is_named() {
    for (n_set, missing) in needed().into_iter().enumerate() {
        let output = start(&needed()[..n_set]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains(&format!("the environment variable `{missing}` is not set")),
            "{said}"
        );
    }
}

#[test]
fn outside_lambda_it_ends() {
    let output = start(&needed());
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("AWS_LAMBDA_"),
        "the runtime names what it needs: {said}"
    );
}
