//! The daily limits shown to annotators and raters, and the organizer's export.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use super::{BENCHMARK, Text, example, fooling};
use crate::read_api::{ADA, ANONYMOUS, BO, ORGANIZER, Reading};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn viewing_the_daily_allowance_costs_nothing() {
    let text = Text::with(
        |_| (),
        |rules| {
            rules["examples_a_day"] = json!(3);
            rules["validation"]["verdicts_a_day"] = json!(7);
        },
    )
    .await;
    let receipt = text.submit("ada", "one", &[fooling(0), fooling(1)]).await;
    text.judge("rosa", &example(&receipt.verdict.lines[0]), "positive")
        .await;

    let listed = text.world.command(["submitter", "list", BENCHMARK]).json();
    let left = |name: &str| {
        let listed = listed.as_array().unwrap().iter();
        let of_one = listed.filter(|one| one["submitter"] == name);
        of_one.map(|one| one["allowances"].clone()).collect::<Vec<_>>()
    };
    let examples = |left: u64| json!({ "kind": "examples", "title": "examples", "limit": 3, "left": left });
    let verdicts = json!({ "kind": "verdicts", "title": "verdicts", "limit": 7, "left": 6 });
    assert_eq!(left("ada"), [json!([examples(1)])]);
    assert_eq!(left("rosa"), [json!([examples(3), verdicts])]);
    let ran = text
        .world
        .command(["submitter", "list", BENCHMARK, "--format", "csv"]);
    assert!(ran.stdout.contains("allowances,same_file_as"), "{ran:?}");

    let reading = Reading::new(text.world).await;
    let before = reading.world.items().await.len();
    let ask = |who: &str, submitter: &str| {
        let path = format!("/api/v1/benchmarks/{BENCHMARK}/quotas?submitter={submitter}");
        reading.ask(who, &path)
    };
    let numbers = |who: &str, submitter: &str| -> Vec<Value> {
        let answer = ask(who, submitter).json();
        let allowances = answer["allowances"].as_array().unwrap().iter();
        allowances
            .map(|one| {
                let resets_at = one["resets_at"].as_str().unwrap();
                assert!(resets_at.ends_with("T00:00:00.000Z"), "{one}");
                json!([
                    one["kind"],
                    one["title"],
                    one["limit"],
                    one["n_used"],
                    one["n_left"]
                ])
            })
            .collect()
    };
    for who in [ADA, ORGANIZER, ADA] {
        assert_eq!(
            numbers(who, "ada"),
            [json!(["examples", "examples", 3, 2, 1])],
            "{who}"
        );
    }
    assert_eq!(
        numbers(ORGANIZER, "rosa"),
        [
            json!(["examples", "examples", 3, 0, 3]),
            json!(["verdicts", "verdicts", 7, 1, 6])
        ]
    );
    assert_eq!(numbers(BO, "bo"), [json!(["examples", "examples", 3, 0, 3])]);
    assert_eq!((ask(BO, "ada").status, ask(ANONYMOUS, "ada").status), (403, 401));
    assert_eq!(
        reading.world.items().await.len(),
        before,
        "looking writes nothing"
    );
}

/// The cells of a CSV file's column. Reasons, which may have commas, are among the last.
fn column(table: &str, name: &str) -> BTreeSet<String> {
    let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let place = header.iter().position(|cell| *cell == name).unwrap();
    lines.map(|cells| cells[place].to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_includes_uploads_only_on_request() {
    let text = Text::new().await;
    text.submit("ada", "one", &[fooling(0)]).await;
    text.submit("ada", "two", &[fooling(1)]).await;
    let export = |name: &str, more: &[&str]| {
        let out = text.world.scratch().join(name);
        let arguments = ["export", BENCHMARK, "--as", "csv", "--out", out.to_str().unwrap()];
        text.world.ran([&arguments[..], more].concat());
        ["submissions", "metrics", "boards"]
            .map(|table| fs::read_to_string(out.join(format!("{table}.csv"))).unwrap())
    };
    let [submissions, metrics, boards] = export("uploads", &[]);
    assert_eq!(column(&submissions, "leaderboard"), ["submit".to_owned()].into());
    assert_eq!(submissions.lines().count(), 3, "{submissions}");
    let standing = column(&boards, "submission");
    assert_eq!(standing.len(), 1, "{boards}");
    let measured = column(&metrics, "submission");
    assert!(
        measured.is_superset(&standing),
        "what stands on a board has its numbers: {metrics}"
    );
    assert_eq!(measured.len(), 3, "and the two uploads: {metrics}");

    let [submissions, metrics, _] = export("steps", &["--steps"]);
    let leaderboards = column(&submissions, "leaderboard");
    assert_eq!(leaderboards, ["sentiment".to_owned(), "submit".to_owned()].into());
    assert_eq!(submissions.lines().count(), 5, "{submissions}");
    assert_eq!(column(&metrics, "submission").len(), 4, "{metrics}");
}
