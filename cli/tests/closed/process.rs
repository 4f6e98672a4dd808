//! What the process of a program has, seen from outside while it runs.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use dataperf_closed::{Job, Limits, RunError, Runner};

use crate::{limits, program, runner};

/// The processes whose parent is this one and which run a submitted program.
fn children() -> Vec<PathBuf> {
    let this = format!("PPid:\t{}\n", std::process::id());
    let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let read = |path: &PathBuf, name: &str| fs::read_to_string(path.join(name)).unwrap_or_default();
    processes
        .filter(|path| read(path, "status").contains(&this) && read(path, "cmdline").contains("submitted"))
        .collect()
}

#[test]
fn it_has_no_environment_no_files_and_no_rights() {
    let module = wat::parse_str(program("", "(loop $again (br $again))")).unwrap();
    let endless = Limits {
        max_fuel: u64::MAX / 4,
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
    // it runs as soon as the second filter holds it
    let child = loop {
        let is_running = |path: &PathBuf| {
            let status = fs::read_to_string(path.join("status")).unwrap_or_default();
            status.contains("Seccomp_filters:\t2\n") && status.contains("State:\tR")
        };
        if let Some(found) = children().into_iter().find(is_running) {
            break found;
        }
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
fn an_executable_that_is_not_this_one_gives_no_artifact() {
    let module = wat::parse_str(program("", "")).unwrap();
    let job = Job {
        module: &module,
        files: &[],
        seed: [0; 32],
    };
    assert!(matches!(
        Runner::of("/nowhere".into()).run(job, limits()),
        Err(RunError::Start(_))
    ));
}
