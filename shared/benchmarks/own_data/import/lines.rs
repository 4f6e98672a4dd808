//! CSV files whose lines have a limit, so that a file without an end of a line is not read into memory whole.

use std::fmt;
use std::fs::File;
use std::io::{BufReader, Error, Read, Result};
use std::path::Path;

use dataperf::line_number;

/// Bytes of a line: 4,096 numbers with all their digits are a fortieth.
const MAX_LINE_BYTES: usize = 4 << 20;

/// A reader of a file's records, which may differ in length.
pub(super) fn csv_reader(path: &Path) -> Result<csv::Reader<Lines<BufReader<File>>>> {
    let file = Lines {
        inner: BufReader::new(File::open(path)?),
        n_bytes: 0,
        is_quoted: false,
        begins_field: true,
    };
    Ok(csv::ReaderBuilder::new().flexible(true).from_reader(file))
}

/// The line where a record of a file begins, worked out when it is shown.
pub(super) struct LineAt<'a> {
    pub(super) path: &'a Path,
    /// Where the record begins.
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

/// Where a record begins, in bytes.
pub(super) fn begin(record: &csv::StringRecord) -> u64 {
    record.position().map_or(0, csv::Position::byte)
}

/// Fails in a line that goes on for too long. A quoted field may have ends of lines in it, and is a part of its line.
pub(super) struct Lines<R> {
    inner: R,
    /// Of the line so far.
    n_bytes: usize,
    is_quoted: bool,
    /// Whether a field begins here: elsewhere a quotation mark is one of the field's characters.
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
            // two marks in a quoted field are one of its characters: the second one goes on with the field
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
