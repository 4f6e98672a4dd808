//! Folders of own data that are meant to harm: nothing is read without a limit, and no name looks like another.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

use std::fs::{self, File};

use dataperf_benchmarks::own_data::curation::Curation;
use dataperf_benchmarks::own_data::selection::Selection;
use dataperf_datasets::{Import, Silent, import};
use tempfile::TempDir;

const SELECTION: &str = "schema: 1\ntask: selection\ntitle: Two kinds\nleaderboards: [{name: few, max_examples: 4}]\nclasses: [a, b]\n\
    pool: {features: pool.csv, examples: labels.csv}\neval: {features: eval.csv, examples: eval.csv}\nmodel: nearest_centroid\n\
    metric: accuracy\n";
const CURATION: &str = "schema: 1\ntask: curation\ntitle: Images\nleaderboards: [{name: few}]\nclasses: [a, b]\n\
    images: {width: 16, height: 16}\nstart: start.zip\neval: eval.zip\nmodel: network\nmetric: accuracy\n";

fn folder(document: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("task.yaml", document),
        ("pool.csv", "x\n0\n5\n"),
        ("labels.csv", "id,label\np,a\nq,b\n"),
        ("eval.csv", "x,label\n1,a\n4,b\n"),
        ("start.zip", "no zip"),
        ("eval.zip", "no zip"),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn refused<B: Import>(folder: &TempDir) -> String {
    let out = tempfile::tempdir().unwrap();
    let error = import::<B>(folder.path(), &out.path().join("frozen"), &Silent).expect_err("refused");
    assert_eq!(
        fs::read_dir(out.path()).unwrap().count(),
        0,
        "something was written"
    );
    error.to_string()
}

#[test]
fn texts_with_control_or_direction_characters_are_refused() {
    for (written, message) in [
        ("\"a\\x1b[2Jb\"", "`title` has the character U+001B"),
        ("\"a\\u202Eb\"", "`title` has the character U+202E"),
        ("\"a\\nb\"", "`title` has the character U+000A"),
    ] {
        let document = SELECTION.replace("Two kinds", written);
        let refusal = refused::<Selection>(&folder(&document));
        assert!(refusal.contains(message), "{refusal}");
    }
    let classes = SELECTION.replace("[a, b]", "[\"a\\u2066\", b]");
    assert!(refused::<Selection>(&folder(&classes)).contains("U+2066"));
    let long = SELECTION.replace("metric:", "description: \"one\\n\\ttwo\"\nmetric:");
    let out = tempfile::tempdir().unwrap();
    import::<Selection>(folder(&long).path(), &out.path().join("frozen"), &Silent).unwrap();
}

#[test]
fn endless_lines_and_huge_rows_are_not_read() {
    let endless = folder(SELECTION);
    for name in ["pool.csv", "labels.csv"] {
        let file = File::options()
            .append(true)
            .open(endless.path().join(name))
            .unwrap();
        file.set_len(1 << 33).unwrap(); // of zeros, which take no space
    }
    let refusal = refused::<Selection>(&endless);
    assert_eq!(
        refusal.matches("a line has more than 4194304 bytes").count(),
        2,
        "{refusal}"
    );
    let quoted = folder(SELECTION);
    let lines = "\"".to_owned() + &"0\n".repeat(3 << 20);
    fs::write(quoted.path().join("pool.csv"), format!("x\n{lines}")).unwrap();
    assert!(refused::<Selection>(&quoted).contains("is a quotation mark missing?"));

    let wide = folder(&SELECTION.replace("features: pool.csv", "features: pool.npy"));
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1000000000), }\n";
    let begin = [
        b"\x93NUMPY\x01\x00",
        &(header.len() as u16).to_le_bytes()[..],
        header.as_bytes(),
    ]
    .concat();
    let path = wide.path().join("pool.npy");
    fs::write(&path, &begin).unwrap();
    let file = File::options().append(true).open(&path).unwrap();
    file.set_len(begin.len() as u64 + 8_000_000_000).unwrap();
    assert!(refused::<Selection>(&wide).contains("its rows have 1000000000 numbers, the limit is 4096"));
}

#[test]
fn directories_in_place_of_files_are_refused() {
    let document = folder(SELECTION);
    fs::remove_file(document.path().join("task.yaml")).unwrap();
    fs::create_dir(document.path().join("task.yaml")).unwrap();
    assert!(refused::<Selection>(&document).contains("it is not a file"));
    let set = folder(CURATION);
    fs::remove_file(set.path().join("start.zip")).unwrap();
    fs::create_dir(set.path().join("start.zip")).unwrap();
    let refusal = refused::<Curation>(&set);
    assert!(refusal.contains("`start.zip`: it is not a file"), "{refusal}");
    assert!(refusal.contains("`eval.zip`: the file is not a zip"), "{refusal}");
}
