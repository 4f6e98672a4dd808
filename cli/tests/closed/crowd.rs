//! Hostile programs of every kind: two hundred at once, after which the machine is as it was, and one after another, for what each takes.
//!
//! Both are run in a process of their own, this program started again with one test, so that what is counted of it is not another test's.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use dataperf_closed::{Limits, Run};

use crate::hostile::{Hostile, kinds};
use crate::{limits, run_module};

/// Says to the process that it is the one that is looked at.
const ALONE: &str = "DATAPERF_ALONE";
/// A limit of processor time that no other test has, by which the processes of this one are known.
const RUN_SECONDS: u64 = 322;
/// Other processes may use this much memory meanwhile; two hundred remaining programs would use six
/// times as much.
const MEMORY_KIB: u64 = 2 << 20;

/// Runs one test of this program by itself, below a directory for temporary files of its own. What it leaves there is returned.
fn alone(test: &str) -> Vec<String> {
    let scratch = tempfile::tempdir().unwrap();
    let ran = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(ALONE, "yes")
        .env("TMPDIR", scratch.path())
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && output.contains("1 passed"), "{output}");
    for (_, took) in output.lines().filter_map(|line| line.split_once("took ")) {
        eprintln!("{took}");
    }
    let left = fs::read_dir(scratch.path()).unwrap();
    left.map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

fn is_alone() -> bool {
    std::env::var_os(ALONE).is_some()
}

fn holds(hostile: &Hostile, run: &Run) {
    let code = run.output.as_ref().err().map(|failure| failure.code.as_str());
    assert_eq!(code, hostile.code, "{}: {run:?}", hostile.name);
    if let Ok(output) = &run.output {
        assert_eq!(
            output,
            &crate::files()[1].bytes,
            "{}: its own file, and nothing more",
            hostile.name
        );
    }
    assert!(run.log.len() < 1 << 12, "{}: {run:?}", hostile.name);
}

/// The resources of this process and the machine: descriptors and threads here, and free memory.
fn counted() -> (usize, usize, u64) {
    let n = |folder: &str| {
        fs::read_dir(Path::new("/proc/self").join(folder))
            .unwrap()
            .count()
    };
    let memory = fs::read_to_string("/proc/meminfo").unwrap();
    let available = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))
        .unwrap();
    let kib = available.split_whitespace().next().unwrap().parse().unwrap();
    (n("fd"), n("task"), kib)
}

#[test]
fn two_hundred_hostile_programs_leave_nothing_behind() {
    const NAME: &str = "crowd::two_hundred_hostile_programs_leave_nothing_behind";
    if !is_alone() {
        assert_eq!(alone(NAME), [""; 0], "files are left");
        return;
    }
    let limits = Limits {
        run_seconds: RUN_SECONDS,
        max_fuel: 200_000_000,
        ..limits()
    };
    let mut kinds = kinds();
    // what takes two gigabytes to compile is not run twenty times at once, here or anywhere: a function runs one at a time
    kinds.retain(|hostile| hostile.code != Some("compile_limit"));
    let before = counted();
    thread::scope(|scope| {
        for n in 0..200 {
            let hostile = &kinds[n % kinds.len()];
            scope.spawn(move || holds(hostile, &run_module(&hostile.module, limits)));
        }
    });
    let left = crate::process::with_run_seconds(RUN_SECONDS).count();
    assert_eq!(left, 0, "processes are left");
    let began = Instant::now();
    loop {
        let after = counted();
        let is_as_before = after.0 <= before.0 && after.1 <= before.1 && after.2 + MEMORY_KIB >= before.2;
        if is_as_before {
            return;
        }
        // the kernel takes back what ended a moment ago
        assert!(
            began.elapsed() < Duration::from_mins(1),
            "{before:?} before, {after:?} after"
        );
        thread::sleep(Duration::from_millis(100));
    }
}

/// The processor time of all processes that this one has waited for.
fn of_children() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let ticks = fields.split_whitespace().skip(13).take(2);
    let ticks: u64 = ticks.map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 1000 / 100) // the kernel tells programs hundredths of a second
}

/// With the limits that uploads have.
#[test]
fn each_hostile_program_ends_within_processor_seconds() {
    const NAME: &str = "crowd::each_hostile_program_ends_within_processor_seconds";
    if !is_alone() {
        assert_eq!(alone(NAME), [""; 0], "files are left");
        return;
    }
    let limits = Limits {
        run_seconds: RUN_SECONDS,
        ..Limits::for_artifacts_of(16 << 20)
    };
    for hostile in &kinds() {
        let before = of_children();
        holds(hostile, &run_module(&hostile.module, limits));
        let took = of_children().saturating_sub(before);
        println!("took {:.2} s: {}", took.as_secs_f64(), hostile.name);
        let at_most = match hostile.code {
            // all the fuel, or all the time for compiling, with a moment for noticing it
            Some("out_of_fuel") => 30,
            Some("compile_limit") => limits.compile_seconds + 5,
            _ => 10,
        };
        assert!(took < Duration::from_secs(at_most), "{}: {took:?}", hostile.name);
    }
}
