//! `dataperf demo`: its boards show what they promise, and the printed commands work unchanged.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::project::{binary, root};

/// Runs a command in a shell, in its own folder.
fn typed(command: &str, folder: &Path) -> (i32, String) {
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(folder)
        .env_remove("DATAPERF_LOCAL")
        .env_remove("DATAPERF_CLOUD")
        .env("COLUMNS", "1000")
        .output()
        .unwrap();
    let printed = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(printed).unwrap())
}

/// The demo whose cloud stays up.
fn keep_running() -> String {
    let data = root().join("demo");
    format!(
        "'{}' demo --keep-running --data '{}'",
        binary("dataperf").display(),
        data.display()
    )
}

fn unquoted(command: &str) -> String {
    command.replace('\'', "")
}

/// The score of a submitter on a board.
fn score(board: &Value, submitter: &str) -> f64 {
    let places = board["places"].as_array().unwrap();
    let place = places.iter().find(|place| place["submitter"] == submitter);
    place.unwrap_or_else(|| panic!("{submitter} in {board}"))["score"]
        .as_f64()
        .unwrap()
}

/// Each row has ranks: by swaps of answers, or by the area under curves of fixes.
fn assert_ranks(board: &Value, pointer: &str) {
    for place in board["places"].as_array().unwrap() {
        let ends = place.pointer(pointer).and_then(Value::as_array);
        let ends = ends.unwrap_or_else(|| panic!("no ranks: {place}"));
        assert!(ends[0].as_u64().unwrap() <= ends[1].as_u64().unwrap(), "{place}");
    }
}

fn assert_areas(board: &Value) {
    assert!(
        board["comparison"]["n_best_by_area"].as_u64().unwrap() < 4,
        "{board}"
    );
    for place in board["places"].as_array().unwrap() {
        let area = &place["area"];
        let (value, ends) = (
            area["value"].as_f64().unwrap(),
            area["interval"].as_array().unwrap(),
        );
        assert!(
            ends[0].as_f64().unwrap() < value && value < ends[1].as_f64().unwrap(),
            "{place}"
        );
    }
}

#[test]
fn the_story_is_true() {
    let folder = tempfile::tempdir().unwrap();
    let story = run_story(folder.path());
    let boards = story["leaderboards"].as_array().unwrap();
    assert!((4..=6).contains(&boards.len()), "{}", boards.len());
    let board = |leaderboard: &str| {
        let shown = boards.iter().find(|board| board["leaderboard"] == leaderboard);
        let shown = shown.unwrap_or_else(|| panic!("{leaderboard}"));
        assert!(
            shown["shows"].as_str().is_some_and(|says| says.ends_with('.')),
            "{shown}"
        );
        shown
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
    // who is clearly the best, and who can't be distinguished
    assert_eq!(board("digits-20")["comparison"]["n_best"], 1);
    let tie = board("digits-50");
    assert_eq!(tie["comparison"]["n_best"], 2);
    for place in tie["places"].as_array().unwrap() {
        if ["ada", "cleo"].contains(&place["submitter"].as_str().unwrap()) {
            assert_eq!(place["rank_interval"], json!([1, 2]), "{place}");
        }
    }
    assert_ranks(board("id-60"), "/rank_interval");
    assert_ranks(board("open"), "/area/rank_interval");
    assert_areas(board("open"));
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
    let ada = score(board("digits-20"), "ada");
    commands_work(&story["commands"], ada, folder.path());
}

/// The demo's story as JSON.
fn run_story(folder: &Path) -> Value {
    let output = Command::new(binary("dataperf"))
        .args(["--format", "json", "demo", "--data"])
        .arg(root().join("demo"))
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The demo's commands work as they stand; the third runs the demo again, which another test does.
fn commands_work(commands: &Value, ada: f64, folder: &Path) {
    let commands: Vec<&str> = commands
        .as_array()
        .unwrap()
        .iter()
        .map(|command| command.as_str().unwrap())
        .collect();
    assert_eq!(commands.len(), 3, "{commands:?}");
    let (code, imported) = typed(commands[0], folder);
    assert_eq!(code, 0, "{imported}");
    let (code, scored) = typed(commands[1], folder);
    assert_eq!(code, 0, "{scored}");
    let offline = scored.split("scored ").nth(1).unwrap().lines().next().unwrap();
    let offline: f64 = offline.trim().parse().unwrap();
    assert!(
        (offline - ada).abs() < 1e-4,
        "the same score as on the board: {offline} and {ada}"
    );
    assert_eq!(unquoted(commands[2]), unquoted(&keep_running()));
}

#[test]
fn the_printed_commands_work_as_they_stand() {
    let folder = tempfile::tempdir().unwrap();
    let program = binary("dataperf").display().to_string();
    let printed = |message: &str| -> Vec<String> {
        let lines = message.lines().map(str::trim);
        lines
            .filter(|line| line.starts_with(&program))
            .map(str::to_owned)
            .collect()
    };
    // it runs until it is stopped
    let mut running = Command::new("sh")
        .args(["-c", &format!("exec {}", keep_running())])
        .current_dir(folder.path())
        .env("COLUMNS", "1000")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(running.stdout.take().unwrap()).lines();
    let mut message = String::new();
    for line in lines {
        let line = line.unwrap();
        message.push_str(&line);
        message.push('\n');
        if line.starts_with("Stop with") {
            break;
        }
    }
    assert!(message.lines().any(|line| line.contains(" ada ")), "{message}");
    let commands = printed(&message);
    let outcomes: Vec<(i32, String)> = commands
        .iter()
        .map(|command| typed(command, folder.path()))
        .collect();
    running.kill().unwrap();
    running.wait().unwrap();
    assert_eq!(outcomes.len(), 3, "{message}");
    for (code, message) in &outcomes {
        assert_eq!(*code, 0, "{message}");
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
