//! The real binary, started where it can't work, says what it lacks.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use std::process::{Command, Output};

const NEEDED: [&str; 6] = [
    "DATAPERF_TABLE",
    "DATAPERF_DATASETS_BUCKET",
    "DATAPERF_SUBMISSIONS_BUCKET",
    "DATAPERF_RESULTS_BUCKET",
    "DATAPERF_SIGNING_KEY",
    "DATAPERF_CURSOR_KEY",
];

fn start(environment: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_leaderboards"));
    command
        .env_clear()
        .envs(environment.iter().map(|&name| (name, "name")))
        .output()
        .unwrap()
}

#[test]
fn a_missing_variable_is_named() {
    for (n_set, missing) in NEEDED.into_iter().enumerate() {
        let output = start(&NEEDED[..n_set]);
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
    let output = start(&NEEDED);
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("AWS_LAMBDA_"),
        "the runtime names what it needs: {said}"
    );
}
