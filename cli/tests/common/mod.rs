//! The command as it is built with these tests, and the demo's data.
#![allow(dead_code, unused_imports, unused_macros)] // each test file uses its own part

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// The words of a command, which are formatted as by `format!` and have no spaces.
macro_rules! words {
    ($($line:tt)*) => {
        format!($($line)*).split(' ').map(str::to_owned).collect::<Vec<String>>()
    };
}
pub(crate) use words;

/// The project's directory.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// A file or folder of the demo.
pub(crate) fn demo(path: &str) -> PathBuf {
    root().join("demo").join(path)
}

/// The command, as long lines are not wrapped.
pub(crate) fn command<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dataperf"));
    command.args(args).env_remove("RUST_LOG").env("COLUMNS", "1000");
    command
}

/// Runs the command.
pub(crate) fn run<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Output {
    command(args).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The one JSON document that a command printed.
pub(crate) fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}
