use std::io::Write;

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;

const BOUNDS: Bounds = Bounds {
    max_entries: 8,
    max_unpacked_bytes: 1 << 20,
    max_ratio: 200,
};

fn packed(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        writer
            .start_file(*name, SimpleFileOptions::default())
            .expect("a name");
        writer.write_all(bytes).expect("memory");
    }
    writer.finish().expect("memory").into_inner()
}

fn codes(artifact: &[u8]) -> Vec<String> {
    let rejection = unpack(artifact, BOUNDS).expect_err("refused");
    rejection
        .reasons()
        .iter()
        .map(|reason| reason.code.clone())
        .collect()
}

/// Replaces every `from` by `to` of the same length: the local and the central header both have the
/// name.
fn patched(mut bytes: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    for at in 0..bytes.len() - from.len() {
        if bytes[at..].starts_with(from) {
            bytes[at..at + to.len()].copy_from_slice(to);
        }
    }
    bytes
}

#[test]
fn gives_files_in_order_without_clutter() {
    let zip = packed(&[
        ("b.csv", b"1"),
        ("__MACOSX/._b.csv", b"x"),
        (".DS_Store", b"x"),
        ("a.csv", b""),
    ]);
    assert!(is_zip(&zip));
    let entries = unpack(&zip, BOUNDS).expect("fine");
    let expected = [("b.csv", b"1".to_vec()), ("a.csv", Vec::new())];
    assert_eq!(
        entries,
        expected.map(|(name, bytes)| Entry {
            name: name.into(),
            bytes
        })
    );
}

#[test]
fn unpacking_skips_files_added_by_programs() {
    for name in [
        "._b.csv",
        "Thumbs.db",
        "thumbs.DB",
        "Desktop.ini",
        ".gitkeep",
        ".git/HEAD",
        ".ipynb_checkpoints/b-checkpoint.csv",
        "a/.ipynb_checkpoints/b.csv",
        "__pycache__/b.cpython-312.pyc",
        "$RECYCLE.BIN/b.csv",
        "a/.DS_Store",
    ] {
        let entries = unpack(&packed(&[("b.csv", b"1"), (name, b"x")]), BOUNDS).expect("fine");
        assert_eq!(entries.len(), 1, "{name}");
        let entries = unpack_folders(&packed(&[("c/b.png", b"1"), (name, b"x")]), BOUNDS).expect("fine");
        assert_eq!(entries.len(), 1, "{name}");
    }
    assert_eq!(codes(&packed(&[(".DS_Store", b"x")])), ["empty_zip"]);
}

#[test]
fn names_the_folder_around_the_files() {
    let cause = |files: &[&str], in_folders: bool| {
        let files: Vec<(&str, &[u8])> = files.iter().map(|name| (*name, &b"1"[..])).collect();
        let rejection = unpack_names(&packed(&files), BOUNDS, in_folders).expect_err("refused");
        rejection
            .cause()
            .map(|cause| cause.message.clone())
            .unwrap_or_default()
    };
    assert!(cause(&["v/a.csv", "v/b.csv"], false).contains("in the folder `v/`"));
    assert!(cause(&["v/train/i/a.png", "v/train/ii/b.png"], true).contains("in the folder `v/train/`"));
    let two = cause(&["train/i/a.png", "train/ii/b.png", "val/i/c.png"], true);
    assert!(
        two.contains("2 unexpected folders") && two.contains("`train/`"),
        "{two}"
    );
    assert!(cause(&["i\\a.png", "ii\\b.png"], true).contains("with `/`"));
    let workbook = [
        "[Content_Types].xml",
        "xl/workbook.xml",
        "xl/worksheets/sheet1.xml",
    ];
    assert!(
        cause(&workbook, true).contains("spreadsheet"),
        "{}",
        cause(&workbook, true)
    );
}

#[test]
fn refuses_names_that_lead_elsewhere() {
    for name in [
        "../a.csv",
        "/etc/passwd",
        "a/b.csv",
        "..\\a.csv",
        "C:\\a.csv",
        "folder/",
    ] {
        assert_eq!(codes(&packed(&[(name, b"1")])), ["nested_name"], "{name}");
    }
    assert_eq!(
        codes(&patched(packed(&[("ab", b"1")]), b"ab", b"..")),
        ["bad_name"]
    );
    assert_eq!(
        codes(&patched(packed(&[("ab.csv", b"1")]), b"ab.csv", b"a\0.csv")),
        ["bad_name"]
    );
    assert_eq!(
        codes(&patched(packed(&[("ab.csv", b"1")]), b"ab.csv", b"a\xff.csv")),
        ["bad_name"]
    );
    let long = "a".repeat(60_000);
    assert_eq!(codes(&packed(&[(&long, b"1")])), ["bad_name"]);
    let rejection = unpack(&packed(&[(&long, b"1")]), BOUNDS).expect_err("refused");
    assert!(rejection.reasons()[0].at.len() < 1_000);
}

#[test]
fn takes_sizes_from_where_zip64_has_them() {
    let options = SimpleFileOptions::default().large_file(true);
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.start_file("a.csv", options).expect("a name");
    writer.write_all(b"1,2").expect("memory");
    let zip = writer.finish().expect("memory").into_inner();
    assert_eq!(unpack(&zip, BOUNDS).expect("fine")[0].bytes, b"1,2");
    let mut field = vec![9, 0, 2, 0, 7, 7, 1, 0, 16, 0];
    field.extend([3_u64, 5].map(u64::to_le_bytes).concat());
    assert_eq!(zip64_sizes(&field), [3, 5]);
    assert_eq!(zip64_sizes(&field[..9]), [0; 0]);
}

#[test]
fn refuses_a_name_that_comes_twice() {
    let zip = packed(&[("aa.csv", b"1"), ("bb.csv", b"2")]);
    assert_eq!(
        codes(&patched(zip.clone(), b"bb.csv", b"aa.csv")),
        ["duplicate_name"]
    );
    assert_eq!(codes(&patched(zip, b"bb.csv", b"AA.csv")), ["duplicate_name"]);
}

#[test]
fn unpacking_refuses_archives_that_expand_too_much() {
    let bomb = packed(&[("a.csv", &vec![b'0'; 1 << 21])]);
    assert!(bomb.len() < 1 << 13);
    assert_eq!(codes(&bomb), ["compression_ratio", "too_large_unpacked"]);
    let many: Vec<String> = (0..10_000).map(|k| format!("{k}.csv")).collect();
    let many: Vec<(&str, &[u8])> = many.iter().map(|name| (name.as_str(), b"1".as_slice())).collect();
    let rejection = unpack(&packed(&many), BOUNDS).expect_err("refused");
    assert_eq!(
        (rejection.reasons()[0].limit, rejection.reasons()[0].actual),
        (Some(8), Some(10_000))
    );
    // the directory lies about the size: no more is unpacked than it says
    let lying = patched(
        packed(&[("a.csv", &[b'0'; 4096])]),
        &4096u32.to_le_bytes(),
        &16u32.to_le_bytes(),
    );
    assert_eq!(codes(&lying), ["bad_zip"]);
}

#[test]
fn unpacking_refuses_unusual_archives() {
    assert_eq!(codes(&packed(&[])), ["empty_zip"]);
    assert_eq!(
        codes(&packed(&[("a.csv", &packed(&[("b.csv", b"1")]))])),
        ["nested_zip"]
    );
    let whole = packed(&[("a.csv", b"ImageID,Confidence\n")]);
    for n in [4, 20, whole.len() / 2, whole.len() - 1] {
        assert_eq!(codes(&whole[..n]), ["bad_zip"], "cut off after {n} bytes");
    }
    let mut encrypted = whole.clone();
    let at = encrypted
        .windows(4)
        .position(|four| four == HEADER_SIGNATURE)
        .expect("a directory");
    encrypted[at + 8] |= 1;
    assert_eq!(codes(&encrypted), ["encrypted_entry"]);
    let mut other = whole;
    other[at + 10] = 12;
    assert_eq!(codes(&other), ["bad_compression"]);
}

#[test]
fn only_files_in_folders_are_unpacked() {
    let zip = packed(&[
        ("ii/1.png", b"1"),
        ("__MACOSX/ii/._1.png", b"x"),
        ("x/a b.png", b"2"),
    ]);
    let names: Vec<String> = unpack_folders(&zip, BOUNDS)
        .expect("fine")
        .into_iter()
        .map(|entry| entry.name)
        .collect();
    assert_eq!(names, ["ii/1.png", "x/a b.png"]);
    for name in ["1.png", "a/b/1.png", "../1.png", "/1.png", "a\\1.png", "a/.."] {
        let rejection = unpack_folders(&packed(&[(name, b"1")]), BOUNDS).expect_err(name);
        assert_eq!(rejection.reasons()[0].code, "not_in_a_folder", "{name}");
    }
}
