//! Reads an organizer's text files: documents, and CSV with a limit on the length of a line, so that a file without line breaks is not read into memory
//! as a whole. Each reader names what a file is that is no text.

use std::fmt;
use std::fs::File;
use std::io::{BufReader, Error, Read, Result};
use std::path::Path;

use dataperf::formats::delimited::{Dialect, HEAD_BYTES};
use dataperf::{FileKind, kind_of_file, line_number, text_of_file};

/// The most bytes of a line: forty times what 4,096 numbers with all their digits take.
const MAX_LINE_BYTES: usize = 4 << 20;

/// A file as text.
///
/// # Errors
/// A sentence: the file can't be read, or is no text.
pub fn read_text(path: &Path) -> std::result::Result<String, String> {
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    text_of_file(&bytes)
}

/// Identifies a file that replaced the text in a download or a checkout: a web page, or a pointer
/// of Git LFS.
///
/// # Errors
/// When the file can't be read.
pub fn stand_in(path: &Path) -> Result<Option<FileKind>> {
    let mut head = Vec::new();
    File::open(path)?.take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    Ok(kind_of_file(&head).filter(|kind| kind.is_text))
}

/// A reader of a CSV file's records, which have as many fields as its header.
///
/// # Errors
/// A sentence: the file can't be read, or is no text.
pub fn open_csv(path: &Path) -> std::result::Result<csv::Reader<impl Read + use<>>, String> {
    let dialect = dialect(path)?;
    let file = File::open(path).map_err(|error| error.to_string())?;
    Ok(dialect.strict_reader(dialect.decoded(BufReader::new(file))))
}

/// The dialect of a file.
///
/// # Errors
/// A sentence: the file can't be read, or is no text.
pub fn dialect(path: &Path) -> std::result::Result<Dialect, String> {
    let mut head = Vec::new();
    let file = File::open(path).and_then(|file| file.take(HEAD_BYTES as u64).read_to_end(&mut head));
    file.map_err(|error| error.to_string())?;
    Dialect::detect(&head)
}

/// A reader of a file's records, which may have different numbers of fields.
///
/// # Errors
/// When the file can't be opened.
pub fn csv_reader(path: &Path, dialect: &Dialect) -> Result<csv::Reader<impl Read + use<>>> {
    let file = Lines {
        inner: dialect.decoded(BufReader::new(File::open(path)?)),
        separator: dialect.separator(),
        n_bytes: 0,
        is_quoted: false,
        begins_field: true,
    };
    Ok(dialect.reader(file))
}

/// The number of the line where a record of a file begins, counted only when it is shown.
#[derive(Debug)]
pub struct LineAt<'a> {
    /// The file.
    pub path: &'a Path,
    /// Its dialect.
    pub dialect: &'a Dialect,
    /// The record's first byte in the text.
    pub byte: u64,
}

impl fmt::Display for LineAt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = File::open(self.path).map(|file| self.dialect.decoded(file));
        match text.and_then(|text| line_number(BufReader::new(text), self.byte)) {
            Ok(line) => write!(f, "line {line}"),
            Err(_) => write!(f, "byte {}", self.byte),
        }
    }
}

/// The place of a record's first byte in its file.
pub fn begin(record: &csv::StringRecord) -> u64 {
    record.position().map_or(0, csv::Position::byte)
}

/// Passes bytes on, and fails when a line gets too long. Line breaks in a quoted field do not end a line.
struct Lines<R> {
    inner: R,
    separator: u8,
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
                b'\n' | b'\r' if !self.is_quoted => self.n_bytes = 0,
                _ => {}
            }
            // two quotation marks in a quoted field mean one: the second one continues the field
            let ends_field = byte == self.separator || matches!(byte, b'\n' | b'\r');
            self.begins_field = !self.is_quoted && (was_quoted || ends_field);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn n_bytes(text: &[u8]) -> Result<usize> {
        let mut lines = Lines {
            inner: text,
            separator: b',',
            n_bytes: 0,
            is_quoted: false,
            begins_field: true,
        };
        lines.read_to_end(&mut Vec::new())
    }

    #[test]
    fn every_end_of_a_line_ends_it() {
        for end in ["\n", "\r", "\r\n"] {
            let text = format!("{}{end}", "1".repeat(MAX_LINE_BYTES / 2)).repeat(3);
            assert_eq!(n_bytes(text.as_bytes()).ok(), Some(text.len()), "{end:?}");
            let quoted = format!("\"{text}");
            let why = n_bytes(quoted.as_bytes()).map_err(|error| error.to_string());
            assert!(why.is_err_and(|why| why.contains("quotation mark")), "{end:?}");
        }
        assert!(n_bytes(&vec![b'1'; MAX_LINE_BYTES + 1]).is_err());
    }
}
