//! Eval sets in two: what uploads are scored with and what a round ends with have no item in common, and no kit has any of either.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::project::{Ran, dataperf, root};

fn ran(args: &[&str]) -> Ran {
    let ran = dataperf(["--format", "json"].iter().chain(args));
    assert_eq!(ran.code, 0, "{ran:?}");
    ran
}

/// The rows of a data set's hidden eval set, each the bytes of its features.
fn rows(directory: &Path) -> Vec<Vec<u8>> {
    let manifest: Value =
        serde_json::from_slice(&fs::read(directory.join("manifest.json")).unwrap()).unwrap();
    let tensor = &manifest["files"]["eval.npy"]["tensors"]["features"];
    let shape: Vec<usize> = tensor["shape"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| n.as_u64().unwrap() as usize)
        .collect();
    let bytes = fs::read(directory.join("eval.npy")).unwrap();
    let bytes = &bytes[tensor["begin"].as_u64().unwrap() as usize..];
    bytes.chunks(bytes.len() / shape[0]).map(<[u8]>::to_vec).collect()
}

/// Whether one of the rows, which are of one width, stands anywhere in a file below the directory.
fn has_one_of(directory: &Path, rows: &BTreeSet<Vec<u8>>) -> bool {
    let width = rows.first().unwrap().len();
    let mut found = false;
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        found |= if path.is_dir() {
            has_one_of(&path, rows)
        } else {
            let bytes = fs::read(&path).unwrap();
            bytes.windows(width).any(|window| rows.contains(window))
        };
    }
    found
}

#[test]
fn halves_are_disjoint_and_no_kit_has_an_item_of_either() {
    for task in ["selection", "debugging", "acquisition", "curation"] {
        let scratch = tempfile::tempdir().unwrap();
        let [whole, public, last, kit] =
            ["whole", "public", "final", "kit"].map(|name| scratch.path().join(name));
        let of = |path: &Path| path.to_str().unwrap().to_owned();
        let from = of(&root().join("demo").join(task));
        ran(&["dataset", "import", task, "--from", &from, "--out", &of(&whole)]);
        let parts = ran(&[
            "dataset",
            "split",
            &of(&whole),
            "--public",
            &of(&public),
            "--final",
            &of(&last),
        ])
        .json();
        for directory in [&public, &last] {
            ran(&["dataset", "verify", &of(directory)]);
        }
        let (all, one, other) = (rows(&whole), rows(&public), rows(&last));
        assert_eq!(one.len() + other.len(), all.len(), "{task}");
        let set = |rows: &[Vec<u8>]| rows.iter().cloned().collect::<BTreeSet<_>>();
        assert!(set(&one).is_disjoint(&set(&other)), "{task}");
        let both: BTreeSet<_> = set(&one).union(&set(&other)).cloned().collect();
        assert_eq!(both, set(&all), "{task}");
        for (class, n) in parts[0]["items"].as_object().unwrap() {
            let n_of_both = [n, &parts[1]["items"][class]].map(|n| n.as_i64().unwrap());
            assert!(
                (n_of_both[0] - n_of_both[1]).abs() <= 1,
                "{task} {class}: {n_of_both:?}"
            );
        }
        for (half, name) in [(&public, "public"), (&last, "final")] {
            let kit = kit.with_file_name(format!("kit-{name}"));
            ran(&["dataset", "show", &of(half), "--public", &of(&kit)]);
            assert!(
                !has_one_of(&kit, &both),
                "{task}: the kit of the {name} half has a hidden row"
            );
        }
    }
    let scratch = tempfile::tempdir().unwrap();
    let [public, last] =
        ["public", "final"].map(|name| scratch.path().join(name).to_str().unwrap().to_owned());
    let frozen = crate::project::frozen().to_str().unwrap();
    let refused = dataperf([
        "dataset", "split", frozen, "--public", &public, "--final", &last, "--share", "1.5",
    ]);
    assert_eq!(refused.code, 1, "{refused:?}");
    for said in ["--share 1.5", "only those of own data"] {
        assert!(refused.stderr.contains(said), "{said}: {refused:?}");
    }
}
