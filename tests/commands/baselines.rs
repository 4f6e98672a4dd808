//! The baselines on the demo's data: valid, reproducible, and in the paper's order.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use dataperf_benchmarks::IDS;
use serde_json::Value;

use crate::support::project::{dataperf, imported_by_id, text};
use crate::support::words;

const DRAW_NOTHING: [&str; 6] = [
    "consecutive",
    "datascope",
    "fixed-seller",
    "influence",
    "price-per-gain",
    "uniform",
];

fn methods(benchmark: &str) -> Vec<String> {
    let listed = dataperf(["--format", "json", "baseline", "list"]).json();
    let of_benchmark = listed[benchmark].as_array().unwrap();
    for method in of_benchmark {
        assert!(!method["source"].as_str().unwrap().is_empty(), "{method}");
    }
    of_benchmark
        .iter()
        .map(|method| method["name"].as_str().unwrap().to_owned())
        .collect()
}

/// Makes a baseline and returns its bytes.
fn make(benchmark: &str, method: &str, leaderboard: &str, seed: u32, jobs: u32) -> Vec<u8> {
    let out = tempfile::NamedTempFile::new().unwrap();
    let (seed, jobs) = (seed.to_string(), jobs.to_string());
    let ran = dataperf(words!(
        "baseline {method} --dataset {} --leaderboard {leaderboard} --seed {seed} --jobs {jobs} --out {}",
        text(imported_by_id(benchmark)),
        text(out.path())
    ));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    fs::read(out.path()).unwrap()
}

fn score(benchmark: &str, leaderboard: &str, artifact: &[u8]) -> f64 {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), artifact).unwrap();
    let dataset = imported_by_id(benchmark);
    let ran = dataperf(words!(
        "--format json score {benchmark} --leaderboard {leaderboard} --dataset {} {}",
        text(dataset),
        text(file.path())
    ));
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    ran.json()["score"].as_f64().unwrap()
}

/// Each method's mean score over the boards and seeds; one seed will do for a method that draws nothing.
fn means(benchmark: &str, leaderboards: &[&str], seeds: u32) -> BTreeMap<String, f64> {
    let mut means = BTreeMap::new();
    for method in methods(benchmark) {
        let draws = !DRAW_NOTHING.contains(&method.as_str());
        let seeds = if draws { seeds } else { 1 };
        let scores = leaderboards.iter().flat_map(|leaderboard| {
            let method = method.clone();
            (0..seeds).map(move |seed| {
                score(
                    benchmark,
                    leaderboard,
                    &make(benchmark, &method, leaderboard, seed, 0),
                )
            })
        });
        let scores: Vec<f64> = scores.collect();
        means.insert(method, scores.iter().sum::<f64>() / scores.len() as f64);
    }
    means
}

#[test]
fn the_papers_order_holds_for_speech() {
    let means = means("speech-selection", &["en-25", "pt-60", "id-60"], 2);
    assert!(means["cleanlab"] >= means["nested-cross-fold"], "{means:?}");
    assert!(means["nested-cross-fold"] >= means["random"], "{means:?}");
}

#[test]
fn the_papers_order_holds_for_vision() {
    let means = means("vision-selection", &["open"], 3);
    for method in ["farthest-point", "pseudo-label", "uncertainty"] {
        assert!(means[method] > means["random"], "{means:?}");
    }
}

#[test]
fn the_papers_order_holds_for_debugging() {
    let means = means("vision-debugging", &["open"], 2); // the share of fixes: less is better
    for method in ["random", "consecutive"] {
        assert!(means["datascope"] <= means[method] / 2.0, "{means:?}");
        assert!(means["influence"] < means[method], "{means:?}");
    }
}

#[test]
fn the_papers_order_holds_for_acquisition() {
    let means = means("data-acquisition", &["open"], 4);
    for method in ["random-seller", "fixed-seller"] {
        assert!(means["uniform"] > means[method], "{means:?}");
    }
    assert!(means["price-per-gain"] > means["uniform"], "{means:?}");
}

#[test]
fn a_seed_gives_equal_results_for_any_threads() {
    let boards = [
        ("speech-selection", "id-25"),
        ("vision-selection", "open"),
        ("vision-debugging", "open"),
        ("data-acquisition", "open"),
    ];
    for (benchmark, leaderboard) in boards {
        for method in methods(benchmark) {
            let one = make(benchmark, &method, leaderboard, 7, 1);
            let five = make(benchmark, &method, leaderboard, 7, 5);
            assert_eq!(one, five, "{benchmark} {method}");
            let is_drawn = !DRAW_NOTHING.contains(&method.as_str());
            let other = make(benchmark, &method, leaderboard, 8, 0);
            assert_eq!(one != other, is_drawn, "{benchmark} {method} with another seed");
        }
    }
}

#[test]
fn a_wrong_name_says_which_there_are() {
    let dataset = imported_by_id("vision-selection");
    let ran = dataperf(words!(
        "baseline cleanlab --dataset {} --leaderboard open --out x",
        text(dataset)
    ));
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("`farthest-point`"), "{}", ran.stderr);
    let help = dataperf(["baseline", "list"]).stdout;
    for benchmark in IDS {
        assert!(help.contains(benchmark), "{help}");
        for method in methods(benchmark) {
            assert!(help.contains(&method), "{help}");
        }
    }
    let bare: Value = dataperf(["--format", "json", "baseline", "list"]).json();
    assert_eq!(bare.as_object().unwrap().len(), IDS.len());
}

/// Names that can't be written are refused before anything is made, and so are numbers of threads that no machine has.
#[test]
fn unwritable_baselines_are_not_computed() {
    let scratch = tempfile::tempdir().unwrap();
    let new = scratch.path().join("new.json");
    let dataset = imported_by_id("selection");
    let board = &board_of(dataset);
    let made = |more: &[&str]| {
        let args = [
            "baseline",
            "random",
            "--dataset",
            text(dataset),
            "--leaderboard",
            board,
        ];
        dataperf(args.iter().chain(more))
    };
    for (more, message) in [
        (&["--out", text(scratch.path())][..], "is a folder: name a file"),
        (
            &["--out", text(&new), "--details", text(&new)],
            "is given for two files",
        ),
        (
            &["--out", text(&scratch.path().join("no/new.json"))],
            "does not exist",
        ),
        (&["--out", text(&new), "--jobs", "999999999"], "0..=1024"),
    ] {
        let ran = made(more);
        assert!(ran.code == 1 && ran.stderr.contains(message), "{more:?}: {ran:?}");
    }
    assert!(!new.exists());
    assert_eq!(made(&["--out", text(&new)]).code, 0);
}

/// A leaderboard of a data set.
fn board_of(dataset: &Path) -> String {
    let manifest: Value = serde_json::from_slice(&fs::read(dataset.join("manifest.json")).unwrap()).unwrap();
    let boards = &manifest["parameters"]["leaderboards"];
    boards[0]["name"].as_str().unwrap().to_owned()
}
