//! Modules that are hard to compile: refused before, or ended at a limit, and never the host's trouble.

use dataperf_closed::{Code, Limits};

use crate::hostile::{a_million_locals, deep_nesting, hard_to_compile};
use crate::{failed, limits, run_module};

#[test]
fn a_million_locals_are_refused() {
    let run = run_module(&a_million_locals(), limits());
    assert_eq!(failed(&run).0, Code::InvalidModule);
}

/// It is compiled and does nothing.
#[test]
fn deep_nesting_ends() {
    let run = run_module(&deep_nesting(), limits());
    assert_eq!(failed(&run).0, Code::NoOutput, "{run:?}");
}

#[test]
fn compiling_stops_at_the_memory_limit() {
    let run = run_module(&hard_to_compile(), limits());
    assert_eq!(failed(&run).0, Code::CompileLimit);
    assert_eq!(run.fuel, None);
}

#[test]
fn compiling_stops_at_the_time_limit() {
    let limits = Limits {
        compile_seconds: 0,
        ..limits()
    };
    assert_eq!(
        failed(&run_module(&hard_to_compile(), limits)).0,
        Code::CompileLimit
    );
}
