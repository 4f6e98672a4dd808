//! An organizer's configuration: all problems are reported at once.

use dataperf_collections::text::{
    Configuration, Contexts, ExampleId, Parameters, Target, Task, Validation, is_validated_by_chance,
};

use crate::{DOCUMENT, configuration};

fn refused(document: &str) -> Vec<(String, String)> {
    let rejection = Configuration::parse(document.as_bytes()).unwrap_err();
    let reasons = rejection
        .reasons()
        .iter()
        .map(|reason| (reason.code.clone(), reason.at.clone()));
    reasons.collect()
}

#[test]
fn omitted_settings_use_documented_defaults() {
    let parsed = configuration();
    assert_eq!(parsed.validation, Validation::default());
    assert_eq!((parsed.examples_a_day, parsed.max_chars), (100, 1_000));
    assert_eq!(
        parsed.targets["two"],
        Target::Http {
            url: "https://models.example".into(),
            secret: Some("TWO".into()),
            timeout_seconds: 10,
            batch: 16
        }
    );
    assert!(parsed.needs_context(Task::Qa) && !parsed.needs_context(Task::HateSpeech));
    assert_eq!(
        (
            parsed.denied(Task::Nli).len(),
            parsed.denied(Task::Sentiment).len(),
            parsed.denied(Task::HateSpeech).len()
        ),
        (1, 0, 0)
    );
    let written = serde_json::to_vec(&parsed).unwrap();
    assert_eq!(Configuration::parse(&written).unwrap(), parsed);
}

#[test]
fn all_errors_are_reported_together() {
    let unreadable = r#"{
        "tasks": {"nli": {"targets": "one"}, "poetry": {"targets": []}},
        "targets": {"one": {"kind": "linear"}, "two": {"kind": "oracle"}},
        "validation": {"equal": 3, "more": 1}, "examples_a_day": -1, "langauges": []
    }"#;
    let at: Vec<String> = refused(unreadable).into_iter().map(|(_, at)| at).collect();
    assert_eq!(
        at,
        [
            "/langauges",
            "/tasks/nli",
            "/tasks/poetry",
            "/targets/one",
            "/targets/two",
            "/validation",
            "/examples_a_day"
        ]
    );
    let unusable = r#"{
        "tasks": {"nli": {"targets": ["one", "one", "won"], "needs_context": false}, "qa": {"targets": [], "languages": ["en"]}},
        "targets": {
            "one": {"kind": "linear", "file": "models/../configuration.json"},
            "a/b": {"kind": "http", "url": "models.example", "timeout_seconds": 0, "batch": 1000, "secret": ""},
            "three": {"kind": "program", "file": "public/three.wasm", "max_fuel": 0}
        },
        "validation": {"equal": 2, "most": 5, "share_of_others": 1.5, "verdicts_a_day": 0},
        "examples_a_day": 0, "near_duplicate_from": 0, "min_chars": 9, "max_chars": 3, "languages": ["english"]
    }"#;
    let mut actual = refused(unusable);
    actual.sort();
    let expected = [
        ("bad_file", "/targets/one/file"),
        ("bad_file", "/targets/three/file"),
        ("bad_name", "/targets/a~1b"),
        ("bad_secret", "/targets/a~1b/secret"),
        ("bad_url", "/targets/a~1b/url"),
        ("duplicate_target", "/tasks/nli/targets/1"),
        ("needs_context", "/tasks/nli/needs_context"),
        ("out_of_range", "/examples_a_day"),
        ("out_of_range", "/max_chars"),
        ("out_of_range", "/near_duplicate_from"),
        ("out_of_range", "/targets/a~1b/batch"),
        ("out_of_range", "/targets/a~1b/timeout_seconds"),
        ("out_of_range", "/targets/three/max_fuel"),
        ("out_of_range", "/tasks/qa/targets"),
        ("out_of_range", "/validation/share_of_others"),
        ("out_of_range", "/validation/verdicts_a_day"),
        ("two_decisions", "/validation/equal"),
        ("unknown_language", "/languages/0"),
        ("unknown_language", "/tasks/qa/languages/0"),
        ("unknown_target", "/tasks/nli/targets/2"),
    ];
    let actual: Vec<(&str, &str)> = actual
        .iter()
        .map(|(code, at)| (code.as_str(), at.as_str()))
        .collect();
    assert_eq!(actual, expected);
    assert_eq!(
        refused("{}"),
        [
            ("missing_key".to_owned(), "/tasks".to_owned()),
            ("missing_key".to_owned(), "/targets".to_owned())
        ]
    );
    assert_eq!(refused("[]")[0].0, "bad_configuration");
    assert_eq!(refused(r#"{"tasks":{},"targets":{}}"#)[0].0, "no_tasks");
}

#[test]
fn participants_see_no_files_addresses_or_denied_terms() {
    let shown = serde_json::to_string(&Parameters::from_settings(&configuration())).unwrap();
    for secret in ["models/", "models.example", "TWO", "dogs"] {
        assert!(
            DOCUMENT.contains(secret) && !shown.contains(secret),
            "{secret}: {shown}"
        );
    }
    let boards: Vec<String> = Parameters::from_settings(&configuration())
        .leaderboards
        .into_iter()
        .map(|board| board.name)
        .collect();
    assert_eq!(boards, Task::ALL.map(|task| task.as_str().to_owned()));
}

#[test]
fn contexts_need_unique_ids_and_errors_name_lines() {
    let file = "{\"id\":\"a\",\"task\":\"nli\",\"text\":\"A horse.\"}\n\n{\"id\":\"b\",\"task\":\"qa\",\"text\":\"A mill.\"}\n";
    let contexts = Contexts::parse(file.as_bytes()).unwrap();
    assert_eq!(
        (
            contexts.len(),
            contexts.for_task(Task::Qa).count(),
            contexts.get("b").map(|context| context.text.as_str())
        ),
        (2, 1, Some("A mill."))
    );
    assert!(Contexts::parse(b"").unwrap().is_empty());
    let wrong = [
        r#"{"id":"a","task":"nli","text":"A horse."}"#,
        r#"{"id":"a","task":"nli","text":"A horse."}"#,
        r#"{"id":"a b","task":"poetry","text":""}"#,
        "{",
        r#"{"id":"c","task":"nli","text":"A horse.","label":"neutral"}"#,
    ]
    .join("\n");
    let rejection = Contexts::parse(wrong.as_bytes()).unwrap_err();
    let codes: Vec<&str> = rejection
        .reasons()
        .iter()
        .map(|reason| reason.code.as_str())
        .collect();
    assert_eq!(
        codes,
        [
            "duplicate_context",
            "bad_id",
            "unknown_task",
            "empty_text",
            "not_json",
            "unknown_key"
        ]
    );
}

#[test]
fn texts_repeating_earlier_ones_reach_no_rater() {
    let validation = Validation {
        most: 7,
        share_of_others: 0.5,
        ..Validation::default()
    };
    let ids: Vec<ExampleId> = (1..=40).map(|line| ExampleId::derive("a", line)).collect();
    let n_drawn = ids.iter().filter(|id| is_validated_by_chance(id, 0.5)).count();
    assert!(n_drawn > 0 && n_drawn < ids.len(), "{n_drawn}");
    for id in &ids {
        let by_chance = if is_validated_by_chance(id, 0.5) { 7 } else { 0 };
        assert_eq!(validation.n_raters(id, false, true), 7);
        assert_eq!(validation.n_raters(id, false, false), by_chance);
        assert_eq!(validation.n_raters(id, true, true), 0);
        assert_eq!(validation.n_raters(id, true, false), 0);
    }
}
