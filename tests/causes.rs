//! A rejection for many reasons names the one mistake behind them, on every benchmark.

use std::fs;

use serde_json::{Value, json};

use crate::project::{dataperf, imported_by_id, root};

/// The cause that `dataperf validate` names for an artifact.
fn cause(benchmark: &str, leaderboard: &str, name: &str, artifact: &str) -> String {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join(name);
    fs::write(&file, artifact).unwrap();
    let ran = dataperf([
        "--format",
        "json",
        "validate",
        benchmark,
        "--leaderboard",
        leaderboard,
        "--dataset",
        imported_by_id(benchmark).to_str().unwrap(),
        file.to_str().unwrap(),
    ]);
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
fn one_mistake_in_everything_is_named_once_on_the_papers_benchmarks() {
    let mut labels = submission("vision-selection", "open/near-enough/nearest_60.json");
    let renamed = labels.to_string();
    for label in labels
        .as_object_mut()
        .unwrap()
        .values_mut()
        .flat_map(|of| of.as_object_mut().unwrap().values_mut())
    {
        *label = json!(*label == json!(1));
    }
    let said = cause("vision-selection", "open", "labels.json", &labels.to_string());
    assert!(said.contains("is the number 0 or 1"), "{said}");
    let foreign = renamed.replace("\":0", ".jpg\":0").replace("\":1", ".jpg\":1");
    let said = cause("vision-selection", "open", "images.json", &foreign);
    assert!(
        said.contains("180 of the 180 listed ids") && said.contains("take away `.jpg` behind each"),
        "{said}"
    );

    let mut orders = submission("vision-debugging", "open/coin-flip/random.json");
    for image in orders
        .as_object_mut()
        .unwrap()
        .values_mut()
        .flat_map(|of| of.as_array_mut().into_iter().flatten())
    {
        *image = json!(image.as_u64().unwrap() + 1);
    }
    let said = cause("vision-debugging", "open", "orders.json", &orders.to_string());
    assert!(said.contains("subtract 1"), "{said}");

    let mut counts = submission("data-acquisition", "open/a-bit-of-all/uniform.json");
    for count in counts
        .as_object_mut()
        .unwrap()
        .values_mut()
        .flat_map(|of| of.as_array_mut().unwrap())
    {
        *count = json!(0.125);
    }
    let said = cause("data-acquisition", "open", "counts.json", &counts.to_string());
    assert!(said.contains("not shares of them"), "{said}");
}

#[test]
fn one_mistake_in_everything_is_named_once_on_own_data() {
    let mut order = submission("debugging", "tissue/ada/neighbours.json");
    for id in order["order"].as_array_mut().unwrap() {
        *id = json!(format!("train/{}", id.as_str().unwrap()));
    }
    let said = cause("debugging", "tissue", "order.json", &order.to_string());
    assert!(said.contains("take away `train/`"), "{said}");

    let sellers = json!({ "counts": { "North": 1, "South": 1, "West": 1 } });
    let said = cause("acquisition", "clinics", "sellers.json", &sellers.to_string());
    assert!(said.contains("capitals"), "{said}");

    let rows =
        fs::read_to_string(root().join("demo/curation/submissions/digits-set/bo/as-it-is.csv")).unwrap();
    let (header, lines) = rows.split_once('\n').unwrap();
    let numbered: Vec<String> = lines.lines().map(|line| format!("{line},7")).collect();
    let said = cause(
        "curation",
        "digits-set",
        "long.csv",
        &format!("{header}\n{}\n", numbered.join("\n")),
    );
    assert!(
        said.contains("give the first line a name for each column"),
        "{said}"
    );
    let named: Vec<String> = lines.lines().map(|line| format!("digit-{line}")).collect();
    let said = cause(
        "curation",
        "digits-set",
        "classes.csv",
        &format!("{header}\n{}\n", named.join("\n")),
    );
    assert!(said.contains("take away `digit-` before each"), "{said}");
}
