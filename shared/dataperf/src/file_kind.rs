//! What a file is that should be text, told by its first bytes.

/// What somebody has uploaded in place of a text in UTF-8, and the remedy; `None` where the bytes say nothing.
///
/// ```
/// assert!(dataperf::mistaken_for_text(b"PK\x03\x04").is_some_and(|said| said.contains("zip")));
/// assert!(dataperf::mistaken_for_text(b"{}").is_none());
/// ```
pub fn mistaken_for_text(bytes: &[u8]) -> Option<&'static str> {
    let begins: [(&[u8], &str); 10] = [
        (
            b"\x1f\x8b",
            "the file is compressed with gzip: unpack it (`gunzip FILE.gz`) and upload what is in it",
        ),
        (
            b"PK\x03\x04",
            "the file is a zip archive, or a document of an office program: upload the text file that is in it",
        ),
        (
            b"BZh",
            "the file is compressed with bzip2: unpack it (`bunzip2 FILE.bz2`) and upload what is in it",
        ),
        (
            b"\xfd7zXZ",
            "the file is compressed with xz: unpack it (`unxz FILE.xz`) and upload what is in it",
        ),
        (
            b"\x28\xb5\x2f\xfd",
            "the file is compressed with zstd: unpack it (`unzstd FILE.zst`) and upload what is in it",
        ),
        (
            b"\xff\xfe",
            "the file is UTF-16: save it as UTF-8 (in PowerShell `Out-File -Encoding utf8NoBOM`)",
        ),
        (b"\xfe\xff", "the file is UTF-16: save it as UTF-8"),
        (b"%PDF", "the file is a PDF: upload the text file itself"),
        (
            b"\x80\x04",
            "the file is a Python pickle: write it as JSON (`json.dump`)",
        ),
        (b"PAR1", "the file is a Parquet file: this benchmark takes text"),
    ];
    let known = begins.iter().find(|(begin, _)| bytes.starts_with(begin));
    if let Some((_, said)) = known {
        return Some(said);
    }
    // every other byte of the beginning is zero: UTF-16 without a mark
    let head = bytes.get(..8)?;
    let zeros = |first: usize| head.iter().skip(first).step_by(2).all(|byte| *byte == 0);
    (zeros(0) != zeros(1)).then_some("the file is UTF-16: save it as UTF-8")
}

#[cfg(test)]
mod tests {
    use super::mistaken_for_text;

    #[test]
    fn utf_16_is_told_with_and_without_a_mark() {
        let text = "{\"targets\": {}}";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let marked = [&[0xff, 0xfe], little.as_slice()].concat();
        for bytes in [little, big, marked] {
            assert!(mistaken_for_text(&bytes).is_some_and(|said| said.contains("UTF-16")));
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
}
