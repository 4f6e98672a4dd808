//! Runs submitted programs: WebAssembly that reads a few files and writes an artifact, and can do nothing else.
//!
//! A program is a WASI preview 1 command. It is compiled and run in a separate process
//! ([`Runner`]). That process has no environment, only three pipes as descriptors, kernel limits
//! and a filter of system calls. The program sees its files below `/data`, and an empty standard
//! input. It writes its artifact to standard output and messages to standard error. Sockets, other
//! files and other processes do not exist, time is counted in fuel, and random numbers come from a
//! seed. The same module, files, seed and engine give the same output and use the same fuel on
//! every machine.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod child;
#[cfg(all(feature = "drills", target_os = "linux", target_arch = "x86_64"))]
mod drill;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod engine;
mod failure;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod limiter;
mod limits;
mod protocol;
#[cfg(all(feature = "python", target_os = "linux", target_arch = "x86_64"))]
mod python;
mod runner;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod sandbox;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod wasi;

use std::collections::BTreeSet;
#[cfg(all(feature = "python", target_os = "linux", target_arch = "x86_64"))]
use std::io::Write as _;
use std::process::ExitCode;

pub use failure::{Code, Failure};
pub use limits::Limits;
#[cfg(all(feature = "python", target_os = "linux", target_arch = "x86_64"))]
pub use python::Python;
pub use runner::{Probe, RunError, Runner};

use dataperf::benchmark::closed::{ClosedBoards, ClosedTask, DataFile, Measured};
use dataperf::programs::Layer;
use dataperf::{Digest, Rejection};

/// The engine's version, and a number for its settings and for what the program's functions do and cost. With another engine fuel may be
/// other.
pub const ENGINE: &str = "wasmtime 48.0.8, settings 2";

/// The one argument with which a program is started as the process that a submitted program runs in.
const CHILD: &str = "run-a-submitted-program";

/// The first argument with which a program is started to become the process of a submitted program in Python.
#[cfg(all(feature = "python", target_os = "linux", target_arch = "x86_64"))]
const PYTHON_CHILD: &str = "run-a-submitted-program-in-python";

/// The input of a program.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// The program, as bytes: a WebAssembly module, or Python's source.
    pub module: &'a [u8],
    /// The files below `/data`.
    pub files: &'a [DataFile],
    /// The seed of its random numbers; in Python they come from the machine.
    pub seed: [u8; 32],
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The digest of the program.
    pub module: Digest,
    /// Fuel that it used; `None` if it never started or its process was ended.
    pub fuel: Option<u64>,
    /// Bytes of its memory when it ended, which never shrinks: the peak. Like fuel, it is the same
    /// on every machine; `None` if it never ran, and in Python.
    pub memory_bytes: Option<u64>,
    /// Its standard output, or why that does not count.
    pub output: Result<Vec<u8>, Failure>,
    /// Its standard error, and for a trap the place in the program.
    pub log: Vec<u8>,
    /// Whether it wrote more to standard error than is kept.
    pub is_log_cut: bool,
    /// The layers that confined it; empty if it never started.
    pub layers: BTreeSet<Layer>,
}

impl Run {
    /// The engine's counts; `None` if it never ran or its process was ended, and in Python.
    pub fn measured(&self) -> Option<Measured> {
        let (fuel, memory_bytes) = self.fuel.zip(self.memory_bytes)?;
        Some(Measured { fuel, memory_bytes })
    }

    /// The artifact from its output for a task of `B`, with the cost of the run if scores depend on
    /// it.
    ///
    /// # Errors
    /// A [`Rejection`] that says why there is no artifact, with the limits of this run.
    pub fn artifact<B: ClosedBoards>(
        &self,
        task: &ClosedTask,
        limits: &Limits,
    ) -> Result<Vec<u8>, Rejection> {
        match &self.output {
            Ok(written) => B::with_measured(task.artifact(written)?, self.measured()),
            Err(failure) => Err(failure.reason(limits).into()),
        }
    }
}

/// If this program was started by a [`Runner`] as the process of a submitted program: does that, and says with which code to exit.
///
/// Whatever starts a [`Runner`] calls this first, before there is a second thread, an open file or a secret in memory.
pub fn child() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let first = arguments.next()?;
    #[cfg(all(feature = "python", target_os = "linux", target_arch = "x86_64"))]
    if first == PYTHON_CHILD {
        let why = python::child(arguments);
        let _ = writeln!(std::io::stderr(), "{why}");
        return Some(ExitCode::FAILURE);
    }
    if first != CHILD || arguments.next().is_some() {
        return None;
    }
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    return Some(child::main());
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    return Some(ExitCode::FAILURE);
}

/// Keeps the memory of this process from other processes of the same user: what it may read of the cloud is in it.
///
/// # Errors
/// When the kernel refuses.
pub fn hide_memory() -> std::io::Result<()> {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_version_matches_the_lock_file() {
        let lock = include_str!("../../Cargo.lock");
        let (_, rest) = lock
            .split_once("name = \"wasmtime\"\nversion = \"")
            .unwrap_or_default();
        let version = rest.split('"').next().unwrap_or_default();
        assert!(ENGINE.starts_with(&format!("wasmtime {version}, ")), "{version}");
    }
}
