//! `dataperf dynamic`: models are trained on exported rounds, queried, and compared.

use std::fs;
use std::path::Path;

use dataperf_collections::text::models::{Embed, EncoderSettings, Labelled, train_encoder};
use dataperf_collections::text::{Gold, Input, Task};
use serde_json::{Value, json};

use crate::support::project::{self, Ran, dataperf, text as arg};
use crate::support::words;

fn ran(args: &[&str]) -> Ran {
    project::ran(["dynamic"].iter().chain(args))
}

/// Lines of opinions on things: what is good is positive.
fn opinions(words: [&str; 3]) -> String {
    let things = [
        "film", "book", "meal", "hotel", "garden", "song", "train", "lecture",
    ];
    let lines = things.iter().flat_map(|thing| {
        words
            .iter()
            .zip(["positive", "neutral", "negative"])
            .map(move |(word, label)| {
                json!({"task": "sentiment", "text": format!("the {thing} was {word}"), "label": label})
                    .to_string()
            })
    });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// A round whose test set has two texts, as an export has it.
fn round(directory: &Path) {
    fs::create_dir(directory).unwrap();
    fs::write(
        directory.join("train.jsonl"),
        opinions(["superb", "middling", "dismal"]),
    )
    .unwrap();
    let row = |text: &str, label: &str| {
        json!({
            "id": "0123456789abcdef0123456789abcdef", "round": "spring", "task": "sentiment", "text": text, "label": label,
            "annotator": "annotator-1", "is_fooling": true, "is_verified": true, "split": "test",
        })
        .to_string()
    };
    let rows = [
        row("the museum was superb", "positive"),
        row("the museum was dismal", "negative"),
    ];
    fs::write(directory.join("test.jsonl"), rows.join("\n")).unwrap();
}

#[test]
fn the_next_model_trains_on_previous_rounds() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    fs::write(at("plain.jsonl"), opinions(["good", "ordinary", "bad"])).unwrap();
    round(&at("spring"));
    let (plain, spring, one, two) = (at("plain.jsonl"), at("spring"), at("r1.json"), at("r2.json"));
    ran(&["train", arg(&plain), "--out", arg(&one)]);
    let json = ["--format", "json", "train"];
    let output = ran(&[&json[..], &[arg(&plain), arg(&spring), "--out", arg(&two)]].concat()).json();
    assert_eq!(output["examples"], json!({"sentiment": 48}));
    // the same examples give the same bytes, and nothing is overwritten
    let again = at("again.json");
    ran(&["train", arg(&plain), arg(&spring), "--out", arg(&again)]);
    assert_eq!(fs::read(&two).unwrap(), fs::read(&again).unwrap());
    let refused = dataperf(["dynamic", "train", arg(&plain), "--out", arg(&two)]);
    refused.assert_refused("exists already");

    let second = format!("second={}", arg(&two));
    let text = [
        "--task",
        "sentiment",
        "--text",
        "the show was superb",
        "--label",
        "positive",
    ];
    let request = [
        "--format",
        "json",
        "try",
        "--model",
        arg(&one),
        "--model",
        &second,
    ];
    let rows = ran(&[&request[..], &text[..]].concat()).json();
    assert_eq!(
        (rows[0]["model"].as_str(), rows[1]["model"].as_str()),
        (Some("r1"), Some("second"))
    );
    assert_eq!(
        (rows[1]["answer"].as_str(), rows[1]["is_fooled"].as_bool()),
        (Some("positive"), Some(false))
    );
    assert!(rows[1]["probability"].as_f64().unwrap() > 0.34, "{rows}");
    // a file of lines, one of another task: the model knows nothing of it
    let lines = at("lines.jsonl");
    let other = json!({"task": "hate-speech", "text": "what a day"});
    fs::write(
        &lines,
        format!("{}{other}\n", opinions(["superb", "middling", "dismal"])),
    )
    .unwrap();
    let rows = ran(&["--format", "json", "try", arg(&lines), "--model", &second]).json();
    let rows = rows.as_array().unwrap();
    assert_eq!((rows.len(), rows[24]["answer"].clone()), (25, Value::Null));
    assert!(rows[..24].iter().all(|row| row["is_fooled"] == false), "{rows:?}");

    let compared = [
        "matrix",
        "--model",
        arg(&one),
        "--model",
        &second,
        "--round",
        arg(&spring),
    ];
    let matrix = ran(&[&["--format", "json"], &compared[..]].concat()).json();
    let cells = matrix["cells"].as_array().unwrap();
    assert_eq!(
        (
            cells.len(),
            cells[1]["model"].as_str(),
            cells[1]["n_wrong"].as_u64()
        ),
        (2, Some("second"), Some(0))
    );
    assert!(
        cells[0]["n_wrong"].as_u64() > Some(0),
        "the first model knows none of these words"
    );
    let csv = ran(&[&["--format", "csv"], &compared[..]].concat()).stdout;
    assert!(
        csv.starts_with("task,model,round,n,n_wrong,error,n_annotators,from,to\nsentiment,r1,spring,2,"),
        "{csv}"
    );
    let markdown = ran(&[&compared[..], &["--markdown"]].concat()).stdout;
    assert!(
        markdown.contains("| sentiment | spring (2) |") && markdown.contains("| second | 0.0 |"),
        "{markdown}"
    );
    assert!(ran(&compared).stdout.contains("second"));
}

#[test]
fn errors_in_a_file_are_reported_by_line() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    let (data, out) = (at("data.jsonl"), at("out.json"));
    let lines = [
        r#"{"task":"sentiment","text":"so good","label":"splendid"}"#,
        r#"{"task":"poetry","text":"so good","label":"positive"}"#,
        r#"{"task":"qa","text":"where?","context":"the mill","answer":{"start":3,"text":"mill"}}"#,
        r#"{"task":"qa","text":"where?","context":"the mill","answer":{"start":4,"text":"mill"}}"#,
        r#"{"task":"sentiment","text":"so good","answer":{"start":0,"text":"so"}}"#,
        "{",
    ];
    fs::write(&data, lines.join("\n")).unwrap();
    let refused = dataperf(["dynamic", "train", arg(&data), "--out", arg(&out)]);
    assert_eq!(refused.code, 1, "{refused:?}");
    for line in [1, 2, 3, 5, 6] {
        assert!(
            refused.stderr.contains(&format!("line {line}: ")),
            "{line}: {}",
            refused.stderr
        );
    }
    assert!(!refused.stderr.contains("line 4: ") && !out.exists());
    fs::write(&data, lines[3]).unwrap();
    let missing = dataperf(words!(
        "dynamic train {} --task nli --out {}",
        arg(&data),
        arg(&out)
    ));
    missing.assert_refused("no examples of `nli`");
    let (one, two) = (format!("m={}", arg(&data)), format!("m={}", arg(&out)));
    let twice = dataperf(words!(
        "dynamic matrix --model {one} --model {two} --round {}",
        arg(&data)
    ));
    twice.assert_refused("several are called `m`");
    let no_model = dataperf([
        "dynamic",
        "try",
        "--model",
        arg(&data),
        "--task",
        "sentiment",
        "--text",
        "so good",
    ]);
    no_model.assert_refused("can't use");
}

#[test]
fn the_simulated_campaign_is_printed() {
    let ran = project::ran(["--format", "json", "demo", "dynamic"]);
    let document = ran.json();
    for task in document["tasks"].as_array().unwrap() {
        let played = &task["by_rater_error"][1];
        assert_eq!(played["settings"]["rater_error"], 0.1);
        assert_eq!(played["rounds"].as_array().unwrap().len(), 3);
        assert_eq!(played["matrix"]["models"], json!(["r1", "r2", "r3", "r4"]));
    }
    let refused = dataperf(["demo", "dynamic", "--keep-running"]);
    refused.assert_refused("starts no cloud");
}

#[test]
fn a_sentence_transformer_head_requires_its_weights() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    let (plain, head, weights) = (at("plain.jsonl"), at("enc.json"), at("minilm"));
    fs::write(&plain, opinions(["good", "ordinary", "bad"])).unwrap();
    let labelled = |label: &str| Labelled {
        task: Task::Sentiment,
        input: Input {
            context: None,
            text: label.to_owned(),
        },
        gold: Gold::Label(label.to_owned()),
    };
    let examples: Vec<Labelled> = Task::Sentiment
        .labels()
        .iter()
        .map(|label| labelled(label))
        .collect();
    // the length of a text replaces a sentence transformer: no model runs here
    let embed: Embed = Box::new(|texts| Ok(texts.iter().map(|text| vec![text.len() as f32]).collect()));
    fs::write(
        &head,
        train_encoder(&examples, EncoderSettings::default(), &embed).unwrap(),
    )
    .unwrap();
    let message = |args: &[&str]| {
        let refused = dataperf(["dynamic"].iter().chain(args));
        assert_eq!(refused.code, 1, "{refused:?}");
        refused.stderr
    };
    let request = ["try", arg(&plain), "--model", arg(&head)];
    let without = message(&request);
    assert!(
        without.contains("name the directory of that by `--encoder DIR`"),
        "{without}"
    );
    let with = message(&[&request[..], &["--encoder", arg(&weights)]].concat());
    assert!(with.contains("config.json"), "{with}");
    fs::create_dir(&weights).unwrap();
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        fs::write(weights.join(file), "{}").unwrap();
    }
    let out = at("out.json");
    let train = message(&[
        "train",
        arg(&plain),
        "--encoder",
        arg(&weights),
        "--out",
        arg(&out),
    ]);
    assert!(
        train.contains(&format!("can't use `{}`", arg(&weights))) && !out.exists(),
        "{train}"
    );
}
