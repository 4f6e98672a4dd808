//! Submitted programs, run by the real command in its own child processes: hostile ones, and the examples.
#![cfg(all(feature = "closed", target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers of tests are tests

mod attacks;
mod command;
#[path = "../common/mod.rs"]
mod common;
mod compiling;
mod crowd;
mod determinism;
mod drills;
mod families;
mod files;
mod hostile;
mod process;
mod python;
mod texts;

use dataperf::benchmark::closed::DataFile;
use dataperf_closed::{Code, Job, Limits, Run, Runner};

/// The command, which starts itself as the process of a program.
fn runner() -> Runner {
    Runner::new(env!("CARGO_BIN_EXE_dataperf").into())
}

/// Limits that an endless program reaches at once, with seconds that no program of these tests comes near to.
fn limits() -> Limits {
    Limits {
        max_fuel: 50_000_000,
        max_memory_bytes: 64 << 20,
        max_output_bytes: 1 << 20,
        compile_seconds: 300,
        run_seconds: 300,
        ..Limits::for_artifacts_of(1 << 20)
    }
}

/// How often a program is run that has to do the same again and again: a thousand times by hand, as docs/closed-division.md says.
fn n_runs(otherwise: usize) -> usize {
    std::env::var("DATAPERF_RUNS").map_or(otherwise, |n| n.parse().unwrap())
}

/// Two files.
fn files() -> Vec<DataFile> {
    let file = |name: &str, text: &str| DataFile {
        name: name.into(),
        bytes: text.into(),
    };
    vec![
        file("task.json", "{}\n"),
        file("pool.csv", "id,label\n0,a\n1,b\n"),
    ]
}

/// Runs a module.
fn run_module(module: &[u8], limits: Limits) -> Run {
    let files = files();
    let job = Job {
        module,
        files: &files,
        seed: [7; 32],
    };
    runner().run(job, limits).unwrap()
}

/// Runs a program that is given as text.
fn run(text: &str) -> Run {
    run_module(&wat::parse_str(text).unwrap(), limits())
}

/// A module around the body of `_start`, with a page of memory in which the text `data` is from 1024 on, and `$say`, which writes so
/// many bytes from there to a descriptor.
fn program(data: &str, body: &str) -> String {
    format!(
        r#"(module
        (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
        (memory (export "memory") 1)
        (data (i32.const 1024) "{data}")
        (func $say (param $fd i32) (param $n i32)
            (i32.store (i32.const 0) (i32.const 1024))
            (i32.store (i32.const 4) (local.get $n))
            (drop (call $fd_write (local.get $fd) (i32.const 0) (i32.const 1) (i32.const 8))))
        (func (export "_start") {body}))"#
    )
}

/// The code with which a run failed, and its message.
fn failed(run: &Run) -> (Code, &str) {
    let failure = run.output.as_ref().expect_err("it has an output");
    (failure.code, &failure.message)
}

/// The standard output of a run.
fn stdout(run: &Run) -> String {
    let output = run
        .output
        .as_ref()
        .unwrap_or_else(|failure| panic!("{failure:?}"));
    String::from_utf8(output.clone()).unwrap()
}
