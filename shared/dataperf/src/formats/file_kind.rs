//! Names what a file is, by its first bytes: every reader says the same of the same file.

use std::fmt;
use std::io::Read as _;

use encoding_rs_io::DecodeReaderBytesBuilder;
use file_format::{FileFormat, Kind};

/// The most bytes that are looked at where a whole file is not needed.
const HEAD_BYTES: usize = 4 << 10;

/// The kind of a file, and how to make its content readable here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileKind {
    /// The kind with its article, such as `a zip archive`.
    pub name: String,
    /// The command that converts such a file.
    pub remedy: &'static str,
    /// Whether it is text in UTF-8 all the same, such as a web page.
    pub is_text: bool,
}

impl FileKind {
    fn new(name: impl Into<String>, remedy: &'static str) -> Self {
        Self {
            name: name.into(),
            remedy,
            is_text: false,
        }
    }

    fn text(name: impl Into<String>, remedy: &'static str) -> Self {
        Self {
            is_text: true,
            ..Self::new(name, remedy)
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.remedy)
    }
}

/// The name of text in UTF-16, which a CSV may be in.
pub const UTF_16: &str = "UTF-16";

const TABLE: &str = "save it as CSV in UTF-8";
const ARCHIVE: &str = "unpack it and use what is in it";
const NOT_DATA: &str = "name the file with the data";
const UTF_8: &str = "save it as UTF-8";

/// Kinds that the library does not know, by their first bytes.
const OTHERS: [(&[u8], &str, &str); 10] = [
    (
        b"\x93NUMPY",
        "a NumPy array (`.npy`)",
        "write its values as text, `json.dump(array.tolist(), file)` or `numpy.savetxt`",
    ),
    (
        b"\x89HDF\r\n\x1a\n",
        "an HDF5 file",
        "write the table in it as CSV or Parquet",
    ),
    (
        b"MATLAB 5.0 MAT-file",
        "a MATLAB file",
        "write the table in it as CSV, `writetable`",
    ),
    (
        b"FEA1",
        "a Feather file of version 1",
        "read it with pandas and write it as Parquet",
    ),
    (
        b"RDX",
        "a file of R's `save`",
        "write the table as CSV, `write.csv(frame, row.names = FALSE)`",
    ),
    (
        b"$FL2@(#)",
        "a file of SPSS",
        "write the table as CSV, `pandas.read_spss(FILE).to_csv(..., index=False)`",
    ),
    (
        b"<stata_dta>",
        "a file of Stata",
        "write the table as CSV, `export delimited`",
    ),
    (b"ORC", "an ORC file", "write the table as Parquet"),
    (b"Obj\x01", "an Avro file", "write the table as Parquet"),
    (
        b"PAR1",
        "a Parquet file",
        "write it as text: `frame.to_csv(\"FILE.csv\", index=False)`",
    ),
];

/// The kind of a file that is neither plain text in UTF-8, nor JSON, nor a CSV; `None` where its bytes say nothing.
///
/// ```
/// let kind = dataperf::kind_of_file(b"<!DOCTYPE html><title>Sign in</title>").expect("a kind");
/// assert!(kind.is_text && kind.name == "a web page (HTML)");
/// assert_eq!(dataperf::kind_of_file(b"{}"), None);
/// ```
pub fn kind_of_file(bytes: &[u8]) -> Option<FileKind> {
    if let Some(kind) = other_encoding(bytes) {
        return Some(kind);
    }
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    if is_text(head) {
        return marked_up(head);
    }
    if let [0x80, 2..=5, ..] = head {
        return Some(FileKind::new("a Python pickle", "write it as JSON (`json.dump`)"));
    }
    if let Some((_, name, remedy)) = OTHERS.iter().find(|(begin, ..)| head.starts_with(begin)) {
        return Some(FileKind::new(*name, remedy));
    }
    by_signature(bytes)
}

/// Identifies a file that was uploaded in place of UTF-8 text, and names the remedy; `None` if the
/// bytes are not recognized.
///
/// ```
/// assert!(dataperf::mistaken_for_text(b"PK\x03\x04").is_some_and(|why| why.contains("zip")));
/// assert!(dataperf::mistaken_for_text(b"{}").is_none());
/// ```
pub fn mistaken_for_text(bytes: &[u8]) -> Option<String> {
    kind_of_file(bytes).map(|kind| format!("the file is {kind}"))
}

/// A whole file as UTF-8 without a byte order mark, of text in UTF-8 or, with its mark, in UTF-16.
///
/// ```
/// assert_eq!(dataperf::text_of_file(b"\xff\xfea\0").as_deref(), Ok("a"));
/// assert!(dataperf::text_of_file(b"\x1f\x8b\x08\0").is_err_and(|why| why.contains("gzip")));
/// assert!(dataperf::text_of_file(b"a\nb\xe9").is_err_and(|why| why.starts_with("line 2 is not UTF-8")));
/// ```
///
/// # Errors
/// A sentence that names what the file is.
pub fn text_of_file(file: &[u8]) -> Result<String, String> {
    if !has_utf_16_mark(file)
        && let Some(kind) = kind_of_file(file)
    {
        return Err(format!("it is {kind}"));
    }
    let mut text = Vec::new();
    let mut decoded = DecodeReaderBytesBuilder::new()
        .utf8_passthru(true)
        .strip_bom(true)
        .build(file);
    // reading from memory does not fail
    let _ = decoded.read_to_end(&mut text);
    String::from_utf8(text).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = good.split(|byte| *byte == b'\n').count();
        format!(
            "line {line} is not UTF-8, perhaps Latin-1 or Windows-1252: save the file as UTF-8, `iconv -f \
                WINDOWS-1252 -t UTF-8`"
        )
    })
}

/// Whether a file begins with the mark of UTF-16.
pub(crate) fn has_utf_16_mark(file: &[u8]) -> bool {
    let is_utf_32 = file.starts_with(b"\xff\xfe\0\0");
    file.starts_with(b"\xfe\xff") || file.starts_with(b"\xff\xfe") && !is_utf_32
}

/// Whether the beginning of a file is text in UTF-8: no signature of another kind counts then, because any word may begin as one does.
fn is_text(head: &[u8]) -> bool {
    let valid = match std::str::from_utf8(head) {
        Ok(_) => true,
        // the last character may be cut
        Err(error) => error.error_len().is_none() && head.len() == HEAD_BYTES,
    };
    let is_binary = |byte: &u8| *byte < b' ' && !b"\t\n\r\x0c".contains(byte);
    valid && !head.iter().any(is_binary)
}

/// Text that is no data: a page, a pointer to a file, a document.
fn marked_up(head: &[u8]) -> Option<FileKind> {
    let text = head.trim_ascii_start();
    let text = text
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(text)
        .trim_ascii_start();
    let begins = |word: &[u8]| {
        text.get(..word.len())
            .is_some_and(|begin| begin.eq_ignore_ascii_case(word))
    };
    if begins(b"version https://git-lfs.github.com/spec/") {
        let remedy = "it holds only the file's size and hash. Fetch the file itself with `git lfs pull`";
        return Some(FileKind::text("a pointer of Git LFS", remedy));
    }
    let tags: [&[u8]; 5] = [b"<!doctype html", b"<html", b"<head", b"<body", b"<title"];
    if tags.iter().any(|tag| begins(tag)) {
        let remedy =
            "a download often returns such a page instead of the file. Sign in and fetch the file itself";
        return Some(FileKind::text("a web page (HTML)", remedy));
    }
    if begins(b"/annex/objects/") {
        return Some(FileKind::text(
            "a pointer of git-annex",
            "fetch the file itself with `git annex get`",
        ));
    }
    let contains = |part: &[u8]| text.windows(part.len()).any(|window| window == part);
    if begins(b"<?xml") && contains(b"<Error>") && contains(b"<Code>") {
        let remedy = "renew the link or sign in, and fetch the file again";
        return Some(FileKind::text(
            "an error of a storage service instead of the file",
            remedy,
        ));
    }
    if begins(b"<?xml") {
        return Some(FileKind::text("an XML document", "write its data as JSON or CSV"));
    }
    let words: [(&[u8], &str); 3] = [
        (b"%PDF-", "a PDF"),
        (b"{\\rtf", "a document of a word processor (RTF)"),
        (b"%!PS", "a PostScript document"),
    ];
    let document = words.iter().find(|(word, _)| begins(word));
    document.map(|(_, name)| FileKind::text(*name, NOT_DATA))
}

/// Text in UTF-16 or UTF-32, with a byte order mark or without one.
fn other_encoding(bytes: &[u8]) -> Option<FileKind> {
    let utf_32 = || Some(FileKind::new("UTF-32", UTF_8));
    if bytes.starts_with(b"\xff\xfe\0\0") || bytes.starts_with(b"\0\0\xfe\xff") {
        return utf_32();
    }
    if bytes.starts_with(b"\xff\xfe") {
        let remedy = "save it as UTF-8 (in PowerShell `Out-File -Encoding utf8NoBOM`)";
        return Some(FileKind::new(UTF_16, remedy));
    }
    if bytes.starts_with(b"\xfe\xff") {
        return Some(FileKind::new(UTF_16, UTF_8));
    }
    // without a mark, ASCII has zeros at the same places of each character
    let head = bytes.get(..8)?;
    let is_zero: Vec<bool> = head.iter().map(|byte| *byte == 0).collect();
    match is_zero[..4] {
        _ if is_zero[..4] != is_zero[4..] => None,
        [false, true, true, true] | [true, true, true, false] => utf_32(),
        [false, true, false, true] | [true, false, true, false] => Some(FileKind::new(UTF_16, UTF_8)),
        _ => None,
    }
}

/// The kind that the library sees.
fn by_signature(bytes: &[u8]) -> Option<FileKind> {
    let format = FileFormat::from_bytes(bytes);
    let name = format.short_name().unwrap_or(format.name());
    let called = |noun: &str| format!("{noun} ({name})");
    let kind = match (format, format.kind()) {
        (FileFormat::Gzip, _) => FileKind::new(
            "compressed with gzip",
            "unpack it (`gunzip FILE.gz`) and use what is in it",
        ),
        (FileFormat::Bzip2, _) => FileKind::new(
            "compressed with bzip2",
            "unpack it (`bunzip2 FILE.bz2`) and use what is in it",
        ),
        (FileFormat::Xz, _) => FileKind::new(
            "compressed with xz",
            "unpack it (`unxz FILE.xz`) and use what is in it",
        ),
        (FileFormat::Zstandard, _) => FileKind::new(
            "compressed with zstd",
            "unpack it (`unzstd FILE.zst`) and use what is in it",
        ),
        (FileFormat::Zip, _) => zip(bytes),
        (FileFormat::ApacheParquet, _) => FileKind::new(OTHERS[9].1, OTHERS[9].2),
        (FileFormat::ApacheArrowColumnar, _) => {
            FileKind::new("an Arrow or Feather file", "write the table in it as CSV")
        }
        (_, Kind::Compressed) => FileKind::new(format!("compressed with {name}"), ARCHIVE),
        (_, Kind::Archive | Kind::Package | Kind::Disk) => FileKind::new(called("an archive"), ARCHIVE),
        (_, Kind::Spreadsheet) => FileKind::new(called("a spreadsheet"), TABLE),
        (_, Kind::Database) => FileKind::new(called("a database"), "export the table as CSV in UTF-8"),
        (_, Kind::Image) => FileKind::new(called("an image"), NOT_DATA),
        (_, Kind::Audio | Kind::Video) => FileKind::new(called("a recording"), NOT_DATA),
        (_, Kind::Document | Kind::Presentation | Kind::Ebook) => {
            FileKind::new(called("a document"), NOT_DATA)
        }
        (_, Kind::Executable) => FileKind::new(called("a program"), NOT_DATA),
        // the library wants a whole archive, and may have got its beginning
        _ if is_zip(bytes) => zip(bytes),
        _ => return None,
    };
    Some(kind)
}

/// Whether an artifact begins as a zip archive does, empty ones included.
pub fn is_zip(artifact: &[u8]) -> bool {
    [b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08"]
        .iter()
        .any(|signature| artifact.starts_with(*signature))
}

/// A zip archive, or what keeps its parts in one.
fn zip(bytes: &[u8]) -> FileKind {
    let contains = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    if contains(b"[Content_Types].xml") || contains(b"xl/workbook.xml") {
        return FileKind::new("a spreadsheet or a document of an office program", TABLE);
    }
    if contains(b"/data.pkl") {
        return FileKind::new("a file of PyTorch", "write its tensor as `.npy` or as text");
    }
    if contains(b".npy") {
        let remedy = "take the array out of it, `numpy.load(FILE)[\"NAME\"]`, and write it as text or `.npy`";
        return FileKind::new("an archive of NumPy arrays (`.npz`)", remedy);
    }
    FileKind::new("a zip archive", "unpack it and use the file that is in it")
}

#[cfg(test)]
mod tests {
    use super::{kind_of_file, mistaken_for_text, text_of_file};

    #[test]
    fn utf16_is_detected_with_and_without_a_mark() {
        let text = "{\"targets\": {}}";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let marked = [&[0xff, 0xfe], little.as_slice()].concat();
        for bytes in [little, big, marked] {
            assert!(mistaken_for_text(&bytes).is_some_and(|message| message.contains("UTF-16")));
        }
        for other in [
            &b""[..],
            b"\0",
            &[0; 8],
            text.as_bytes(),
            "\u{e9}\u{e9}\u{e9}\u{e9}".as_bytes(),
        ] {
            assert_eq!(mistaken_for_text(other), None);
        }
    }

    #[test]
    fn files_of_other_programs_are_named() {
        let utf_32: Vec<u8> = "id\n1\n".chars().flat_map(|c| (c as u32).to_le_bytes()).collect();
        let mut tar = vec![0; 1024];
        tar[..6].copy_from_slice(b"a.json");
        tar[257..265].copy_from_slice(b"ustar\x0000");
        for (bytes, name) in [
            (&b"\x1f\x8b\x08\0\0\0\0\0\0\x03"[..], "gzip"),
            (b"BZh91AY&SY\xae\xf6\x00\x10", "bzip2"),
            (b"\xfd7zXZ\0\0\x04", "xz"),
            (b"\x28\xb5\x2f\xfd\x04\0", "zstd"),
            (b"PK\x03\x04\x14\0\0\0", "zip"),
            (b"PK\x05\x06\0\0\0\0", "zip"),
            (b"7z\xbc\xaf\x27\x1c\0\x04", "7"),
            (&tar, "archive"),
            (&utf_32, "UTF-32"),
            (b"\xff\xfe\0\0i\0\0\0", "UTF-32"),
            (b"\x93NUMPY\x01\0v\0", "NumPy"),
            (b"\x80\x05\x95\x10\0\0\0\0", "pickle"),
            (b"\x80\x02}q\0", "pickle"),
            (b"PAR1\x15\0\x15", "Parquet"),
            (b"ARROW1\0\0\xff\xff", "Arrow"),
            (b"\x89HDF\r\n\x1a\n\0\0", "HDF5"),
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "image"),
            (b"SQLite format 3\0\x10\0", "database"),
            (b"\n<!doctype HTML>", "HTML"),
            (b"<html lang=\"en\">", "HTML"),
            (
                b"version https://git-lfs.github.com/spec/v1\noid sha256:0",
                "Git LFS",
            ),
            (b"%PDF-1.7\n", "PDF"),
            (b"/annex/objects/SHA256E-s9--00.csv\n", "git-annex"),
            (
                b"<?xml version=\"1.0\"?>\n<Error><Code>AccessDenied</Code></Error>",
                "storage service",
            ),
            (b"$FL2@(#) IBM SPSS\0", "SPSS"),
            (b"<stata_dta><header>\0\x01", "Stata"),
        ] {
            let kind = kind_of_file(bytes).map(|kind| kind.to_string());
            assert!(
                kind.as_deref().is_some_and(|kind| kind.contains(name)),
                "{name}: {kind:?}"
            );
        }
    }

    #[test]
    fn utf16_text_decodes_only_with_its_mark() {
        let utf_16: Vec<u8> = "\u{feff}a: \u{e9}\n"
            .encode_utf16()
            .flat_map(u16::to_be_bytes)
            .collect();
        assert_eq!(text_of_file(&utf_16).as_deref(), Ok("a: \u{e9}\n"));
        assert!(text_of_file(&utf_16[2..]).is_err_and(|why| why.contains("UTF-16")));
        assert_eq!(text_of_file(b"\xef\xbb\xbfa").as_deref(), Ok("a"));
        assert!(text_of_file(b"<html>").is_err_and(|why| why.starts_with("it is a web page")));
    }

    #[test]
    fn plain_text_is_never_another_kind() {
        for text in [
            "BM,label\n1,2\n",
            "PAR1",
            "ORC",
            "GIF89a",
            "id\n1\n",
            "7z",
            "RDX2",
        ] {
            assert_eq!(kind_of_file(text.as_bytes()), None, "{text}");
        }
    }
}
