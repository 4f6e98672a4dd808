//! Arbitrary bytes as `task.yaml` of each task, beside good tables: imported, or refused in sentences.
//!
//! Input: a letter for the task, then the document.
#![no_main]

use std::fs;
use std::path::Path;

use dataperf_benchmarks::own_data::acquisition::Acquisition;
use dataperf_benchmarks::own_data::curation::Curation;
use dataperf_benchmarks::own_data::debugging::Debugging;
use dataperf_benchmarks::own_data::selection::Selection;
use dataperf_datasets::{Import, Silent, import};
use libfuzzer_sys::fuzz_target;

const TABLES: [(&str, &str); 4] = [
    ("pool.csv", "id,label,a,b\n0,no,0,1\n1,yes,1,0\n2,no,0,2\n3,yes,2,0\n"),
    ("train.csv", "id,given,truth,a,b\n0,no,no,0,1\n1,yes,yes,1,0\n2,yes,no,0,2\n3,yes,yes,2,0\n"),
    ("eval.csv", "label,a,b\nno,0,1\nyes,1,0\n"),
    ("start.csv", "label,a,b\nno,0,3\nyes,3,0\n"),
];

fn imported<B: Import>(from: &Path) {
    if let Err(error) = import::<B>(from, &from.join("frozen"), &Silent) {
        let message = error.to_string();
        assert!(message.len() > 20 && !message.contains("panicked"), "{message}");
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((task, document)) = input.split_first() else { return };
    let folder = tempfile::tempdir().expect("a temporary directory");
    for (name, text) in TABLES {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    fs::write(folder.path().join("task.yaml"), document).expect("a file");
    match task % 4 {
        0 => imported::<Selection>(folder.path()),
        1 => imported::<Debugging>(folder.path()),
        2 => imported::<Acquisition>(folder.path()),
        _ => imported::<Curation>(folder.path()),
    }
});
