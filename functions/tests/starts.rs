//! The real binaries, started where they can't work, say what they lack.
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use std::process::{Command, Output};

/// The settings that every function needs.
const NEEDED: [&str; 4] = [
    "DATAPERF_TABLE",
    "DATAPERF_DATASETS_BUCKET",
    "DATAPERF_RESULTS_BUCKET",
    "DATAPERF_SIGNING_KEY",
];

/// The functions, each with what it needs more.
const FUNCTIONS: &[(&str, &[&str])] = &[
    (env!("CARGO_BIN_EXE_acquisition"), &[]),
    (
        env!("CARGO_BIN_EXE_adversarial-nibbler-generate"),
        &["DATAPERF_SECRET"],
    ),
    (env!("CARGO_BIN_EXE_adversarial-nibbler-submit"), &[]),
    (env!("CARGO_BIN_EXE_adversarial-nibbler-verdict"), &[]),
    (env!("CARGO_BIN_EXE_adversarial-text-models"), &[]),
    (
        env!("CARGO_BIN_EXE_adversarial-text-submit"),
        &["DATAPERF_SECRET"],
    ),
    (env!("CARGO_BIN_EXE_adversarial-text-verdict"), &[]),
    (
        env!("CARGO_BIN_EXE_caretaker"),
        &[
            "DATAPERF_SUBMISSIONS_BUCKET",
            "DATAPERF_FUNCTION_PREFIX",
            "DATAPERF_SWEEP_AFTER_SECONDS",
            "DATAPERF_GIVE_UP_AFTER_SECONDS",
        ],
    ),
    (env!("CARGO_BIN_EXE_curation"), &[]),
    (env!("CARGO_BIN_EXE_data-acquisition"), &[]),
    (env!("CARGO_BIN_EXE_debugging"), &[]),
    (env!("CARGO_BIN_EXE_selection"), &[]),
    (env!("CARGO_BIN_EXE_speech-selection"), &[]),
    (
        env!("CARGO_BIN_EXE_uploads"),
        &["DATAPERF_SUBMISSIONS_BUCKET", "DATAPERF_SUBMISSIONS_URL"],
    ),
    (env!("CARGO_BIN_EXE_vision-debugging"), &[]),
    (env!("CARGO_BIN_EXE_vision-selection"), &[]),
];

/// The settings of the read API, in the order in which it reads them.
const NEEDED_BY_THE_API: [&str; 6] = [
    "DATAPERF_TABLE",
    "DATAPERF_DATASETS_BUCKET",
    "DATAPERF_SUBMISSIONS_BUCKET",
    "DATAPERF_RESULTS_BUCKET",
    "DATAPERF_SIGNING_KEY",
    "DATAPERF_CURSOR_KEY",
];

fn start(binary: &str, arguments: &[&str], environment: &[&str]) -> Output {
    let mut command = Command::new(binary);
    command
        .args(arguments)
        .env_clear()
        .envs(environment.iter().map(|&name| (name, "60")))
        .output()
        .unwrap()
}

/// Every function, with all that it needs.
fn functions() -> Vec<(&'static str, Vec<&'static str>)> {
    let own = FUNCTIONS
        .iter()
        .map(|(binary, more)| (*binary, [&NEEDED, *more].concat()));
    let api = (env!("CARGO_BIN_EXE_leaderboards"), NEEDED_BY_THE_API.to_vec());
    own.chain([api]).collect()
}

#[test]
fn a_missing_variable_is_named() {
    for (binary, needed) in functions() {
        for (n_set, missing) in needed.iter().enumerate() {
            let output = start(binary, &[], &needed[..n_set]);
            let text = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{binary}: {text}");
            let expected = format!("the environment variable `{missing}` is not set");
            assert!(text.contains(&expected), "{binary}: {text}");
        }
    }
}

#[test]
fn outside_lambda_a_function_ends() {
    let closed = (env!("CARGO_BIN_EXE_closed"), Vec::new());
    for (binary, needed) in functions().into_iter().chain([closed]) {
        let output = start(binary, &[], &needed);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{binary}");
        assert!(
            text.contains("AWS_LAMBDA_"),
            "the runtime names what it needs: {binary}: {text}"
        );
    }
}

/// As the process of a program it reads its input before the environment, and does nothing without
/// input.
#[test]
fn the_process_of_a_program_needs_no_environment() {
    let output = start(env!("CARGO_BIN_EXE_closed"), &["run-a-submitted-program"], &[]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && !text.contains("DATAPERF"), "{text}");
}
