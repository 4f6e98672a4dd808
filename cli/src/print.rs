//! `println!` and its relatives for output that may end early: a reader that is gone is no defect of this program, nor is a full disk. The macros of
//! the standard library would panic.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};

macro_rules! print {
    ($($arg:tt)*) => { $crate::print::to_stdout(format_args!($($arg)*)) };
}

macro_rules! println {
    () => { $crate::print::to_stdout(format_args!("\n")) };
    ($($arg:tt)*) => { $crate::print::to_stdout(format_args!("{}\n", format_args!($($arg)*))) };
}

macro_rules! eprint {
    ($($arg:tt)*) => { $crate::print::to_stderr(format_args!($($arg)*)) };
}

macro_rules! eprintln {
    () => { $crate::print::to_stderr(format_args!("\n")) };
    ($($arg:tt)*) => { $crate::print::to_stderr(format_args!("{}\n", format_args!($($arg)*))) };
}

/// Prints to standard output, or ends the program with exit code 1.
pub(crate) fn to_stdout(text: Arguments<'_>) {
    if let Err(error) = io::stdout().lock().write_fmt(text) {
        if error.kind() != ErrorKind::BrokenPipe {
            let _ = writeln!(io::stderr(), "error: can't write to standard output: {error}");
        }
        std::process::exit(1);
    }
}

/// Prints to standard error, or ends the program with exit code 1.
pub(crate) fn to_stderr(text: Arguments<'_>) {
    if io::stderr().lock().write_fmt(text).is_err() {
        std::process::exit(1);
    }
}
