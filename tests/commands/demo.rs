//! `dataperf demo all`, the project's main job: every shipped submission of every benchmark ends as it should, with the
//! score that scikit-learn gives.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;

use dataperf::Benchmark as _;
use dataperf::challenge::BASELINE_PREFIX;
use dataperf_benchmarks::IDS;
use dataperf_benchmarks::vision_debugging::VisionDebugging;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::project::{self, dataperf, hosted, root};
use crate::support::words;

/// The expected score of each good submission to some benchmarks, by its key.
fn expected(is_wanted: impl Fn(&str) -> bool) -> BTreeMap<String, f64> {
    let mut scores = BTreeMap::new();
    for id in IDS.iter().filter(|id| !hosted(id).only_programs && is_wanted(id)) {
        let path = root().join("demo").join(id).join("expected_scores.json");
        let document: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        for (file, scored) in document["scored"].as_object().unwrap() {
            scores.insert(format!("{id}/{file}"), scored["score"].as_f64().unwrap());
        }
    }
    scores
}

/// A directory with the demo's data of some benchmarks, by links.
fn shipped(is_wanted: impl Fn(&str) -> bool) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(root().join("demo")).unwrap() {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        if path.is_dir() && is_wanted(name.to_str().unwrap()) {
            symlink(fs::canonicalize(path).unwrap(), directory.path().join(name)).unwrap();
        }
    }
    directory
}

/// What `dataperf demo all` prints on some benchmarks, whose shipped submissions have ended as they should.
fn all_ended(is_wanted: impl Fn(&str) -> bool) -> Value {
    let shipped = shipped(&is_wanted);
    let ran = dataperf(words!(
        "demo all --format json --data {}",
        shipped.path().display()
    ));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let document = ran.json();
    let mut expected = expected(is_wanted);
    let mut worst = 0.0_f64;
    for receipt in document["receipts"].as_array().unwrap() {
        let key = receipt["key"].as_str().unwrap();
        if receipt["status"] == "rejected" {
            assert!(key.contains("/bad_"), "{receipt}");
        } else if is_of_baseline(receipt) {
            assert_eq!(receipt["status"], "scored", "{receipt}");
        } else {
            let scikit_learns = expected.remove(key).unwrap();
            worst = worst.max((receipt["score"].as_f64().unwrap() - scikit_learns).abs());
        }
    }
    assert!(
        worst <= 1e-9,
        "the largest difference from scikit-learn is {worst:e}"
    );
    assert!(expected.is_empty(), "not submitted: {expected:?}");
    document
}

fn is_of_baseline(receipt: &Value) -> bool {
    receipt["submitter"]
        .as_str()
        .unwrap()
        .starts_with(BASELINE_PREFIX)
}

/// How many baselines, and how many bad submissions.
fn count(document: &Value) -> (usize, usize) {
    let receipts = document["receipts"].as_array().unwrap();
    let n_baselines = receipts.iter().filter(|receipt| is_of_baseline(receipt));
    let n_rejected = receipts.iter().filter(|receipt| receipt["status"] == "rejected");
    (n_baselines.count(), n_rejected.count())
}

/// Debugging for Vision takes as long as all others.
#[test]
fn shipped_orders_of_fixes_end_as_they_should() {
    let document = all_ended(|benchmark| benchmark == VisionDebugging::ID);
    assert_eq!(count(&document), (4, 6));
    assert_eq!(document["leaderboards"].as_array().unwrap().len(), 1);
}

#[test]
fn every_shipped_submission_ends_as_it_should() {
    let document = all_ended(|benchmark| benchmark != VisionDebugging::ID);
    let (n_baselines, n_rejected) = count(&document);
    assert!(n_baselines >= 30, "{n_baselines} baselines");
    assert!(n_rejected >= 10, "{n_rejected} bad submissions");
    let boards = document["leaderboards"].as_array().unwrap();
    assert!(boards.len() >= 8);
    let of_people: BTreeMap<&str, f64> = boards
        .iter()
        .filter(|board| board["leaderboard"] == "model-fooling")
        .flat_map(|board| board["places"].as_array().unwrap())
        .map(|place| {
            (
                place["submitter"].as_str().unwrap(),
                place["score"].as_f64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        of_people,
        [("ada", 5.0), ("bo", 2.0)].into(),
        "medians of three raters"
    );
    assert!(
        boards
            .iter()
            .any(|board| board["leaderboard"] == "prompt-creativity")
    );
    assert_eq!(
        document["nibbler"].as_array().unwrap().len(),
        7,
        "two requests, two files of pairs, three of verdicts"
    );
}

/// From planted errors to changed ranks, on the real functions and their stored evidence.
#[test]
fn corrected_labels_change_ranks() {
    let shipped = root().join("demo");
    let ran = dataperf(words!(
        "demo integrity --format json --data {}",
        shipped.display()
    ));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let document = ran.json();
    let number = |pointer: &str| {
        document
            .pointer(pointer)
            .and_then(Value::as_u64)
            .unwrap_or_else(|| panic!("{pointer} in {document}"))
    };
    // somebody who knows the truth changes what was planted and is in doubt or in the control sample, and nothing else
    assert!(
        (number("/in_doubt/n_right")..=number("/n_planted")).contains(&number("/n_edits")),
        "{document}"
    );
    assert_eq!(number("/effect/errors/0/n_changed"), number("/n_edits"));
    assert!(2 * number("/n_edits") > number("/n_planted"), "{document}");
    let lines = document["effect"]["lines"].as_array().unwrap();
    assert_eq!(
        lines.len() as u64,
        number("/effect/n_from_evidence"),
        "all from evidence"
    );
    assert_eq!(document["effect"]["left_out"], serde_json::json!([]));
    for line in lines {
        assert!(
            line["after"]["score"].as_f64() > line["before"]["score"].as_f64(),
            "{line}"
        );
    }
    assert!(number("/effect/n_moved") >= 2, "{document}");
}

/// In each task programs in Rust, C and Python score above chance on hidden data, equally in Rust
/// and in C. Files that are no program, and programs that never end, get a reason.
#[test]
fn programs_compete_on_data_that_nobody_has_seen() {
    let shipped = root().join("demo");
    let ran = project::ran(words!("demo closed --format json --data {}", shipped.display()));
    let document = ran.json();
    let receipts = document["receipts"].as_array().unwrap();
    let [.., endless, selection] = &receipts[..] else {
        panic!("{document}");
    };
    let code = |receipt: &Value| receipt["reasons"][0]["code"].as_str().unwrap().to_owned();
    assert_eq!(
        [code(endless), code(selection)],
        ["out_of_fuel", "invalid_module"]
    );
    let n_languages = match document["without_python"].as_str() {
        Some(why) => {
            eprintln!("programs in Python were NOT tried: {why}");
            2
        }
        None => 3,
    };
    let boards = document["boards"].as_array().unwrap();
    let items: Vec<&str> = boards
        .iter()
        .map(|board| board["benchmark"].as_str().unwrap())
        .collect();
    assert_eq!(items, ["selection", "debugging", "acquisition"]);
    for board in boards {
        let benchmark = board["benchmark"].as_str().unwrap();
        let rows = board["places"].as_array().unwrap();
        assert_eq!(rows.len(), n_languages, "{board}");
        let chance: Vec<f64> = document["by_chance"][benchmark]
            .as_array()
            .unwrap()
            .iter()
            .map(|score| score.as_f64().unwrap())
            .collect();
        let mean = chance.iter().sum::<f64>() / chance.len() as f64;
        for row in rows {
            let score = row["score"].as_f64().unwrap();
            let beats = if benchmark == "debugging" {
                score < mean
            } else {
                score > mean
            };
            assert!(beats, "{benchmark}: {row}, by chance {mean}");
            assert!(
                row["rank_interval"].is_null() && row["area"].is_null(),
                "it would tell more than the score does: {row}"
            );
        }
        let why = &board["comparison"]["why_none"];
        assert!(
            why.as_str()
                .is_some_and(|why| why.starts_with("programs compete")),
            "{board}"
        );
    }
}

/// As of every demo that has boards, one table.
#[test]
fn boards_of_a_demo_are_csv() {
    let rows = crate::commands::tables::offline(
        &["demo", "closed", "--data", root().join("demo").to_str().unwrap()],
        0,
    );
    let places = rows
        .column("benchmark")
        .into_iter()
        .zip(rows.column("leaderboard"));
    let boards: std::collections::BTreeSet<(&str, &str)> = places.collect();
    assert_eq!(
        boards.into_iter().collect::<Vec<_>>(),
        [
            ("acquisition", "clinics"),
            ("debugging", "tissue"),
            ("selection", "digits-20")
        ]
    );
    // programs in two languages that do the same share it
    let ranks = rows.column("benchmark").into_iter().zip(rows.column("rank"));
    let first: std::collections::BTreeSet<&str> = ranks
        .filter(|(_, rank)| *rank == "1")
        .map(|(board, _)| board)
        .collect();
    assert_eq!(first.len(), 3, "{first:?}");
}
