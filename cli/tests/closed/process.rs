//! What the process of a program has, seen from outside while it runs.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use dataperf_closed::{Job, Limits, RunError, Runner};

use crate::{limits, program, runner};

/// A process of this test alone is known by its limit of processor time: others run programs at the same time.
const RUN_SECONDS: u64 = 321;

/// The process that runs a program for so many seconds, once the second filter holds it.
fn running() -> Option<PathBuf> {
    let read = |path: &PathBuf, name: &str| fs::read_to_string(path.join(name)).unwrap_or_default();
    let processor_time = (limits().compile_seconds + RUN_SECONDS + 30).to_string();
    let is_it = |path: &PathBuf| {
        let allowed = read(path, "limits");
        let mut lines = allowed.lines().filter(|line| line.starts_with("Max cpu time"));
        let status = read(path, "status");
        read(path, "cmdline").contains("submitted")
            && lines.any(|line| line.split_whitespace().nth(3) == Some(&processor_time))
            && status.contains("Seccomp_filters:\t2\n")
            && status.contains("State:\tR")
    };
    let mut processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    processes.find(is_it)
}

#[test]
fn it_has_no_environment_no_files_and_no_rights() {
    let module = wat::parse_str(program("", "(loop $again (br $again))")).unwrap();
    let endless = Limits {
        max_fuel: u64::MAX / 4,
        run_seconds: RUN_SECONDS,
        ..limits()
    };
    let lost = thread::spawn(move || {
        let job = Job {
            module: &module,
            files: &[],
            seed: [0; 32],
        };
        runner().run(job, endless)
    });
    let child = loop {
        if let Some(found) = running() {
            break found;
        }
        assert!(!lost.is_finished(), "it ended by itself: {:?}", lost.join());
        thread::sleep(Duration::from_millis(20));
    };
    let status = fs::read_to_string(child.join("status")).unwrap();
    let allowed = fs::read_to_string(child.join("limits")).unwrap();
    let environment = fs::read(child.join("environ")).unwrap();
    let descriptors: Vec<String> = fs::read_dir(child.join("fd"))
        .unwrap()
        .map(|entry| {
            fs::read_link(entry.unwrap().path())
                .unwrap()
                .display()
                .to_string()
        })
        .collect();
    let number = child.file_name().unwrap().to_str().unwrap().parse().unwrap();
    let number = rustix::process::Pid::from_raw(number).unwrap();
    rustix::process::kill_process(number, rustix::process::Signal::KILL).unwrap();

    assert_eq!(environment, b"", "it has an environment");
    for line in ["NoNewPrivs:\t1", "Seccomp:\t2", "Threads:\t1"] {
        assert!(status.contains(line), "{line}: {status}");
    }
    for (limit, is) in [
        ("Max open files", "0"),
        ("Max processes", "0"),
        ("Max file size", "0"),
        ("Max core file size", "0"),
    ] {
        let line = allowed.lines().find(|line| line.starts_with(limit)).unwrap();
        let soft = line[limit.len()..].split_whitespace().next().unwrap();
        assert_eq!(soft, is, "{line}");
    }
    let mut kinds: Vec<&str> = descriptors
        .iter()
        .map(|name| name.split(':').next().unwrap())
        .collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["/dev/null", "pipe", "pipe"]);
    // somebody else ended it: that is no fault of the program
    assert!(matches!(lost.join().unwrap(), Err(RunError::Lost { .. })));
}

#[test]
fn an_executable_that_can_not_run_programs_is_the_platforms_fault() {
    let module = wat::parse_str(program("", "")).unwrap();
    let job = Job {
        module: &module,
        files: &[],
        seed: [0; 32],
    };
    let run = |executable: &str| Runner::of(executable.into()).run(job, limits());
    assert!(matches!(run("/nowhere"), Err(RunError::Start(_))));
    // this one says something else, or nothing
    assert!(matches!(run("/bin/echo"), Err(RunError::Lost { .. })));
    assert!(matches!(run("/bin/true"), Err(RunError::Lost { .. })));
}
