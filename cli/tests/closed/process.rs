//! Inspects the process of a program from outside while it runs.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use dataperf_closed::{Job, Limits, RunError, Runner};

use crate::{limits, program, runner};

/// A process of this test alone is known by its limit of processor time: others run programs at the same time.
const RUN_SECONDS: u64 = 321;

/// The processes of programs that may run for so many seconds.
pub(crate) fn with_run_seconds(run_seconds: u64) -> impl Iterator<Item = PathBuf> {
    let processor_time = (limits().compile_seconds + run_seconds + 30).to_string();
    let is_it = move |path: &PathBuf| {
        let read = |name: &str| fs::read_to_string(path.join(name)).unwrap_or_default();
        let allowed = read("limits");
        let mut lines = allowed.lines().filter(|line| line.starts_with("Max cpu time"));
        read("cmdline").contains("submitted")
            && lines.any(|line| line.split_whitespace().nth(3) == Some(&processor_time))
    };
    let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    processes.filter(is_it)
}

/// The process that runs the program of this test, once the second filter holds it.
fn running() -> Option<PathBuf> {
    with_run_seconds(RUN_SECONDS).find(|path| {
        let status = fs::read_to_string(path.join("status")).unwrap_or_default();
        status.contains("Seccomp_filters:\t2\n") && status.contains("State:\tR")
    })
}

#[test]
fn the_process_has_no_environment_files_or_rights() {
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
        if let Some(process) = running() {
            break process;
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
fn an_unusable_executable_is_a_platform_failure() {
    let module = wat::parse_str(program("", "")).unwrap();
    let job = Job {
        module: &module,
        files: &[],
        seed: [0; 32],
    };
    let run = |executable: &str| Runner::new(executable.into()).run(job, limits());
    assert!(matches!(run("/nowhere"), Err(RunError::Start(_))));
    // this one says something else, or nothing
    assert!(matches!(run("/bin/echo"), Err(RunError::Lost { .. })));
    assert!(matches!(run("/bin/true"), Err(RunError::Lost { .. })));
}

#[test]
fn it_ends_with_the_process_that_started_it() {
    let scratch = tempfile::tempdir().unwrap();
    let module = scratch.path().join("endless.wasm");
    fs::write(
        &module,
        wat::parse_str(program("", "(loop $again (br $again))")).unwrap(),
    )
    .unwrap();
    let dataset = crate::command::frozen("selection");
    let mut parent = Command::new(env!("CARGO_BIN_EXE_dataperf"))
        .args(["closed", "run", module.to_str().unwrap()])
        .args(["-l", "digits-20", "-d", &dataset, "--max-fuel", "100000000000"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let field = |path: &PathBuf, name: &str| {
        let status = fs::read_to_string(path.join("status")).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with(name));
        line.map(|line| line[name.len()..].trim().to_owned())
    };
    let of_parent = Some(parent.id().to_string());
    let child = loop {
        let mut processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
        let it = |path: &PathBuf| {
            field(path, "PPid:") == of_parent && field(path, "Seccomp_filters:").as_deref() == Some("2")
        };
        if let Some(process) = processes.find(it) {
            break process;
        }
        assert_eq!(parent.try_wait().unwrap(), None, "it ended by itself");
        thread::sleep(Duration::from_millis(20));
    };
    parent.kill().unwrap(); // which it can't do anything about, and so ends no child
    parent.wait().unwrap();
    // far below the time that the program would go on
    for _ in 0..3000 {
        if field(&child, "State:").is_none_or(|state| state.starts_with('Z')) {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("{} is still running", child.display());
}
