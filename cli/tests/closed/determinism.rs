//! Records the outputs of programs and the fuel they use. Each processor that runs these tests
//! checks the others' numbers. A new engine, or new costs of calls, changes the fuel, and then
//! [`ENGINE`](dataperf_closed::ENGINE) and this table change. Digests of output never change.

use std::fs;
use std::time::Instant;

use dataperf::Digest;
use dataperf::benchmark::closed::DataFile;
use dataperf_closed::{Job, Limits};
use serde_json::Value;

use crate::common::{self, words};
use crate::{families, n_runs, run, run_module};

/// Limits that no example comes near to.
fn limits() -> Limits {
    Limits {
        max_fuel: 1_000_000_000,
        ..crate::limits()
    }
}

/// Of each example on the demo's data set: the module, the benchmark, the board, the digest of standard output, and the fuel.
const EXAMPLES: [(&str, &str, &str, &str, u64); 10] = [
    (
        "selection-c.wasm",
        "selection",
        "digits-20",
        "sha256:af58d32a7ac9d1a743f3b76f1a916e4b0304c2e2777a6bfaa4dd4c826caeb70e",
        5_324_085,
    ),
    (
        "selection-rust.wasm",
        "selection",
        "digits-20",
        "sha256:af58d32a7ac9d1a743f3b76f1a916e4b0304c2e2777a6bfaa4dd4c826caeb70e",
        3_782_151,
    ),
    (
        "selection-c.wasm",
        "selection",
        "digits-50",
        "sha256:5046676189944e2e26ac70f7eac22a3d6c38c46d6ddcd7b32d2e2320ec737ac1",
        5_381_108,
    ),
    (
        "selection-rust.wasm",
        "selection",
        "digits-50",
        "sha256:5046676189944e2e26ac70f7eac22a3d6c38c46d6ddcd7b32d2e2320ec737ac1",
        3_823_377,
    ),
    (
        "debugging-c.wasm",
        "debugging",
        "tissue",
        "sha256:a029b159832317f479a62fbd8826b547b2d80da4c25706689b31a8efcc90dbcc",
        39_988_011,
    ),
    (
        "debugging-rust.wasm",
        "debugging",
        "tissue",
        "sha256:a029b159832317f479a62fbd8826b547b2d80da4c25706689b31a8efcc90dbcc",
        73_140_159,
    ),
    (
        "acquisition-c.wasm",
        "acquisition",
        "clinics",
        "sha256:32a4bc5f03ddd9a9d64c1915d70eb1ea825c87b931e86f8b3304ef63faabaa33",
        4_944_966,
    ),
    (
        "acquisition-rust.wasm",
        "acquisition",
        "clinics",
        "sha256:32a4bc5f03ddd9a9d64c1915d70eb1ea825c87b931e86f8b3304ef63faabaa33",
        486_357,
    ),
    (
        "speech_selection-c.wasm",
        "speech-selection",
        "en-25",
        "sha256:c6d9e32a41fdab730a779f51eca4a56809b15ba546e51dec4250175f96abec7d",
        19_949_867,
    ),
    (
        "speech_selection-rust.wasm",
        "speech-selection",
        "en-25",
        "sha256:c6d9e32a41fdab730a779f51eca4a56809b15ba546e51dec4250175f96abec7d",
        15_187_909,
    ),
];

/// The files that a program finds on a board, as the command writes them.
fn data(benchmark: &str, board: &str) -> Vec<DataFile> {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("data");
    let dataset = crate::command::frozen(benchmark);
    let made = common::run(words!(
        "closed data {benchmark} -l {board} -d {dataset} --out {}",
        out.display()
    ));
    assert!(made.status.success(), "{made:?}");
    let files = fs::read_dir(&out).unwrap().map(|entry| {
        let entry = entry.unwrap();
        DataFile {
            name: entry.file_name().into_string().unwrap(),
            bytes: fs::read(entry.path()).unwrap(),
        }
    });
    files.collect()
}

#[test]
fn examples_write_equal_bytes_on_every_processor() {
    for (name, benchmark, board, output, fuel) in EXAMPLES {
        let program = crate::command::example(name);
        let ran = crate::command::closed(&program, benchmark, board, &[]);
        let verdict: Value = serde_json::from_slice(&ran.stdout).unwrap();
        let actual = (
            verdict["run"]["output"].as_str().unwrap(),
            verdict["run"]["fuel"].as_u64().unwrap(),
        );
        assert_eq!(actual, (output, fuel), "{name} on {board}");
        let (module, files) = (fs::read(program).unwrap(), data(benchmark, board));
        let job = Job {
            module: &module,
            files: &files,
            seed: [7; 32],
        };
        let (n, began) = (n_runs(1), Instant::now());
        for _ in 0..n {
            let run = crate::runner().run(job, limits()).unwrap();
            let written = Digest::compute(run.output.as_ref().unwrap()).to_string();
            assert_eq!(
                (written.as_str(), run.fuel.unwrap()),
                (output, fuel),
                "{name} on {board}, again"
            );
        }
        // for docs/performance.md, and for who ends a thousand runs before the last example
        let took = began.elapsed().as_secs_f64();
        eprintln!("{name} on {board}: {n} times the same, {took:.1} s");
    }
}

/// A program that uses every family of instructions, and most instructions of each.
const FAMILIES: (&str, u64) = (
    "sha256:5e66e71c6bc03f9341cfe13064583a5db0a913af1874fb092706dd7563a6409c",
    1_009_241,
);

#[test]
fn every_instruction_family_matches_across_processors() {
    let module = wat::parse_str(families::program()).unwrap();
    for _ in 0..n_runs(3) {
        let ran = run_module(&module, limits());
        let output = ran
            .output
            .as_ref()
            .unwrap_or_else(|failure| panic!("{failure:?} {}", String::from_utf8_lossy(&ran.log)));
        let digest = Digest::compute(output).to_string();
        assert_eq!(
            (digest.as_str(), ran.fuel.unwrap()),
            FAMILIES,
            "{} bytes",
            output.len()
        );
    }
}

/// Numbers that differ between processors or draws: NaNs, random bytes, time, memory and calls.
const EVERYTHING: &str = r#"(module
    (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "clock_time_get" (func $time (param i32 i64 i32) (result i32)))
    (memory (export "memory") 1)
    (func (export "_start") (local $n i32)
        (drop (call $random (i32.const 1024) (i32.const 4096)))
        (drop (call $time (i32.const 0) (i64.const 1) (i32.const 1016)))
        (f32.store (i32.const 1012) (f32.div (f32.const 0) (f32.const 0)))
        (f64.store (i32.const 1000) (f64.sqrt (f64.const -1)))
        (local.set $n (i32.const 10000))
        (loop $again
            (f64.store (i32.add (i32.const 1024) (local.get $n))
                (f64.mul (f64.load (i32.add (i32.const 1025) (local.get $n))) (f64.const 1.1)))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (drop (call $time (i32.const 1) (i64.const 1) (i32.const 1008)))
        (i32.store (i32.const 0) (i32.const 1000))
        (i32.store (i32.const 4) (i32.const 12000))
        (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))"#;

#[test]
fn a_program_using_every_feature_is_repeatable() {
    let first = run(EVERYTHING);
    assert_eq!(first.output.as_ref().unwrap().len(), 12_000);
    for _ in 0..n_runs(30) {
        assert_eq!(run(EVERYTHING), first);
    }
}
