//! Arbitrary bytes as the pool of an organizer's contest: imported, or refused in sentences.
//!
//! Input: a letter for the form (CSV, Parquet, Feather, `.npy`, `.npz`), then the file.
#![no_main]

use std::fs;

use dataperf_benchmarks::own_data::selection::Selection;
use dataperf_datasets::{Silent, import};
use libfuzzer_sys::fuzz_target;

const ENDINGS: [&str; 5] = ["csv", "parquet", "feather", "npy", "npz"];
const ROWS: &str = "id,label,a,b\n0,no,0,1\n1,yes,1,0\n2,no,0,2\n3,yes,2,0\n";

fuzz_target!(|input: &[u8]| {
    let Some((form, file)) = input.split_first() else { return };
    let ending = ENDINGS[usize::from(*form) % ENDINGS.len()];
    let pool = match ending {
        "npy" | "npz" => format!("{{features: pool.{ending}, examples: rows.csv}}"),
        _ => format!("pool.{ending}"),
    };
    let document = format!(
        "schema: 1\ntask: selection\ntitle: T\nleaderboards: [{{name: t, about: t, max_examples: 4}}]\nclasses: ['no', 'yes']\n\
         pool: {pool}\neval: rows.csv\nmodel: nearest_centroid\nmetric: accuracy\nallow_duplicates: true\n"
    );
    let folder = tempfile::tempdir().expect("a temporary directory");
    let (name, path) = (format!("pool.{ending}"), |name: &str| folder.path().join(name));
    for (name, bytes) in [
        ("task.yaml", document.as_bytes()),
        ("rows.csv", ROWS.as_bytes()),
        (name.as_str(), file),
    ] {
        fs::write(path(name), bytes).expect("a file");
    }
    if let Err(error) = import::<Selection>(folder.path(), &path("frozen"), &Silent) {
        let message = error.to_string();
        assert!(message.len() > 20 && !message.contains("panicked"), "{message}");
    }
});
