//! The real binary where the kernel refuses what Lambda's is reported to refuse: `prctl` and `seccomp`.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers of tests are tests
#![allow(unsafe_code)] // a filter is put around a process before it becomes the function

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use dataperf::programs::Layer;
use dataperf_closed::Probe;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};
use serde_json::{Value, json};

/// A process under a filter that answers `prctl` and `seccomp` with `EPERM`.
fn without_prctl(command: &mut Command) {
    let refused = [libc::SYS_prctl, libc::SYS_seccomp].map(|call| (call, Vec::new()));
    let filter = SeccompFilter::new(
        BTreeMap::from(refused),
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM.cast_unsigned()),
        TargetArch::x86_64,
    );
    let filter: BpfProgram = filter.unwrap().try_into().unwrap();
    let confine = move || seccompiler::apply_filter(&filter).map_err(std::io::Error::other);
    // SAFETY: between fork and exec it makes two system calls and allocates nothing unless they fail
    unsafe { command.pre_exec(confine) };
}

/// A function, and the host that it asks for work.
struct Function {
    process: Child,
    runtime: TcpListener,
}

impl Function {
    fn start(is_confined: bool, environment: &[(&str, &str)]) -> Self {
        let runtime = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = runtime.local_addr().unwrap().to_string();
        let mut command = Command::new(env!("CARGO_BIN_EXE_closed"));
        command
            .env_clear()
            .envs([
                ("AWS_LAMBDA_RUNTIME_API", address.as_str()),
                ("AWS_LAMBDA_FUNCTION_NAME", "closed"),
                ("AWS_LAMBDA_FUNCTION_VERSION", "1"),
                ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "4096"),
                ("AWS_LAMBDA_LOG_GROUP_NAME", "logs"),
                ("AWS_LAMBDA_LOG_STREAM_NAME", "log"),
            ])
            .envs(environment.iter().copied())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if is_confined {
            without_prctl(&mut command);
        }
        let process = command.spawn().unwrap();
        Self { process, runtime }
    }

    /// Hands the function an event, and gives what it answers: whether it succeeded, and the document.
    fn invoke(&self, event: &Value) -> (bool, Value) {
        loop {
            let (mut stream, _) = self.runtime.accept().unwrap();
            let (path, body) = request(&stream);
            if path.ends_with("/invocation/next") {
                let event = event.to_string();
                write!(
                    stream,
                    "HTTP/1.1 200 OK\r\nlambda-runtime-aws-request-id: r-1\r\nlambda-runtime-deadline-ms: 4102444800000\r\n\
                     lambda-runtime-invoked-function-arn: arn\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{event}",
                    event.len()
                )
                .unwrap();
                continue;
            }
            let answer = "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            stream.write_all(answer.as_bytes()).unwrap();
            return (
                path.ends_with("/response"),
                serde_json::from_slice(&body).unwrap(),
            );
        }
    }

    fn probe(&self) -> Probe {
        let event = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../events/closed.json"));
        let (has_succeeded, probe) = self.invoke(&serde_json::from_slice(&event.unwrap()).unwrap());
        assert!(has_succeeded, "{probe}");
        serde_json::from_value(probe).unwrap()
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// The path and the body of a request.
fn request(stream: &TcpStream) -> (String, Vec<u8>) {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let path = line.split(' ').nth(1).unwrap().to_owned();
    let mut n_bytes = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).unwrap();
        if header.trim().is_empty() {
            break;
        }
        if let Some(length) = header.to_ascii_lowercase().strip_prefix("content-length:") {
            n_bytes = length.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; n_bytes];
    reader.read_exact(&mut body).unwrap();
    (path, body)
}

const OF_LAMBDA: [(&str, &str); 1] = [("DATAPERF_MICRO_VM", "true")];

#[test]
fn programs_run_unfiltered_in_a_micro_vm() {
    let function = Function::start(true, &OF_LAMBDA);
    let probe = function.probe();
    assert!(probe.runs, "{probe:?}");
    for layer in [
        Layer::WebAssembly,
        Layer::Process,
        Layer::KernelLimits,
        Layer::MicroVm,
    ] {
        assert!(probe.layers.contains(&layer), "{layer:?}: {probe:?}");
    }
    for layer in [Layer::SystemCallFilter, Layer::EndsWithParent] {
        let why = probe.missing.get(&layer).expect("it is refused");
        assert!(why.contains("not permitted"), "{why}");
    }
    assert!(!probe.layers.contains(&Layer::HiddenMemory), "{probe:?}");
}

#[test]
fn on_one_machine_nothing_runs_without_a_filter() {
    let function = Function::start(true, &[]);
    let probe = function.probe();
    assert!(!probe.runs, "{probe:?}");
    assert!(probe.required.contains(&Layer::SystemCallFilter), "{probe:?}");
}

#[test]
fn a_kernel_that_refuses_nothing_has_every_layer() {
    let function = Function::start(false, &OF_LAMBDA);
    let probe = function.probe();
    assert!(probe.runs && probe.missing.is_empty(), "{probe:?}");
    let expected = Layer::ALL.into_iter().filter(|layer| *layer != Layer::Namespaces);
    assert_eq!(probe.layers, expected.collect(), "{probe:?}");
}

#[test]
fn an_event_without_addresses_is_answered() {
    let function = Function::start(true, &OF_LAMBDA);
    let (has_succeeded, error) = function.invoke(&json!({ "model_run": {} }));
    assert!(!has_succeeded, "{error}");
    assert_eq!(error["errorType"], "BadEvent", "{error}");
}
