//! The real binary, started where it can't work, says what it lacks.

#![allow(clippy::expect_used)] // helpers of tests are tests

use std::process::{Command, Output};

fn start(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_closed"));
    command.args(arguments).env_clear();
    command.output().expect("it starts")
}

#[test]
fn outside_lambda_it_ends() {
    let output = start(&[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("AWS_LAMBDA_"), "{said}");
}

/// As the process of a program it reads what it is given before anything of the environment, and does nothing where there is nothing.
#[test]
fn as_the_process_of_a_program_it_needs_no_environment() {
    let output = start(&["run-a-submitted-program"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && !said.contains("DATAPERF"), "{said}");
}
