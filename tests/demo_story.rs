//! `dataperf demo`: its boards tell what it says of them, and the commands that it prints work as they stand.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::project::{binary, root};

/// What a shell makes of a command, in a folder of its own.
fn typed(command: &str, folder: &Path) -> (i32, String) {
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(folder)
        .env_remove("DATAPERF_LOCAL")
        .env_remove("DATAPERF_CLOUD")
        .env("COLUMNS", "1000")
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(said).unwrap())
}

fn demo(more: &str) -> String {
    let data = root().join("demo");
    format!(
        "'{}' demo --data '{}' {more}",
        binary("dataperf").display(),
        data.display()
    )
}

/// The score of a submitter on a board.
fn score(board: &Value, submitter: &str) -> f64 {
    let places = board["places"].as_array().unwrap();
    let place = places.iter().find(|place| place["submitter"] == submitter);
    place.unwrap_or_else(|| panic!("{submitter} in {board}"))["score"]
        .as_f64()
        .unwrap()
}

#[test]
fn the_story_is_true() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(binary("dataperf"))
        .args(["--format", "json", "demo", "--data"])
        .arg(root().join("demo"))
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let story: Value = serde_json::from_slice(&output.stdout).unwrap();
    let boards = story["leaderboards"].as_array().unwrap();
    assert!((4..=6).contains(&boards.len()), "{}", boards.len());
    let board = |leaderboard: &str| {
        let found = boards.iter().find(|board| board["leaderboard"] == leaderboard);
        let found = found.unwrap_or_else(|| panic!("{leaderboard}"));
        assert!(
            found["shows"].as_str().is_some_and(|says| says.ends_with('.')),
            "{found}"
        );
        found
    };
    let falls = |leaderboard: &str, names: &[&str]| {
        let scores: Vec<f64> = names.iter().map(|name| score(board(leaderboard), name)).collect();
        assert!(
            scores.is_sorted_by(|a, b| a > b),
            "{leaderboard}: {names:?} {scores:?}"
        );
    };
    // methods above baselines, noise below
    falls(
        "id-60",
        &[
            "plain-and-simple",
            "baseline-cleanlab",
            "coin-flip",
            "harbour-speech",
        ],
    );
    falls(
        "open",
        &["first-come", "coin-flip", "ask-around", "baseline-influence"],
    );
    falls(
        "digits-20",
        &[
            "ada",
            "baseline-cleanlab",
            "hasty",
            "baseline-balanced",
            "coin-flip",
        ],
    );
    falls("digits-set", &["ada", "baseline-as-it-is"]);
    // who is clearly the best, and who are not told apart
    assert_eq!(board("digits-20")["comparison"]["n_best"], 1);
    let tie = board("digits-50");
    assert_eq!(tie["comparison"]["n_best"], 2);
    for place in tie["places"].as_array().unwrap() {
        if ["ada", "cleo"].contains(&place["submitter"].as_str().unwrap()) {
            assert_eq!(place["rank_interval"], json!([1, 2]), "{place}");
        }
    }
    // a rejection with its cause, and the same submitter scored after mending
    let receipts = story["receipts"].as_array().unwrap();
    let hastys: Vec<&Value> = receipts
        .iter()
        .filter(|receipt| receipt["submitter"] == "hasty")
        .collect();
    assert_eq!(hastys.len(), 2);
    assert_eq!(
        (&hastys[0]["status"], &hastys[1]["status"]),
        (&json!("rejected"), &json!("scored"))
    );
    assert!(hastys[0]["reasons"].as_array().unwrap().len() > 20);
    assert!(
        hastys[0]["cause"]["message"]
            .as_str()
            .unwrap()
            .contains("capitals"),
        "{}",
        hastys[0]
    );
    assert!(hastys[0]["received_at"].as_str() < hastys[1]["received_at"].as_str());
    assert!(
        receipts
            .iter()
            .all(|receipt| receipt["status"] == "scored" || receipt == hastys[0])
    );
}

#[test]
fn the_printed_commands_work_as_they_stand() {
    let folder = tempfile::tempdir().unwrap();
    let (code, said) = typed(&demo(""), folder.path());
    assert_eq!(code, 0, "{said}");
    let program = binary("dataperf").display().to_string();
    let printed = |said: &str| -> Vec<String> {
        let lines = said.lines().map(str::trim);
        lines
            .filter(|line| line.starts_with(&program))
            .map(str::to_owned)
            .collect()
    };
    let commands = printed(&said);
    assert_eq!(commands.len(), 3, "{said}");
    let (code, imported) = typed(&commands[0], folder.path());
    assert_eq!(code, 0, "{imported}");
    let (code, scored) = typed(&commands[1], folder.path());
    assert_eq!(code, 0, "{scored}");
    let offline = scored.split("scored ").nth(1).unwrap().lines().next().unwrap();
    assert!(
        said.lines()
            .any(|line| line.contains(offline) && line.contains(" ada ")),
        "the same score as on the board: {offline}"
    );

    // the third goes on until it is stopped
    let mut running = Command::new("sh")
        .args(["-c", &format!("exec {}", commands[2])])
        .current_dir(folder.path())
        .env("COLUMNS", "1000")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(running.stdout.take().unwrap()).lines();
    let mut said = String::new();
    for line in lines {
        let line = line.unwrap();
        said.push_str(&line);
        said.push('\n');
        if line.starts_with("Stop with") {
            break;
        }
    }
    let commands = printed(&said);
    let outcomes: Vec<(i32, String)> = commands
        .iter()
        .map(|command| typed(command, folder.path()))
        .collect();
    running.kill().unwrap();
    running.wait().unwrap();
    assert_eq!(outcomes.len(), 3, "{said}");
    for (code, said) in &outcomes {
        assert_eq!(*code, 0, "{said}");
    }
    assert!(
        outcomes[0]
            .1
            .contains("file selection/digits-20/you/central.json"),
        "{outcomes:?}"
    );
    assert!(outcomes[0].1.contains(": rank 1 "), "{outcomes:?}");
    assert!(outcomes[1].1.contains(" you "), "{outcomes:?}");
    assert!(outcomes[2].1.contains("central.json"), "{outcomes:?}");
}
