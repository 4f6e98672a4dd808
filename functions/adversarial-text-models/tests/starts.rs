//! The real binary, started where it can't work, says what it lacks.

#[path = "../../../tests/function_starts.rs"]
mod function_starts;

const BINARY: &str = env!("CARGO_BIN_EXE_adversarial-text-models");
const MORE: &[&str] = &[];
