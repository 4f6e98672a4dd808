//! `dataperf export`: tables of all uploads, and of the part that everybody may see.

use std::fs;
use std::path::Path;

use crate::support::project::good;
use crate::support::world::{World, key};

/// The cells of a CSV file's column, in order.
fn column(path: &Path, name: &str) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let place = lines
        .next()
        .unwrap()
        .iter()
        .position(|cell| *cell == name)
        .unwrap();
    lines.map(|cells| cells[place].to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exports_contain_everything_or_only_public_data() {
    let world = World::new().await;
    let mut sent = Vec::new();
    for (n, submitter) in ["ada", "bo", "cy"].into_iter().enumerate() {
        sent.push(world.put(&key(submitter, n), good(n)).await);
    }
    sent.push(world.put(&key("di", 3), "{}").await);
    world.settle().await;
    let withdrawn = sent[1].id().to_string();
    world.ran(["withdraw", "speech-selection", &withdrawn]);

    let [whole, shown] = ["whole", "shown"].map(|name| world.scratch().join(name));
    let export = |out: &Path, more: &[&str]| {
        let arguments = [
            "export",
            "speech-selection",
            "--as",
            "csv",
            "--out",
            out.to_str().unwrap(),
        ];
        world.command([&arguments[..], more].concat())
    };
    let ran = export(&whole, &["--artifacts", "--round", "open"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.json()["files"][1]["n_rows"], 4, "{ran:?}");
    assert_eq!(ran.json()["n_artifacts"], 4, "{ran:?}");
    let file = whole.join(format!("artifacts/{}.json", sent[0].id()));
    assert_eq!(fs::read(file).unwrap(), good(0));
    let none = export(&world.scratch().join("none"), &["--round", "spring"]);
    none.assert_refused("`spring`");
    let submissions = whole.join("submissions.csv");
    assert_eq!(column(&submissions, "submitter"), ["ada", "bo", "cy", "di"]);
    assert_eq!(
        column(&submissions, "status"),
        ["scored", "scored", "scored", "rejected"]
    );
    assert!(!column(&submissions, "withdrawn_at")[1].is_empty());
    assert!(!column(&submissions, "code")[3].is_empty());
    assert_eq!(column(&whole.join("boards.csv"), "rank"), ["1", "2"]);
    assert!(column(&whole.join("metrics.csv"), "metric").contains(&"per_seed".to_owned()));

    assert_eq!(export(&shown, &["--public"]).code, 0);
    let submissions = shown.join("submissions.csv");
    assert_eq!(column(&submissions, "submitter"), ["ada", "cy"]);
    assert!(column(&submissions, "key").iter().all(String::is_empty));
    assert!(column(&shown.join("metrics.csv"), "metric").contains(&"per_seed".to_owned()));

    let again = export(&whole, &[]);
    again.assert_refused("exists already");
    let left: Vec<_> = fs::read_dir(world.scratch())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with('.'))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
