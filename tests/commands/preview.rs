//! `dataperf challenge preview`: an organizer sees the page before anything is published.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::access::curl;
use crate::people::organizer_mistakes::{copy, digest};
use crate::support::project::{BENCHMARK, binary, frozen};

/// A document with two rounds of two data sets and with a final data set, in a directory of its own.
fn document(leaderboard: &str) -> TempDir {
    let scratch = tempfile::tempdir().unwrap();
    let with_seeds = |name: &str, seeds: [u64; 2]| {
        let directory = scratch.path().join(name);
        copy(frozen(), &directory);
        let path = directory.join("manifest.json");
        let mut manifest: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        manifest["parameters"]["seeds"] = json!(seeds);
        fs::write(&path, format!("{manifest:#}\n")).unwrap();
        digest(&directory)
    };
    let rounds = json!([
        { "id": "autumn", "leaderboards": [leaderboard], "opens": "2998-01-01T00:00:00Z",
          "closes": "2998-02-01T00:00:00Z", "dataset": digest(frozen()), "final": with_seeds("final", [1, 2]) },
        { "id": "winter", "leaderboards": [leaderboard], "opens": "2998-03-01T00:00:00Z",
          "closes": "2999-01-01T00:00:00Z", "dataset": with_seeds("winter", [1, 3]) },
    ]);
    let document =
        json!({ "schema": 1, "title": "Seasons", "benchmarks": { BENCHMARK: { "rounds": rounds } } });
    fs::write(scratch.path().join("challenge.yaml"), document.to_string()).unwrap(); // JSON is YAML
    fs::create_dir(scratch.path().join("temporary")).unwrap();
    scratch
}

fn preview(scratch: &Path) -> Child {
    let mut command = Command::new(binary("dataperf"));
    command.args(["--format", "json", "challenge", "preview", "challenge.yaml"]);
    command
        .arg("--dataset")
        .arg(frozen())
        .args(["--dataset", "final", "--dataset", "winter"]);
    command
        .current_dir(scratch)
        .env("TMPDIR", scratch.join("temporary"));
    command.stdout(Stdio::piped()).spawn().unwrap()
}

/// The JSON document that a program prints next.
fn printed(program: &mut Child) -> Value {
    let mut text = String::new();
    for line in BufReader::new(program.stdout.as_mut().unwrap()).lines() {
        text.push_str(&line.unwrap());
        text.push('\n');
        if text.ends_with("\n}\n") {
            break;
        }
    }
    serde_json::from_str(&text).unwrap()
}

/// The names in the directory in which the program may keep files.
fn kept(scratch: &Path) -> Vec<std::ffi::OsString> {
    let entries = fs::read_dir(scratch.join("temporary")).unwrap();
    entries.map(|entry| entry.unwrap().file_name()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_preview_shows_the_page_and_keeps_nothing() {
    let scratch = document("en-25");
    let mut program = preview(scratch.path());
    let shown = printed(&mut program);
    let at = format!(
        "{}/api/v1/benchmarks/{BENCHMARK}",
        shown["page"].as_str().unwrap()
    );
    let get = |path: &str| -> Value { serde_json::from_str(&curl(&[&format!("{at}{path}")])).unwrap() };
    let round = &get("")["challenge"]["rounds"][0];
    assert_eq!(
        (&round["id"], &round["opens"], &round["has_final"]),
        (&json!("autumn"), &json!("2998-01-01T00:00:00.000Z"), &json!(true))
    );
    for (round, dataset) in [
        ("autumn", frozen().to_owned()),
        ("winter", scratch.path().join("winter")),
    ] {
        let board = get(&format!("/leaderboards/en-25?round={round}"));
        assert_eq!(
            (&board["dataset"], &board["rows"]),
            (&json!(digest(&dataset)), &json!([]))
        );
    }
    assert_ne!(kept(scratch.path()).len(), 0);

    Command::new("kill")
        .args(["-INT", &program.id().to_string()])
        .status()
        .unwrap();
    assert!(program.wait().unwrap().success());
    assert_eq!(kept(scratch.path()).len(), 0);
}

#[test]
fn a_preview_refuses_what_publishing_refuses() {
    let scratch = document("en-26");
    let mut program = preview(scratch.path());
    let refused = printed(&mut program);
    assert_eq!(refused["reasons"][0]["code"], "unknown_leaderboard", "{refused}");
    assert_eq!(program.wait().unwrap().code(), Some(2));
    assert_eq!(kept(scratch.path()).len(), 0);
}
