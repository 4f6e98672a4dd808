//! The real binary hides its memory, in which credentials are, before it asks for work.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used)] // helpers of tests are tests

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// Whoever has no rights.
const NOBODY: u32 = 65534;

/// Starts a program as somebody who is not root.
fn start(command: &mut Command) -> Child {
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    if is_root {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Who may read the memory of a process: its parent, or only root if it is hidden.
fn owner(process: &Child) -> u32 {
    fs::metadata(format!("/proc/{}/mem", process.id())).unwrap().uid()
}

#[test]
fn memory_is_hidden_before_work_is_requested() {
    let runtime = TcpListener::bind("127.0.0.1:0").unwrap();
    runtime.set_nonblocking(true).unwrap();
    let address = runtime.local_addr().unwrap().to_string();
    let mut function = start(Command::new(env!("CARGO_BIN_EXE_closed")).env_clear().envs([
        ("AWS_LAMBDA_RUNTIME_API", address.as_str()),
        ("AWS_LAMBDA_FUNCTION_NAME", "closed"),
        ("AWS_LAMBDA_FUNCTION_VERSION", "1"),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "4096"),
        ("AWS_LAMBDA_LOG_GROUP_NAME", "logs"),
        ("AWS_LAMBDA_LOG_STREAM_NAME", "log"),
        ("AWS_REGION", "eu-central-1"),
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
    ]));
    let request = loop {
        match runtime.accept() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            accepted => break accepted,
        }
        assert_eq!(function.try_wait().unwrap(), None, "it ended by itself");
        thread::sleep(Duration::from_millis(10));
    };
    request.unwrap();
    let of_function = owner(&function);
    function.kill().unwrap();
    function.wait().unwrap();
    let mut other = start(Command::new("sleep").arg("60"));
    let of_other = owner(&other);
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(of_function, 0, "its memory is not hidden");
    assert_ne!(
        of_other, 0,
        "and that of others is not, so that this tells something"
    );
}
