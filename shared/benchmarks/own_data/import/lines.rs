//! Reads CSV files with a limit on the length of a line, so that a file without line breaks is not read into memory as a whole.

use std::fmt;
use std::fs::File;
use std::io::{BufReader, Error, Read, Result};
use std::path::Path;

use dataperf::line_number;

/// The most bytes of a line: forty times what 4,096 numbers with all their digits take.
const MAX_LINE_BYTES: usize = 4 << 20;

/// A reader of a file's records, which may have different numbers of fields.
pub(super) fn csv_reader(path: &Path) -> Result<csv::Reader<Lines<BufReader<File>>>> {
    let file = Lines {
        inner: BufReader::new(File::open(path)?),
        n_bytes: 0,
        is_quoted: false,
        begins_field: true,
    };
    Ok(csv::ReaderBuilder::new().flexible(true).from_reader(file))
}

/// The number of the line where a record of a file begins, counted only when it is shown.
pub(super) struct LineAt<'a> {
    pub(super) path: &'a Path,
    /// The record's first byte in the file.
    pub(super) byte: u64,
}

impl fmt::Display for LineAt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = File::open(self.path).and_then(|file| line_number(BufReader::new(file), self.byte));
        match line {
            Ok(line) => write!(f, "line {line}"),
            Err(_) => write!(f, "byte {}", self.byte),
        }
    }
}

/// The place of a record's first byte in its file.
pub(super) fn begin(record: &csv::StringRecord) -> u64 {
    record.position().map_or(0, csv::Position::byte)
}

/// Passes bytes on, and fails when a line gets too long. Line breaks in a quoted field do not end a line.
pub(super) struct Lines<R> {
    inner: R,
    /// The number of bytes of the current line so far.
    n_bytes: usize,
    is_quoted: bool,
    /// Whether a field begins here: a quotation mark anywhere else is a character of the field.
    begins_field: bool,
}

impl<R: Read> Read for Lines<R> {
    fn read(&mut self, bytes: &mut [u8]) -> Result<usize> {
        let n = self.inner.read(bytes)?;
        for &byte in &bytes[..n] {
            self.n_bytes += 1;
            let was_quoted = self.is_quoted;
            match byte {
                b'"' if self.is_quoted || self.begins_field => self.is_quoted = !self.is_quoted,
                b'\n' if !self.is_quoted => self.n_bytes = 0,
                _ => {}
            }
            // two quotation marks in a quoted field stand for one: the second one continues the field
            let is_mark = self.begins_field && matches!(byte, 0xef | 0xbb | 0xbf); // of the byte order
            self.begins_field =
                is_mark || !self.is_quoted && (was_quoted || matches!(byte, b',' | b'\n' | b'\r'));
            if self.n_bytes > MAX_LINE_BYTES {
                let why = if self.is_quoted {
                    ": is a quotation mark missing?"
                } else {
                    ""
                };
                return Err(Error::other(format!(
                    "a line has more than {MAX_LINE_BYTES} bytes{why}"
                )));
            }
        }
        Ok(n)
    }
}
