//! A rejection for many reasons names the one mistake behind them, on every benchmark.

use std::fs;

use serde_json::{Value, json};

use crate::support::project::{dataperf, imported_by_id, root};
use crate::support::words;

/// The cause that `dataperf validate` names for an artifact.
fn cause(benchmark: &str, leaderboard: &str, name: &str, artifact: &str) -> String {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join(name);
    fs::write(&file, artifact).unwrap();
    let ran = dataperf(words!(
        "--format json validate {benchmark} --leaderboard {leaderboard} --dataset {} {}",
        imported_by_id(benchmark).to_str().unwrap(),
        file.display()
    ));
    assert_eq!(ran.code, 2, "{ran:?}");
    let verdict = ran.json();
    let message = verdict["cause"]["message"].as_str();
    message
        .unwrap_or_else(|| panic!("no cause: {verdict}"))
        .to_owned()
}

/// One of a benchmark's shipped submissions.
fn submission(benchmark: &str, path: &str) -> Value {
    let path = root().join("demo").join(benchmark).join("submissions").join(path);
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn repeated_mistakes_are_reported_once_for_paper_benchmarks() {
    let mut labels = submission("vision-selection", "open/near-enough/nearest_60.json");
    let renamed = labels.to_string();
    for label in labels
        .as_object_mut()
        .unwrap()
        .values_mut()
        .flat_map(|task| task.as_object_mut().unwrap().values_mut())
    {
        *label = json!(*label == json!(1));
    }
    let found_cause = cause("vision-selection", "open", "labels.json", &labels.to_string());
    assert!(found_cause.contains("labels is 0 or 1"), "{found_cause}");
    let foreign = renamed.replace("\":0", ".jpg\":0").replace("\":1", ".jpg\":1");
    let found_cause = cause("vision-selection", "open", "images.json", &foreign);
    assert!(
        found_cause.contains("180 of the 180 listed ids")
            && found_cause.contains("remove `.jpg` behind each"),
        "{found_cause}"
    );

    let mut orders = submission("vision-debugging", "open/coin-flip/random.json");
    for image in orders
        .as_object_mut()
        .unwrap()
        .values_mut()
        .flat_map(|task| task.as_array_mut().into_iter().flatten())
    {
        *image = json!(image.as_u64().unwrap() + 1);
    }
    let found_cause = cause("vision-debugging", "open", "orders.json", &orders.to_string());
    assert!(found_cause.contains("subtract 1"), "{found_cause}");

    let mut counts = submission("data-acquisition", "open/a-bit-of-all/uniform.json");
    for count in counts
        .as_object_mut()
        .unwrap()
        .values_mut()
        .flat_map(|task| task.as_array_mut().unwrap())
    {
        *count = json!(0.125);
    }
    let found_cause = cause("data-acquisition", "open", "counts.json", &counts.to_string());
    assert!(found_cause.contains("not shares"), "{found_cause}");
}

#[test]
fn repeated_mistakes_are_reported_once_for_own_data() {
    let mut order = submission("debugging", "tissue/ada/neighbours.json");
    for id in order["order"].as_array_mut().unwrap() {
        *id = json!(format!("train/{}", id.as_str().unwrap()));
    }
    let found_cause = cause("debugging", "tissue", "order.json", &order.to_string());
    assert!(found_cause.contains("remove `train/`"), "{found_cause}");

    let sellers = json!({ "counts": { "North": 1, "South": 1, "West": 1 } });
    let found_cause = cause("acquisition", "clinics", "sellers.json", &sellers.to_string());
    assert!(found_cause.contains("capitals"), "{found_cause}");

    let rows =
        fs::read_to_string(root().join("demo/curation/submissions/digits-set/bo/as-it-is.csv")).unwrap();
    let (header, lines) = rows.split_once('\n').unwrap();
    let numbered: Vec<String> = lines.lines().map(|line| format!("{line},7")).collect();
    let found_cause = cause(
        "curation",
        "digits-set",
        "long.csv",
        &format!("{header}\n{}\n", numbered.join("\n")),
    );
    assert!(
        found_cause.contains("name each column in the first line"),
        "{found_cause}"
    );
    let named: Vec<String> = lines.lines().map(|line| format!("digit-{line}")).collect();
    let found_cause = cause(
        "curation",
        "digits-set",
        "classes.csv",
        &format!("{header}\n{}\n", named.join("\n")),
    );
    assert!(
        found_cause.contains("remove `digit-` before each"),
        "{found_cause}"
    );
}
