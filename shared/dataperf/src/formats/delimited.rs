//! Reads CSV as programs write it: separated by `,`, `;` or tabs, with decimal points or commas, in UTF-8 or UTF-16.
//!
//! Functions and the command line share this reader. A text that is separated by commas and is in UTF-8 is read as the CSV that it is.

use std::cell::Cell;
use std::io::Read;

use encoding_rs_io::{DecodeReaderBytes, DecodeReaderBytesBuilder};

use crate::formats::file_kind::{has_utf_16_mark, kind_of_file};
use crate::rejection::Reason;

/// The bytes of a file that decide on its dialect. Callers that read a file in parts give as many of its first bytes.
pub const HEAD_BYTES: usize = 256 << 10;
/// The lines that are compared with the first one.
const N_COMPARED: usize = 50;
/// Separators, of which the first is taken where several fit.
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];

/// How a file separates its columns and encodes its text.
#[derive(Debug, Clone)]
pub struct Dialect {
    separator: u8,
    /// The line of the header, from 1: a line `sep=;` may be before it.
    first_line: usize,
    seen: Seen,
}

/// Which decimal marks the numbers of a file have so far.
#[derive(Debug, Clone, Default)]
struct Seen {
    point: Cell<bool>,
    comma: Cell<bool>,
    /// A comma that can't be between thousands, as the one of `0,25`.
    decimal_comma: Cell<bool>,
}

impl Dialect {
    /// The dialect of a file that begins with these bytes, at most [`HEAD_BYTES`] of it.
    ///
    /// # Errors
    /// A sentence that names what the file is, if it is no text in UTF-8 or UTF-16.
    pub fn detect(head: &[u8]) -> Result<Self, String> {
        let head = &head[..head.len().min(HEAD_BYTES)];
        if !has_utf_16_mark(head)
            && let Some(kind) = kind_of_file(head)
        {
            return Err(format!("it is {kind}"));
        }
        let mut dialect = Self {
            separator: b',',
            first_line: 1,
            seen: Seen::default(),
        };
        let mut text = Vec::new();
        // reading from memory does not fail
        let _ = dialect.decoded(head).read_to_end(&mut text);
        if head.len() == HEAD_BYTES {
            // the last line may be cut
            let end = text.iter().rposition(|byte| *byte == b'\n').unwrap_or(text.len());
            text.truncate(end);
        }
        let line_end = text
            .iter()
            .position(|byte| b"\r\n".contains(byte))
            .unwrap_or(text.len());
        if let Some(separator) = named_separator(&text[..line_end]) {
            dialect.separator = separator;
            dialect.first_line = 2;
        } else {
            dialect.separator = separator(&text);
        }
        Ok(dialect)
    }

    /// The separator of columns.
    pub fn separator(&self) -> u8 {
        self.separator
    }

    /// Whether columns are separated by commas and no line names the separator.
    pub fn is_plain(&self) -> bool {
        self.separator == b',' && self.first_line == 1
    }

    /// The text in UTF-8, without a byte order mark: what [`reader`](Self::reader) reads, and what places in it count.
    pub fn decoded<R: Read>(&self, file: R) -> DecodeReaderBytes<R, Vec<u8>> {
        DecodeReaderBytesBuilder::new()
            .utf8_passthru(true)
            .strip_bom(true)
            .build(file)
    }

    /// A reader of the records of a text, as [`decoded`](Self::decoded) gives it. Records may have any number of fields.
    pub fn reader<R: Read>(&self, text: R) -> csv::Reader<impl Read + use<R>> {
        self.reader_of(text, true)
    }

    /// The same for records that have as many fields as the header.
    pub fn strict_reader<R: Read>(&self, text: R) -> csv::Reader<impl Read + use<R>> {
        self.reader_of(text, false)
    }

    fn reader_of<R: Read>(&self, mut text: R, is_flexible: bool) -> csv::Reader<impl Read + use<R>> {
        // the line that names the separator is no header
        let mut kept = Vec::new();
        if self.first_line > 1 {
            let mut byte = [0];
            while matches!(text.read(&mut byte), Ok(1)) {
                // its place stays a place, so that lines are counted from the beginning of the file
                kept.push(if byte[0] == b'\r' { b'\r' } else { b'\n' });
                if byte[0] == b'\n' {
                    break;
                }
            }
        }
        csv::ReaderBuilder::new()
            .flexible(is_flexible)
            .delimiter(self.separator)
            .from_reader(std::io::Cursor::new(kept).chain(text))
    }

    /// The number in a field. A comma is a decimal mark unless it separates columns.
    pub fn number(&self, field: &str) -> Option<f64> {
        let field = field.trim();
        if let Ok(number) = field.parse() {
            if field.contains('.') {
                self.seen.point.set(true);
            }
            return Some(number);
        }
        let (whole, fraction) = field.split_once(',').filter(|_| self.separator != b',')?;
        if field.contains('.') {
            return None;
        }
        let number = format!("{whole}.{fraction}").parse().ok()?;
        let digits = whole.trim_start_matches(['-', '+']);
        // `1,234` may be a thousand and more, `0,234` and `1,5` can't
        let is_of_thousands = fraction.len() == 3
            && fraction.bytes().all(|byte| byte.is_ascii_digit())
            && (1..=3).contains(&digits.len())
            && !digits.starts_with('0');
        self.seen.comma.set(true);
        if !is_of_thousands {
            self.seen.decimal_comma.set(true);
        }
        Some(number)
    }

    /// Whether the numbers that were read leave no doubt about their decimal mark. Call it after the last one.
    ///
    /// # Errors
    /// A sentence with the remedy.
    pub fn check_numbers(&self) -> Result<(), &'static str> {
        let seen = &self.seen;
        if seen.comma.get() && seen.point.get() {
            return Err(
                "it mixes decimal points and decimal commas: write all numbers with a point, `to_csv(..., \
                    decimal=\".\")`",
            );
        }
        if seen.comma.get() && !seen.decimal_comma.get() {
            return Err(
                "its commas may be decimal marks or between thousands, as in `1,234`: write numbers with a point, `to_csv(..., decimal=\".\")`",
            );
        }
        Ok(())
    }
}

/// Identifies an encoding other than UTF-8, and names the remedy.
pub const NOT_UTF_8: &str = "it is not UTF-8, perhaps Latin-1 or Windows-1252: save it as UTF-8, `frame.to_csv(\"FILE.csv\", \
    encoding=\"utf-8\")` or `iconv -f WINDOWS-1252 -t UTF-8`";

/// A whole file as UTF-8 without a byte order mark, and its dialect.
///
/// # Errors
/// A reason: `not_utf8` or `not_csv`, with what the file is.
pub fn text_of(file: &[u8]) -> Result<(Dialect, String), Reason> {
    let dialect = Dialect::detect(file).map_err(|why| {
        let is_text = std::str::from_utf8(file).is_ok();
        let code = if is_text { "not_csv" } else { "not_utf8" };
        Reason::new(code, "", format!("the file can't be read: {why}"))
    })?;
    let mut text = Vec::new();
    // reading from memory does not fail
    let _ = dialect.decoded(file).read_to_end(&mut text);
    let text = String::from_utf8(text).map_err(|error| {
        let at = format!("byte {}", error.utf8_error().valid_up_to());
        Reason::new("not_utf8", at, format!("the file can't be read: {NOT_UTF_8}"))
    })?;
    Ok((dialect, text))
}

/// Why a record can't be read, with the remedy.
pub fn described(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::Utf8 { .. } => NOT_UTF_8.to_owned(),
        _ => error.to_string(),
    }
}

/// The separator of a line such as `sep=;`, which Excel writes and reads.
fn named_separator(line: &[u8]) -> Option<u8> {
    let line = line.trim_ascii_start();
    let line = line
        .strip_prefix(b"\"")
        .and_then(|line| line.strip_suffix(b"\""))
        .unwrap_or(line);
    let name = line.get(..4).filter(|name| name.eq_ignore_ascii_case(b"sep="));
    match line.get(name?.len()..)? {
        [separator] if separator.is_ascii_punctuation() || *separator == b'\t' => Some(*separator),
        _ => None,
    }
}

/// The separator with which the first lines of a text have the same number of columns, more than one; `,` in doubt.
fn separator(text: &[u8]) -> u8 {
    let fields = |separator: u8| {
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .has_headers(false)
            .delimiter(separator)
            .from_reader(text);
        let records = reader.byte_records().map_while(Result::ok).take(N_COMPARED);
        records.collect::<Vec<csv::ByteRecord>>()
    };
    let of_each = SEPARATORS.map(|separator| {
        let records = fields(separator);
        let n = records.first().map_or(0, csv::ByteRecord::len);
        let is_same = records.iter().all(|record| record.len() == n);
        (separator, n, is_same)
    });
    let fits = |(_, n, is_same): &&(u8, usize, bool)| *n > 1 && *is_same;
    // a comma that fits as well as another separator is the one that the format is named by
    let comma = of_each.first().filter(fits);
    let other = of_each[1..].iter().filter(fits).max_by_key(|(_, n, _)| *n);
    match (comma, other) {
        (Some((_, n_comma, _)), Some((other, n, _))) if n > n_comma => *other,
        (Some((comma, ..)), _) => *comma,
        (None, Some((other, ..))) => *other,
        // lines differ: the one that the header has
        (None, None) => {
            let header = of_each
                .iter()
                .max_by_key(|(separator, n, _)| (*n, *separator == b','));
            header
                .filter(|(_, n, _)| *n > 1)
                .map_or(b',', |(separator, ..)| *separator)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Vec<Vec<String>>, String> {
        let dialect = Dialect::detect(bytes)?;
        let mut reader = dialect.reader(dialect.decoded(bytes));
        let header = reader.headers().map_err(|error| error.to_string())?.clone();
        let records = reader.records().map(|record| record.expect("a record"));
        let all = std::iter::once(header).chain(records);
        Ok(all
            .map(|record| record.iter().map(str::to_owned).collect())
            .collect())
    }

    #[test]
    fn dialects_give_the_same_table() {
        let plain = "id,label,f0\na,\"x, y\",1.5\nb,z,2\n";
        let expected = read(plain.as_bytes()).expect("a table");
        assert_eq!(expected[1], ["a", "x, y", "1.5"]);
        let semicolons = "id;label;f0\na;x, y;1.5\nb;z;2\n";
        let utf_16 = |text: &str| -> Vec<u8> {
            let units = std::iter::once(0xfeff).chain(text.encode_utf16());
            units.flat_map(u16::to_le_bytes).collect()
        };
        for text in [
            plain.as_bytes().to_vec(),
            format!("\u{feff}{plain}").into_bytes(),
            plain.replace('\n', "\r\n").into_bytes(),
            semicolons.as_bytes().to_vec(),
            semicolons.replace(';', "\t").into_bytes(),
            format!("sep=;\r\n{semicolons}").into_bytes(),
            format!("sep=,\n{plain}").into_bytes(),
            utf_16(plain),
            utf_16(&semicolons.replace(';', "\t")),
            utf_16(&format!("sep=;\r\n{semicolons}")),
        ] {
            assert_eq!(
                read(&text).as_ref(),
                Ok(&expected),
                "{}",
                String::from_utf8_lossy(&text)
            );
        }
    }

    #[test]
    fn an_unambiguous_comma_is_a_decimal_mark() {
        let number = |separator: u8, field: &str| {
            Dialect {
                separator,
                ..dialect()
            }
            .number(field)
        };
        for (field, expected) in [
            ("0,5", Some(0.5)),
            ("-12,25e3", Some(-12_250.0)),
            (" 1 ", Some(1.0)),
            ("1.5", Some(1.5)),
            ("1.234,5", None),
            ("1,2,3", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(number(b';', field), expected, "{field}");
        }
        assert_eq!(number(b',', "0,5"), None);
        for (fields, is_clear) in [
            (&["0,5", "1,25", "7"][..], true),
            (&["1,234", "0,5"], true),
            (&["1,234", "5,678"], false),
            (&["0,5", "1.5"], false),
            (&["1.5", "2"], true),
        ] {
            let dialect = Dialect {
                separator: b';',
                ..dialect()
            };
            assert!(fields.iter().all(|field| dialect.number(field).is_some()));
            assert_eq!(dialect.check_numbers().is_ok(), is_clear, "{fields:?}");
        }
    }

    fn dialect() -> Dialect {
        Dialect::detect(b"").expect("an empty text")
    }

    #[test]
    fn files_that_are_no_text_are_named() {
        let error = read(b"\xff\xfe\0\0i\0\0\0d\0\0\0").expect_err("UTF-32");
        assert!(error.contains("UTF-32"), "{error}");
        assert!(read(b"PK\x03\x04\x14\0").expect_err("zip").contains("zip"));
        assert!(read(b"<html></html>").expect_err("a page").contains("web page"));
    }

    #[test]
    fn one_column_is_no_reason_for_another_separator() {
        for text in ["id\na\nb\n", "id\n", "", "label,a\nx;y,1\n"] {
            assert_eq!(
                Dialect::detect(text.as_bytes()).expect("text").separator(),
                b',',
                "{text}"
            );
        }
        for (text, separator) in [("id;weight\n1;2,5\n2;3,5\n", b';'), ("a\tb\n1\t2\n3\n", b'\t')] {
            assert_eq!(
                Dialect::detect(text.as_bytes()).expect("text").separator(),
                separator,
                "{text}"
            );
        }
    }
}
