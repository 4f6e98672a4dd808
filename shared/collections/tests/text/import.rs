//! Adversarial Text's frozen data set and what is exported of a round, on disk.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use dataperf::Ending;
use dataperf::dataset::frozen::Manifest;
use dataperf_collections::common::offline::OTHER_BOARDS;
use dataperf_collections::text::export::{About, Export, JudgedExample, Row, RulesOfExamples};
use dataperf_collections::text::{
    Answer, BENCHMARK, CONFIGURATION_FILE, Configuration, DESCRIPTOR, Decision, Example, ExampleId, Gold,
    Judgement, SecretKey, Span, Task, Validation, import_text, known_rules, text_kit, write_text_export,
};
use dataperf_datasets::{ImportError, Silent, export_lines_kit};
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

/// The examples of a kit obey any rules of the organizer; if no tried text does, there is none.
#[test]
fn a_kits_examples_are_valid() {
    let contexts = "{\"id\":\"a\",\"task\":\"nli\",\"text\":\"Das Tor der alten Scheune ist grün. Es ist zu.\"}\n\
        {\"id\":\"b\",\"task\":\"qa\",\"text\":\" Die Mühle steht am Fluss, und eine Straße führt zu ihr.\"}\n";
    let tasks = "{nli: {targets: [a]}, qa: {targets: [a]}, sentiment: {targets: [a]}, hate-speech: {targets: [a], needs_context: false}}";
    for (rules, expected) in [
        ("languages: []", vec!["hate-speech", "nli", "qa", "sentiment"]),
        ("languages: [deu]", vec!["hate-speech", "nli", "qa", "sentiment"]),
        (
            "languages: [deu]\nmin_chars: 50",
            vec!["hate-speech", "qa", "sentiment"],
        ),
        (
            "languages: []\nmax_chars: 4",
            vec!["hate-speech", "nli", "qa", "sentiment"],
        ),
        ("languages: []\nmin_chars: 90", vec![]),
        (
            "languages: []\ndeny: [failure]",
            vec!["hate-speech", "nli", "qa", "sentiment"],
        ),
    ] {
        let configuration =
            format!("tasks: {tasks}\ntargets: {{a: {{kind: http, url: 'https://a.example'}}}}\n{rules}\n");
        let from = layout(&[
            ("configuration.yaml", &configuration),
            ("contexts.jsonl", contexts),
        ]);
        let out = from.path().join("out");
        let digest = import_text(from.path(), &out, &Silent).unwrap();
        let manifest = Manifest::parse(&fs::read(out.join("manifest.json")).unwrap(), BENCHMARK).unwrap();
        let kit = text_kit(&out, &manifest, digest).unwrap();
        let made: Vec<&str> = kit.examples.keys().map(String::as_str).collect();
        assert_eq!(made, expected, "{rules}");
        let known = known_rules(&out, &manifest, digest).unwrap();
        for (task, file) in &kit.examples {
            let verdict = known.verdict(task, file).unwrap();
            assert!(
                verdict.lines.iter().all(|line| line.status == Ending::Accepted),
                "{verdict:?}"
            );
            assert!(!verdict.metrics.contains_key(OTHER_BOARDS), "{verdict:?}");
        }
    }
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
fn participants_see_their_part_of_the_layout() {
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
    let whole = known_rules(&one, &manifest, digest).unwrap();
    let shown = scratch.path().join("shown");
    let kit = text_kit(&one, &manifest, digest).unwrap();
    let files = export_lines_kit(&one, &manifest, &kit, &shown)
        .unwrap()
        .unwrap()
        .files;
    for form in ["csv", "parquet"] {
        assert!(files.contains(&format!("data/contexts.{form}")), "{files:?}");
    }
    let others: Vec<&String> = files.iter().filter(|path| !path.starts_with("data/")).collect();
    assert_eq!(
        others,
        [
            "README.md",
            "examples/qa.jsonl",
            "examples/sentiment.jsonl",
            "notebook.ipynb",
            "public/contexts.jsonl",
            "public/rules.json",
            "starter.py",
        ]
    );
    for path in files.iter().map(String::as_str).chain(["manifest.json"]) {
        let bytes = fs::read(shown.join(path)).unwrap();
        let shown = String::from_utf8_lossy(&bytes);
        for secret in ["models/", "far.example", "KEY", "kitten"] {
            assert!(!shown.contains(secret), "`{path}`: {shown}");
        }
    }
    // the kit is a data set, with the rules that participants may know
    let manifest = Manifest::parse(&fs::read(shown.join("manifest.json")).unwrap(), BENCHMARK).unwrap();
    let known = known_rules(&shown, &manifest, digest).unwrap();
    assert!(!known.has_denied && known.rules.contexts.len() == 1);
    assert_eq!(text_kit(&shown, &manifest, digest).unwrap().guide, kit.guide);
    let line = br#"{"task": "sentiment", "text": "It is a kitten.", "label": "neutral"}"#;
    for (known_file, ending) in [(&known, Ending::Accepted), (&whole, Ending::Rejected)] {
        assert_eq!(known_file.verdict("sentiment", line).unwrap().status, ending);
    }
}

#[test]
fn all_errors_and_missing_files_are_reported_together() {
    let lacking = layout(&[("configuration.yaml", CONFIGURATION)]);
    let listed = problems(lacking.path());
    assert_eq!(listed.len(), 2, "{listed:?}");
    assert!(listed[0].contains("`qa` has no contexts") && listed[1].contains("`models/span.json`"));
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
        id: ExampleId::derive("s", n),
        annotator: format!("ada{}", n % 5),
        example: Example {
            task: Task::Qa,
            context_id: Some("mill".into()),
            text: format!("What is it, {n}?"),
            gold: span("mill is green"),
            why: "a comma, and a \"quote\"".into(),
        },
        context: Some("The mill is green.".into()),
        is_duplicate: false,
        is_fooling: true,
        answers: BTreeMap::from([("span".to_owned(), answer)]),
        fooled: BTreeMap::from([("span".to_owned(), true)]),
        verdicts: vec![
            ("vera".into(), Judgement::Correct),
            ("vito".into(), Judgement::Incorrect(Some(span("mill")))),
        ],
        decision: Some(Decision::Correct),
    }
}

#[test]
fn json_and_parquet_exports_write_all_or_nothing() {
    let key = SecretKey::new(&[7; 32]).unwrap();
    let judged = (0..50).map(judged).collect();
    let export = Export::build(judged, "spring", &key, &BTreeMap::new());
    let about = About {
        title: "Text".into(),
        exported_at: "2026-01-02T03:04:05Z".parse().unwrap(),
        rules: vec![RulesOfExamples {
            dataset: "sha256:0".into(),
            n_examples: 50,
            targets: BTreeMap::from([("span".to_owned(), "linear".to_owned())]),
            validation: Validation::default(),
        }],
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
        let read: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(read.len(), rows.len());
        let columns: BTreeMap<String, String> = read[0]
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
    let listed = problems(layout(&[("configuration.yaml", block)]).path());
    // it lacks contexts of two tasks, three models and three files of weights, and nothing is wrong with it
    assert_eq!(listed.len(), 8, "{listed:?}");
    assert!(
        listed
            .iter()
            .all(|problem| problem.contains(" has no contexts") || problem.ends_with("which is missing")),
        "{listed:?}"
    );
}
