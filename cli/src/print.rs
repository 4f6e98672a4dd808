//! `println!` and its relatives. Lines for people are wrapped at words where the terminal is narrower; `print!` leaves text as it is, for programs
//! and for commands to copy. A reader that is gone is no defect of this program, nor is a full disk: the macros of the standard library would panic.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, IsTerminal as _, Write};

use terminal_size::terminal_size_of;
use textwrap::core::display_width;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Columns of output that goes to no terminal.
const COLUMNS: usize = 80;

macro_rules! print {
    ($($arg:tt)*) => { $crate::print::to_stdout(format_args!($($arg)*)) };
}

macro_rules! println {
    () => { $crate::print::to_stdout(format_args!("\n")) };
    ($($arg:tt)*) => { $crate::print::line_to_stdout(format_args!($($arg)*)) };
}

macro_rules! eprint {
    ($($arg:tt)*) => { $crate::print::to_stderr(format_args!($($arg)*)) };
}

macro_rules! eprintln {
    () => { $crate::print::to_stderr(format_args!("\n")) };
    ($($arg:tt)*) => { $crate::print::line_to_stderr(format_args!($($arg)*)) };
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

/// Prints lines for people to standard output.
pub(crate) fn line_to_stdout(text: Arguments<'_>) {
    let text = wrapped(&text.to_string(), width());
    to_stdout(format_args!("{text}\n"));
}

/// Prints lines for people to standard error. Where this is no terminal, programs and logs read them: a line stays whole.
pub(crate) fn line_to_stderr(text: Arguments<'_>) {
    let stderr = io::stderr();
    if !stderr.is_terminal() {
        return to_stderr(format_args!("{text}\n"));
    }
    let columns = terminal_size_of(stderr).map(|(width, _)| width.0.into());
    let text = wrapped(&text.to_string(), columns.unwrap_or(COLUMNS));
    to_stderr(format_args!("{text}\n"));
}

/// How many columns standard output has: as `COLUMNS` sets, else as the terminal has, else 80.
pub(crate) fn width() -> usize {
    let set = std::env::var("COLUMNS").ok().and_then(|set| set.parse().ok());
    let terminal = || terminal_size_of(io::stdout()).map(|(width, _)| width.0.into());
    set.or_else(terminal)
        .filter(|columns| *columns > 0)
        .unwrap_or(COLUMNS)
}

/// Wraps each line at words, with the indentation that it has. A longer word stays whole, and so does a line that fits.
pub(crate) fn wrapped(text: &str, width: usize) -> String {
    let lines = text.split('\n').map(|line| {
        if display_width(line) <= width {
            return line.to_owned();
        }
        let words = line.trim_start_matches(' ');
        let indent = &line[..line.len() - words.len()];
        let options = Options::new(width)
            .initial_indent(indent)
            .subsequent_indent(indent)
            .break_words(false)
            .word_separator(WordSeparator::AsciiSpace)
            .word_splitter(WordSplitter::NoHyphenation)
            .wrap_algorithm(WrapAlgorithm::FirstFit);
        textwrap::fill(words, options)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A command to copy. A backslash continues it on the next line before an option that would be too
/// far to the right. A command with quotes is not broken.
#[cfg(feature = "local")]
pub(crate) fn folded(command: &str) -> String {
    const INDENT: usize = 6;
    let mut lines = vec![String::new()];
    for (n, part) in command.split(" --").enumerate() {
        let option = if n == 0 {
            part.to_owned()
        } else {
            format!(" --{part}")
        };
        let line = lines.last().map_or("", String::as_str);
        let is_full = INDENT + display_width(line) + display_width(&option) + 2 > width();
        if n > 0 && is_full && !command.contains('\'') {
            lines.push(option.trim_start().to_owned());
        } else if let Some(line) = lines.last_mut() {
            line.push_str(&option);
        }
    }
    lines.join(&format!(" \\\n{}", " ".repeat(INDENT)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_wrap_at_words_only() {
        let text = "  one two-three sha256:0123456789abcdef four\nshort";
        let lines = ["  one two-three", "  sha256:0123456789abcdef", "  four", "short"];
        assert_eq!(wrapped(text, 16), lines.join("\n"));
        assert_eq!(wrapped("a  b ", 5), "a  b ");
    }
}
