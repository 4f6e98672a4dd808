//! `dataperf dynamic models`: the programs of examples/closed/ that answer texts, on a round that is written here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::run;
use crate::program;

fn example(name: &str) -> PathBuf {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/closed");
    examples.join(format!("{name}-rust.wasm"))
}

/// An exported round's test set: only what the command reads of it, and what an export always has.
fn round(scratch: &TempDir, name: &str, seed: usize) -> String {
    let names = ["Ada", "Peter", "Mary", "Greg"];
    let lines = (0..40).map(|nth| {
        let person = names[(nth + seed) % names.len()];
        let context = format!("In {} {person} saw a \"horse\" in Lima.", 1900 + nth);
        let (task, context, text, gold) = match nth % 4 {
            0 => ("nli", Some(context), format!("{person} saw a horse."), json!({"label": "entailment"})),
            1 => ("nli", Some(context), format!("{person} never saw a horse."), json!({"label": "contradiction"})),
            2 => {
                let answer = json!({"answer": {"start": 3, "text": (1900 + nth).to_string()}});
                ("qa", Some(context), format!("When did {person} see the animal?"), answer)
            }
            _ => ("sentiment", None, format!("I would call {person} a wonderful guest."), json!({"label": "positive"})),
        };
        let mut line = json!({
            "id": format!("{seed:016x}{nth:016x}"), "round": name, "task": task, "text": text, "annotator": "someone", "is_fooling": true,
            "is_verified": true, "split": "test",
        });
        if let Some(context) = context {
            line["context"] = context.into();
        }
        for (key, value) in gold.as_object().unwrap() {
            line[key] = value.clone();
        }
        line.to_string()
    });
    let directory = scratch.path().join(name);
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("test.jsonl"), lines.collect::<Vec<_>>().join("\n")).unwrap();
    directory.to_str().unwrap().to_owned()
}

fn models<'a>(words: impl IntoIterator<Item = &'a str>) -> Output {
    run(["dynamic", "models"].into_iter().chain(words))
}

#[test]
fn programs_compare_by_answers_and_resources() {
    let scratch = tempfile::tempdir().unwrap();
    let (one, other) = (round(&scratch, "r1", 0), round(&scratch, "r2", 1));
    let (constant, overlap) = (example("text_constant"), example("text_overlap"));
    let (constant, overlap) = (constant.to_str().unwrap(), overlap.to_str().unwrap());
    let all = format!("--round {one} --round {other} --program {constant} --program {overlap}");
    let documents = |more: &str| {
        let ran = models(format!("--format json {all}{more}").split(' '));
        assert!(ran.status.success(), "{ran:?}");
        serde_json::from_slice::<Value>(&ran.stdout).unwrap()
    };
    let first = documents("");
    let model_one = |document: &Value, name: &str| {
        let models = document["models"].as_array().unwrap();
        models.iter().find(|model| model["name"] == name).unwrap().clone()
    };
    let (better, worse) = (
        model_one(&first, "text_overlap-rust"),
        model_one(&first, "text_constant-rust"),
    );
    assert_eq!(
        (&better["rank"], &worse["rank"]),
        (&json!(1), &json!(2)),
        "{first:#}"
    );
    let why = first["why_no_intervals"].as_str().unwrap_or_default();
    assert!(why.contains("annotator"), "{first:#}");
    assert_eq!(
        worse["figures"]["performance"],
        json!(0.0),
        "what is neutral is in no round"
    );
    assert!(
        better["figures"]["performance"].as_f64() > Some(70.0),
        "{better:#}"
    );
    assert_eq!(worse["figures"]["robustness"], json!(100.0));
    assert_eq!(
        (&better["is_on_front"], &worse["is_on_front"]),
        (&json!(true), &json!(true))
    );
    assert!(worse["figures"]["fuel"].as_f64() < better["figures"]["fuel"].as_f64());
    // both have as much memory, and a figure that is equal for all makes Dynabench's score infinite
    assert_eq!(worse["figures"]["memory"], better["figures"]["memory"]);
    assert!(worse["dynascore_2021"].is_null());
    assert!(
        first["runs"][0]["output"]
            .as_str()
            .unwrap()
            .starts_with("sha256:")
    );
    // 80 examples, most of them also misspelt and with other people
    assert_eq!(first["n_inputs"], json!(240));
    assert_eq!(first, documents(""), "it is not the same again");
    let alike = documents(" --weights 0,1,1,0,0");
    assert_eq!(model_one(&alike, "text_constant-rust")["rank"], json!(1));
    let one_alone = models(["--format", "json", "--round", &one, "--program", constant]);
    let one_alone: Value = serde_json::from_slice(&one_alone.stdout).unwrap();
    assert!(one_alone["models"][0]["dynascore_2021"].is_null());
    let shown = models(all.split(' '));
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(
        shown.contains("text_overlap-rust") && shown.contains("240 inputs"),
        "{shown}"
    );
}

#[test]
fn program_inputs_reveal_no_labels_or_authors() {
    let scratch = tempfile::tempdir().unwrap();
    let one = round(&scratch, "r1", 0);
    let data = scratch.path().join("data");
    let ran = models(["--round", &one, "--data", data.to_str().unwrap()]);
    assert!(ran.status.success(), "{ran:?}");
    let inputs = fs::read_to_string(data.join("inputs.jsonl")).unwrap();
    assert_eq!(inputs.lines().count(), 120);
    for word in ["entailment", "someone", "r1", "is_fooling", "0000000000000000"] {
        assert!(!inputs.contains(word), "{word}");
    }
    let task: Value = serde_json::from_str(&fs::read_to_string(data.join("task.json")).unwrap()).unwrap();
    assert_eq!(
        task["labels"]["nli"],
        json!(["entailment", "neutral", "contradiction"])
    );
    let again = models(["--round", &one, "--data", data.to_str().unwrap()]);
    assert_eq!(again.status.code(), Some(1), "what is there is not written over");
}

#[test]
fn an_impossible_comparison_gives_its_reason() {
    let scratch = tempfile::tempdir().unwrap();
    let one = round(&scratch, "r1", 0);
    let module = |name: &str, data: &str, body: &str| {
        let path = scratch.path().join(name);
        fs::write(&path, wat::parse_str(program(data, body)).unwrap()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let loops = module("loops.wasm", "", "(loop $again (br $again))");
    let says_little = module(
        "says_little.wasm",
        "{\\22answers\\22: {}}",
        "(call $say (i32.const 1) (i32.const 15))",
    );
    let refused = |words: String| {
        let ran = models(words.split(' '));
        assert_eq!(ran.status.code(), Some(1), "{ran:?}");
        String::from_utf8(ran.stderr).unwrap()
    };
    let both = refused(format!(
        "--round {one} --program {loops} --program {says_little} --max-fuel 1000000"
    ));
    assert!(
        both.contains("loops.wasm") && both.contains("all of its fuel"),
        "{both}"
    );
    assert!(both.contains("120 of 120 inputs have no answer"), "{both}");
    let rates = refused(format!("--round {one} --program {loops} --rates 1,0,5,5"));
    assert!(rates.contains("the rate `memory` is 0"), "{rates}");
    let rates = refused(format!("--round {one} --program {loops} --rates 1,2"));
    assert!(rates.contains("have to be 4"), "{rates}");
    let weights = refused(format!("--round {one} --program {loops} --weights 1,2,3,4,-5"));
    assert!(
        weights.contains("have to be 5 numbers from 0 to 1000000"),
        "{weights}"
    );
}
