//! Test sets in two: what uploads are scored with and what a round ends with have no item in common, and no kit has any of either.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::project::{dataperf, imported_by_id, ran_as_json as ran};
use crate::support::words;

/// The rows of a data set's hidden test set, each the bytes of its features.
fn rows(directory: &Path) -> Vec<Vec<u8>> {
    rows_of(directory, "eval.npy")
}

/// Whether one of the rows, which have one width, is anywhere in a file below the directory.
fn has_one_of(directory: &Path, rows: &BTreeSet<Vec<u8>>) -> bool {
    let width = rows.first().unwrap().len();
    let mut is_there = false;
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        is_there |= if path.is_dir() {
            has_one_of(&path, rows)
        } else {
            let bytes = fs::read(&path).unwrap();
            bytes.windows(width).any(|window| rows.contains(window))
        };
    }
    is_there
}

#[test]
fn split_halves_are_disjoint_and_absent_from_kits() {
    for task in ["selection", "debugging", "acquisition", "curation"] {
        let scratch = tempfile::tempdir().unwrap();
        let [public, last, kit] = ["public", "final", "kit"].map(|name| scratch.path().join(name));
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let whole = imported_by_id(task);
        let parts = ran(words!(
            "dataset split {} --public {} --final {}",
            &text(whole),
            &text(&public),
            &text(&last)
        ))
        .json();
        for directory in [&public, &last] {
            ran(["dataset", "verify", &text(directory)]);
        }
        let (all, one, other) = (rows(whole), rows(&public), rows(&last));
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
            ran(["dataset", "show", &text(half), "--public", &text(&kit)]);
            assert!(
                !has_one_of(&kit, &both),
                "{task}: the kit of the {name} half has a hidden row"
            );
        }
    }
    let scratch = tempfile::tempdir().unwrap();
    let [public, last] =
        ["public", "final"].map(|name| scratch.path().join(name).to_str().unwrap().to_owned());
    let frozen = crate::support::project::frozen().to_str().unwrap();
    let refused = dataperf([
        "dataset", "split", frozen, "--public", &public, "--final", &last, "--share", "1.5",
    ]);
    assert_eq!(refused.code, 1, "{refused:?}");
    for message in ["--share 1.5", "only those of own data"] {
        assert!(refused.stderr.contains(message), "{message}: {refused:?}");
    }
}

/// The rows of a table, each the bytes of its features.
fn rows_of(directory: &Path, npy: &str) -> Vec<Vec<u8>> {
    let manifest: Value =
        serde_json::from_slice(&fs::read(directory.join("manifest.json")).unwrap()).unwrap();
    let tensor = &manifest["files"][npy]["tensors"]["features"];
    let n_rows = tensor["shape"][0].as_u64().unwrap() as usize;
    let bytes = fs::read(directory.join(npy)).unwrap();
    let bytes = &bytes[tensor["begin"].as_u64().unwrap() as usize..];
    bytes.chunks(bytes.len() / n_rows).map(<[u8]>::to_vec).collect()
}

/// The program's view of one part of such a split is in no file of the other.
#[test]
fn separate_splits_share_no_row() {
    let tables: [(&str, &[&str]); 3] = [
        ("selection", &["eval.npy", "public/eval.npy", "public/pool.npy"]),
        ("debugging", &["eval.npy", "public/eval.npy", "public/train.npy"]),
        ("acquisition", &["eval.npy", "sellers.npy"]),
    ];
    for (task, tables) in tables {
        let scratch = tempfile::tempdir().unwrap();
        let [public, hidden] =
            ["public", "hidden"].map(|name| scratch.path().join(name).to_str().unwrap().to_owned());
        let whole = imported_by_id(task);
        ran(words!(
            "dataset split {} --all-rows --public {public} --final {hidden}",
            whole.display()
        ));
        for directory in [&public, &hidden] {
            ran(["dataset", "verify", directory]);
        }
        for npy in tables {
            let rows_in = |directory: &str| rows_of(Path::new(directory), npy);
            let (all, one, other) = (
                rows_in(whole.to_str().unwrap()),
                rows_in(&public),
                rows_in(&hidden),
            );
            assert_eq!(one.len() + other.len(), all.len(), "{task} {npy}");
            let difference = one.len().abs_diff(other.len());
            assert!(
                difference <= 12,
                "{task} {npy}: {} and {}",
                one.len(),
                other.len()
            );
            let one: BTreeSet<_> = one.into_iter().collect();
            assert!(!has_one_of(Path::new(&hidden), &one), "{task} {npy}");
            let other: BTreeSet<_> = other.into_iter().collect();
            assert!(!has_one_of(Path::new(&public), &other), "{task} {npy}");
        }
        for directory in [&public, &hidden] {
            follows(task, Path::new(directory));
        }
    }
    let scratch = tempfile::tempdir().unwrap();
    let [public, hidden] =
        ["public", "hidden"].map(|name| scratch.path().join(name).to_str().unwrap().to_owned());
    let whole = imported_by_id("curation");
    let refused = dataperf(words!(
        "dataset split {} --all-rows --public {public} --final {hidden}",
        whole.display()
    ));
    refused.assert_refused("rounds that take programs");
}

/// A source whose `allow_duplicates` says so may have a row in two tables: then no part can have it alone.
#[test]
fn rows_that_two_tables_have_are_not_parted() {
    let scratch = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(scratch.path().join(name), text).unwrap();
    let rows = (0..40)
        .map(|n| format!("{n},{}\n", n % 2))
        .collect::<Vec<_>>()
        .concat();
    let labels = (0..40)
        .map(|n| format!("p{n},{}\n", ["a", "b"][n % 2]))
        .collect::<Vec<_>>()
        .concat();
    write("pool.csv", &format!("x,y\n{rows}"));
    write("eval.csv", &format!("x,y\n{rows}"));
    write("pool-labels.csv", &format!("id,label\n{labels}"));
    write("eval-labels.csv", &format!("id,label\n{labels}"));
    write(
        "task.yaml",
        "schema: 1\ntask: selection\ntitle: Twins\nclasses: [a, b]\nmetric: accuracy\nallow_duplicates: true\n\
         model: {kind: nearest_centroid}\neval: {features: eval.csv, examples: eval-labels.csv}\n\
         pool: {features: pool.csv, examples: pool-labels.csv}\nleaderboards: [{name: ten, max_examples: 10}]\n",
    );
    let [whole, public, hidden] =
        ["whole", "public", "hidden"].map(|name| scratch.path().join(name).to_str().unwrap().to_owned());
    let from = scratch.path().to_str().unwrap();
    ran(["dataset", "import", "selection", "--from", from, "--out", &whole]);
    let parts = ["--public", &public, "--final", &hidden];
    let refused = dataperf(["dataset", "split", &whole, "--all-rows"].iter().chain(&parts));
    let message = "rows would be in both parts";
    refused.assert_refused(message);
    assert!(!Path::new(&public).exists() && !Path::new(&hidden).exists());
    ran([&["dataset", "split", &whole][..], &parts].concat());
}

/// Data of the rows belongs to this part: right labels have the ids of the training set, and
/// summaries describe the sellers' rows.
fn follows(task: &str, directory: &Path) {
    let lines = |name: &str| {
        let text = fs::read_to_string(directory.join(name)).unwrap();
        text.lines().skip(1).map(str::to_owned).collect::<Vec<String>>()
    };
    let id = |line: &String| line.split(',').next().unwrap().to_owned();
    match task {
        "debugging" => {
            let (given, truth) = (lines("public/train.csv"), lines("truth.csv"));
            assert_eq!(
                given.iter().map(id).collect::<Vec<_>>(),
                truth.iter().map(id).collect::<Vec<_>>()
            );
            let n_wrong = given
                .iter()
                .zip(&truth)
                .filter(|(given, truth)| given != truth)
                .count();
            assert!((20..=40).contains(&n_wrong), "{n_wrong} of some 50 wrong labels");
        }
        "acquisition" => {
            let read = |name: &str| -> Value {
                serde_json::from_slice(&fs::read(directory.join(name)).unwrap()).unwrap()
            };
            let sellers = read("manifest.json")["parameters"]["sellers"].clone();
            let labels = lines("sellers.csv");
            let mut begin = 0;
            for (idx, seller) in sellers.as_array().unwrap().iter().enumerate() {
                let summary = read(&format!("public/sellers/{idx}.json"));
                let n_rows = seller["n_rows"].as_u64().unwrap() as usize;
                let malignant = labels[begin..begin + n_rows]
                    .iter()
                    .filter(|label| *label == "malignant");
                assert_eq!(
                    summary["n_rows_by_label"]["malignant"],
                    malignant.count(),
                    "{seller}"
                );
                assert_eq!(
                    (&summary["n_rows"], &summary["price"]),
                    (&seller["n_rows"], &seller["price"])
                );
                begin += n_rows;
            }
            assert_eq!(begin, labels.len());
        }
        _ => {}
    }
}
