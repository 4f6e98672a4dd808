//! A rejection for many reasons names the one mistake behind them, on every benchmark.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::project::{dataperf, root};

/// The cause that `dataperf validate` names for an artifact.
fn cause(dataset: &Path, benchmark: &str, leaderboard: &str, name: &str, artifact: &str) -> String {
    let file = dataset.parent().unwrap().join(name);
    fs::write(&file, artifact).unwrap();
    let words = [
        "--format",
        "json",
        "validate",
        benchmark,
        "--leaderboard",
        leaderboard,
        "--dataset",
    ];
    let words = words.map(PathBuf::from).into_iter();
    let ran = dataperf(words.chain([dataset.to_owned(), file]));
    assert_eq!(ran.code, 2, "{ran:?}");
    let verdict = ran.json();
    let message = verdict["cause"]["message"].as_str();
    message
        .unwrap_or_else(|| panic!("no cause: {verdict}"))
        .to_owned()
}

/// The shipped data of a benchmark, frozen, and one of its submissions.
fn frozen(scratch: &Path, benchmark: &str, submission: &str) -> (PathBuf, Value) {
    let shipped = root().join("demo").join(benchmark);
    let out = scratch.join(benchmark);
    let words = ["dataset", "import", benchmark, "--from"]
        .map(PathBuf::from)
        .into_iter();
    let ran = dataperf(words.chain([shipped.clone(), "--out".into(), out.clone()]));
    assert_eq!(ran.code, 0, "{ran:?}");
    let text = fs::read(shipped.join("submissions").join(submission)).unwrap();
    (out, serde_json::from_slice(&text).unwrap_or_default())
}

#[test]
fn one_mistake_in_everything_is_named_once_on_the_papers_benchmarks() {
    let scratch = tempfile::tempdir().unwrap();

    let (dataset, mut labels) = frozen(
        scratch.path(),
        "vision-selection",
        "open/near-enough/nearest_60.json",
    );
    let renamed = labels.to_string();
    for label in labels
        .as_object_mut()
        .unwrap()
        .values_mut()
        .flat_map(|of| of.as_object_mut().unwrap().values_mut())
    {
        *label = json!(*label == json!(1));
    }
    let said = cause(
        &dataset,
        "vision-selection",
        "open",
        "labels.json",
        &labels.to_string(),
    );
    assert!(said.contains("is the number 0 or 1"), "{said}");
    let foreign = renamed.replace("\":0", ".jpg\":0").replace("\":1", ".jpg\":1");
    let said = cause(&dataset, "vision-selection", "open", "images.json", &foreign);
    assert!(
        said.contains("180 of the 180 listed ids") && said.contains("take away `.jpg` behind each"),
        "{said}"
    );

    let (dataset, mut orders) = frozen(scratch.path(), "vision-debugging", "open/coin-flip/random.json");
    for image in orders
        .as_object_mut()
        .unwrap()
        .values_mut()
        .flat_map(|of| of.as_array_mut().into_iter().flatten())
    {
        *image = json!(image.as_u64().unwrap() + 1);
    }
    let said = cause(
        &dataset,
        "vision-debugging",
        "open",
        "orders.json",
        &orders.to_string(),
    );
    assert!(said.contains("subtract 1"), "{said}");

    let (dataset, mut counts) = frozen(
        scratch.path(),
        "data-acquisition",
        "open/a-bit-of-all/uniform.json",
    );
    for count in counts
        .as_object_mut()
        .unwrap()
        .values_mut()
        .flat_map(|of| of.as_array_mut().unwrap())
    {
        *count = json!(0.125);
    }
    let said = cause(
        &dataset,
        "data-acquisition",
        "open",
        "counts.json",
        &counts.to_string(),
    );
    assert!(said.contains("not shares of them"), "{said}");
}

#[test]
fn one_mistake_in_everything_is_named_once_on_own_data() {
    let scratch = tempfile::tempdir().unwrap();

    let (dataset, mut order) = frozen(scratch.path(), "debugging", "tissue/ada/neighbours.json");
    for id in order["order"].as_array_mut().unwrap() {
        *id = json!(format!("train/{}", id.as_str().unwrap()));
    }
    let said = cause(&dataset, "debugging", "tissue", "order.json", &order.to_string());
    assert!(said.contains("take away `train/`"), "{said}");

    let (dataset, _) = frozen(scratch.path(), "acquisition", "clinics/bo/a-bit-of-all.json");
    let sellers = json!({ "counts": { "North": 1, "South": 1, "West": 1 } });
    let said = cause(
        &dataset,
        "acquisition",
        "clinics",
        "sellers.json",
        &sellers.to_string(),
    );
    assert!(said.contains("capitals"), "{said}");

    let (dataset, _) = frozen(scratch.path(), "curation", "digits-set/bo/as-it-is.csv");
    let rows =
        fs::read_to_string(root().join("demo/curation/submissions/digits-set/bo/as-it-is.csv")).unwrap();
    let (header, lines) = rows.split_once('\n').unwrap();
    let numbered: Vec<String> = lines.lines().map(|line| format!("{line},7")).collect();
    let said = cause(
        &dataset,
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
        &dataset,
        "curation",
        "digits-set",
        "classes.csv",
        &format!("{header}\n{}\n", named.join("\n")),
    );
    assert!(said.contains("take away `digit-` before each"), "{said}");
}
