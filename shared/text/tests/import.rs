//! Adversarial Text's frozen data set and what is exported of a round, on disk.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use dataperf::frozen::Manifest;
use dataperf_datasets::{ImportError, Silent, export_public};
use dataperf_text::export::{About, Export, JudgedExample, Row};
use dataperf_text::{
    Answer, BENCHMARK, CONFIGURATION_FILE, Configuration, Contexts, DESCRIPTOR, Decision, Example, ExampleId,
    Gold, Said, SecretKey, Span, Task, Validation, import_text, write_text_export,
};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use tempfile::TempDir;

const CONFIGURATION: &str = "tasks:\n  qa: {targets: [span]}\n  sentiment: {targets: [far, span]}\ntargets:\n  \
    span: {kind: linear, file: models/span.json}\n  far: {kind: http, url: 'https://far.example', secret: KEY}\ndeny: [kitten]\n";

fn layout(files: &[(&str, &str)]) -> TempDir {
    let scratch = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = scratch.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    scratch
}

fn problems(from: &Path) -> Vec<String> {
    let out = from.join("out");
    let Err(ImportError::Refused { problems, .. }) = import_text(from, &out, &Silent) else {
        panic!("it is imported")
    };
    assert!(!out.exists(), "nothing is half-written");
    problems
}

#[test]
fn a_layout_is_frozen_and_participants_see_their_part_of_it() {
    let from = layout(&[
        ("configuration.yaml", CONFIGURATION),
        (
            "contexts.jsonl",
            "{\"id\":\"mill\",\"task\":\"qa\",\"text\":\"The mill is green.\"}\n",
        ),
        ("models/span.json", "{\"secret\":1}"),
    ]);
    let scratch = tempfile::tempdir().unwrap();
    let (one, two) = (scratch.path().join("one"), scratch.path().join("two"));
    let digest = import_text(from.path(), &one, &Silent).unwrap();
    assert_eq!(import_text(from.path(), &two, &Silent).unwrap(), digest);
    let manifest = Manifest::parse(&fs::read(one.join("manifest.json")).unwrap(), BENCHMARK).unwrap();
    let boards: Vec<String> = (DESCRIPTOR.leaderboards)(&manifest)
        .unwrap()
        .into_iter()
        .map(|board| board.name)
        .collect();
    assert_eq!(boards, ["qa", "sentiment"]);
    let configuration = Configuration::parse(&fs::read(one.join(CONFIGURATION_FILE)).unwrap()).unwrap();
    assert_eq!(configuration.targets_of(Task::Qa), ["span"]);
    let shown = scratch.path().join("shown");
    let mut files = export_public(&one, &manifest, &shown).unwrap();
    files.sort();
    assert_eq!(files, ["contexts.jsonl", "rules.json"]);
    let public = fs::read_to_string(shown.join("rules.json")).unwrap() + &manifest.parameters.to_string();
    for secret in ["models/", "far.example", "KEY", "kitten"] {
        assert!(!public.contains(secret), "{public}");
    }
}

#[test]
fn everything_that_is_wrong_or_missing_is_said_at_once() {
    let lacking = layout(&[("configuration.yaml", CONFIGURATION)]);
    let said = problems(lacking.path());
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("no context for `qa`") && said[1].contains("`models/span.json`"));
    let wrong = layout(&[(
        "configuration.yaml",
        "tasks: {nli: {targets: [a]}}\ntargets: {}\nexamples_a_day: 0\n",
    )]);
    assert_eq!(problems(wrong.path()).len(), 2);
    let contexts = layout(&[
        ("configuration.yaml", CONFIGURATION),
        ("contexts.jsonl", "{}\n[]\n"),
    ]);
    assert_eq!(problems(contexts.path()).len(), 4);
    assert!(problems(layout(&[]).path())[0].contains("it has no configuration"));
    let encoder = "tasks: {sentiment: {targets: [e]}}\ntargets: {e: {kind: encoder, file: models/e.json}}\n";
    assert_eq!(
        problems(layout(&[("configuration.yaml", encoder)]).path()).len(),
        4,
        "a head and weights"
    );
}

fn judged(n: usize) -> JudgedExample {
    let span = |text: &str| {
        Gold::Span(Span {
            start: 4,
            text: text.into(),
        })
    };
    let answer = Answer {
        gold: span("mill"),
        probabilities: BTreeMap::from([("confidence".to_owned(), 0.5)]),
    };
    JudgedExample {
        id: ExampleId::of("s", n),
        annotator: format!("ada{}", n % 5),
        example: Example {
            task: Task::Qa,
            context_id: Some("mill".into()),
            text: format!("What is it, {n}?"),
            gold: span("mill is green"),
            why: "a comma, and a \"quote\"".into(),
        },
        is_duplicate: false,
        is_fooling: true,
        answers: BTreeMap::from([("span".to_owned(), answer)]),
        fooled: BTreeMap::from([("span".to_owned(), true)]),
        verdicts: vec![
            ("vera".into(), Said::Correct),
            ("vito".into(), Said::Incorrect(Some(span("mill")))),
        ],
        decision: Some(Decision::Correct),
    }
}

#[test]
fn a_round_is_exported_as_json_lines_and_as_parquet_all_or_nothing() {
    let contexts =
        Contexts::parse(b"{\"id\":\"mill\",\"task\":\"qa\",\"text\":\"The mill is green.\"}").unwrap();
    let key = SecretKey::new(&[7; 32]).unwrap();
    let judged = (0..50).map(judged).collect();
    let export = Export::of(judged, "spring", &contexts, &key, &BTreeMap::new());
    let about = About {
        title: "Text".into(),
        exported_at: "2026-01-02T03:04:05Z".parse().unwrap(),
        dataset: "sha256:0".into(),
        targets: BTreeMap::from([("span".to_owned(), "linear".to_owned())]),
        validation: Validation::default(),
        licence: "CC0".into(),
        simulated: Some("a grammar did".into()),
    };
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("out");
    write_text_export(&export, &about, &out).unwrap();
    let mut n_rows = 0;
    for part in ["train", "dev", "test"] {
        let lines = fs::read_to_string(out.join(format!("{part}.jsonl"))).unwrap();
        let rows: Vec<Row> = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert!(!rows.is_empty() && rows.iter().all(|row| row.split.as_str() == part));
        let reader =
            SerializedFileReader::new(File::open(out.join(format!("{part}.parquet"))).unwrap()).unwrap();
        let found: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(found.len(), rows.len());
        let columns: BTreeMap<String, String> = found[0]
            .get_column_iter()
            .map(|(name, field)| (name.clone(), field.to_string()))
            .collect();
        assert_eq!(columns["answer"], "\"mill is green\"");
        assert_eq!(
            (columns["answer_start"].as_str(), columns["label"].as_str()),
            ("4", "null")
        );
        n_rows += rows.len();
    }
    assert_eq!(n_rows, 50);
    let provenance: serde_json::Value =
        serde_json::from_slice(&fs::read(out.join("provenance.json")).unwrap()).unwrap();
    assert_eq!(
        (
            provenance["round"].as_str(),
            provenance["counts"]["qa"]["n_submitted"].as_u64()
        ),
        (Some("spring"), Some(50))
    );
    let sheet = fs::read_to_string(out.join("README.md")).unwrap();
    assert!(sheet.contains("No people wrote these texts") && !sheet.contains("vera"));
    fs::remove_file(out.join("README.md")).unwrap();
    assert!(matches!(
        write_text_export(&export, &about, &out),
        Err(ImportError::Occupied(_))
    ));
    assert!(
        !out.join("README.md").exists(),
        "nothing is written beside what is there"
    );
}

#[test]
fn the_configuration_in_the_documents_can_be_used() {
    let document = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/dynamic.md"));
    let block = document
        .split("```yaml")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let said = problems(layout(&[("configuration.yaml", block)]).path());
    // it lacks contexts of two tasks, three models and three files of weights, and nothing is wrong with it
    assert_eq!(said.len(), 8, "{said:?}");
    assert!(
        said.iter().all(|problem| problem.starts_with("there is no ")),
        "{said:?}"
    );
}
