//! The form of lines: each has its outcome, and a wrong one all of its reasons.

use std::collections::BTreeMap;

use dataperf::LineOutcome;
use dataperf_collections::common::text::canonical;
use dataperf_collections::text::{
    Example, Gold, Judgement, LineItem, RaterFinding, Span, Task, Verdict, read,
};

use crate::rules;

fn outcomes<T: LineItem<Rules = dataperf_collections::text::Rules>>(
    file: &str,
) -> Vec<Result<T, Vec<(String, String)>>> {
    let lines = read::<T>(file.as_bytes(), &rules()).unwrap();
    let outcome = |outcome: Result<T, dataperf::Rejection>| {
        outcome.map_err(|rejection| {
            let reasons = rejection
                .reasons()
                .iter()
                .map(|reason| (reason.code.clone(), reason.at.clone()));
            reasons.collect()
        })
    };
    lines.into_iter().map(|line| outcome(line.outcome)).collect()
}

/// The codes and places for which the only line is refused.
fn refused<T: LineItem<Rules = dataperf_collections::text::Rules>>(line: &str) -> Vec<(String, String)> {
    let mut outcomes = outcomes::<T>(line);
    assert_eq!(outcomes.len(), 1, "{line}");
    outcomes.remove(0).err().unwrap_or_default()
}

fn example(line: &str) -> Example {
    outcomes::<Example>(line).remove(0).unwrap()
}

#[test]
fn examples_of_each_task_are_read() {
    let nli = example(
        r#"{"task":"nli","context_id":"barn","text":" An animal  is\tindoors. ","label":"entailment"}"#,
    );
    assert_eq!(
        (nli.task, nli.text.as_str()),
        (Task::Nli, "An animal is indoors.")
    );
    assert_eq!(
        nli.input(&rules().contexts).context.as_deref(),
        Some("A horse stands in the red barn.")
    );
    let question = "Where does the road lead?";
    let qa = example(&format!(
        r#"{{"task":"qa","context_id":"road","text":"{question}","answer":{{"start":49,"text":"green mill"}},"why":"a place"}}"#
    ));
    assert_eq!(
        qa.gold,
        Gold::Span(Span {
            start: 49,
            text: "green mill".into()
        })
    );
    let sentiment =
        example(r#"{"task":"sentiment","text":"I would not say that it was bad","label":"positive"}"#);
    assert_eq!((sentiment.context_id, sentiment.why.as_str()), (None, ""));
    // what is kept is what was uploaded
    let line = serde_json::to_string(&qa).unwrap();
    assert_eq!(example(&line), qa);
    assert_eq!(serde_json::from_str::<Example>(&line).unwrap(), qa);
}

#[test]
fn each_wrong_line_gets_its_own_reasons() {
    let file = [
        r#"{"task":"nli","context_id":"barn","text":"An animal is indoors","label":"entailment"}"#,
        r#"{"task":"poetry","text":"An animal is indoors","label":"entailment"}"#,
        r#"{"task":"nli","context_id":"stable","text":"An animal is indoors","label":"true"}"#,
        r#"{"task":"nli","context_id":"road","text":"An animal is indoors","label":"neutral"}"#,
        r#"{"task":"nli","text":"An animal is indoors","label":"neutral","answer":{"start":0,"text":"A"}}"#,
        r#"{"task":"sentiment","context_id":"barn","text":"It is fine with me","label":"neutral"}"#,
        "null",
        "{",
        r#"{"task":"hate-speech","text":"What a day","label":"not-hateful","why":7}"#,
    ]
    .join("\n");
    let actual: Vec<Vec<(String, String)>> = outcomes::<Example>(&file)
        .into_iter()
        .map(|outcome| outcome.err().unwrap_or_default())
        .collect();
    let expected: [&[(&str, &str)]; 9] = [
        &[],
        &[("unknown_task", "line 2 /task")],
        &[
            ("unknown_context", "line 3 /context_id"),
            ("unknown_label", "line 3 /label"),
        ],
        &[("other_task", "line 4 /context_id")],
        &[
            ("missing_key", "line 5 /context_id"),
            ("unknown_key", "line 5 /answer"),
        ],
        &[("unknown_key", "line 6 /context_id")],
        &[("wrong_type", "line 7")],
        &[("not_json", "line 8 column 1")],
        &[("wrong_type", "line 9 /why")],
    ];
    for (actual, expected) in actual.iter().zip(expected) {
        let actual: Vec<(&str, &str)> = actual
            .iter()
            .map(|(code, at)| (code.as_str(), at.as_str()))
            .collect();
        assert_eq!(actual, expected);
    }
}

#[test]
fn answer_spans_match_their_context_letter_by_letter() {
    let judge = |answer: &str| {
        refused::<Example>(&format!(
            r#"{{"task":"qa","context_id":"road","text":"When did it begin?","answer":{answer}}}"#
        ))
    };
    let is = |code: &str, at: &str| vec![(code.to_owned(), format!("line 1 {at}"))];
    assert!(
        judge(r#"{"start":17,"text":"1821"}"#).is_empty(),
        "`Ä` is one character"
    );
    assert_eq!(
        judge(r#"{"start":18,"text":"1821"}"#),
        is("not_in_context", "/answer")
    );
    assert_eq!(
        judge(r#"{"start":17,"text":"1822"}"#),
        is("not_in_context", "/answer")
    );
    assert_eq!(
        judge(r#"{"start":58,"text":"1821"}"#),
        is("outside_context", "/answer")
    );
    let far = format!(r#"{{"start":{},"text":"1821"}}"#, u64::MAX);
    assert_eq!(judge(&far), is("outside_context", "/answer"));
    assert_eq!(
        judge(r#"{"start":-1,"text":"1821"}"#),
        is("wrong_type", "/answer/start")
    );
    assert_eq!(
        judge(r#"{"start":17,"text":""}"#),
        is("empty_text", "/answer/text")
    );
    assert_eq!(
        judge(r#"{"start":17,"text":"1821","end":21}"#),
        is("unknown_key", "/answer/end")
    );
    assert_eq!(judge("null"), is("missing_key", "/answer"));
    assert_eq!(judge("\"1821\""), is("wrong_type", "/answer"));
}

/// `road`'s context is `Der Ärger begann 1821. The old road leads to the green mill.`
#[test]
fn a_unique_answer_span_needs_no_position() {
    let line = |answer: &str| {
        format!(r#"{{"task":"qa","context_id":"road","text":"When did it begin?","answer":{answer}}}"#)
    };
    let gold = |answer: &str| example(&line(answer)).gold;
    let span = |start, text: &str| {
        Gold::Span(Span {
            start,
            text: text.into(),
        })
    };
    assert_eq!(
        gold(r#"{"text":"1821"}"#),
        span(17, "1821"),
        "`Ä` is one character"
    );
    assert_eq!(gold(r#"{"text":"Ärger"}"#), span(4, "Ärger"));
    assert_eq!(gold(r#"{"text":"ad","start":33}"#), span(33, "ad"));
    let is = |code: &str| [(code.to_owned(), "line 1 /answer".to_owned())];
    assert_eq!(refused::<Example>(&line(r#"{"text":"ad"}"#)), is("missing_start"));
    assert_eq!(
        refused::<Example>(&line(r#"{"text":"1822"}"#)),
        is("not_in_context")
    );
    let unknown =
        r#"{"task":"qa","context_id":"street","text":"When did it begin?","answer":{"text":"1821"}}"#;
    assert_eq!(refused::<Example>(unknown)[0].0, "unknown_context");
    // a verdict's context is not known when the line is read
    let verdict = r#"{"example":"0123456789abcdef0123456789abcdef","answer":{"text":"1821"}}"#;
    assert_eq!(
        refused::<Verdict>(verdict),
        [("missing_key".to_owned(), "line 1 /answer/start".to_owned())]
    );
}

#[test]
fn denied_terms_and_other_languages_are_refused() {
    let judge = |task: &str, label: &str, text: &str| {
        let line = serde_json::json!({"task": task, "text": text, "label": label}).to_string();
        refused::<Example>(&line)
            .into_iter()
            .map(|(code, _)| code)
            .collect::<Vec<_>>()
    };
    let nli = serde_json::json!({"task": "nli", "context_id": "barn", "text": "There are d0gs\u{200b} indoors", "label": "neutral"});
    assert_eq!(
        refused::<Example>(&nli.to_string())[0].0,
        "denied_term",
        "in any spelling"
    );
    // the first task's own list is empty, the second has none unless it says so
    assert!(judge("sentiment", "positive", "I like dogs indoors").is_empty());
    assert!(judge("hate-speech", "not-hateful", "I like dogs indoors").is_empty());
    assert_eq!(
        judge(
            "sentiment",
            "positive",
            "das ist wirklich ein ganz und gar schöner Tag"
        ),
        ["foreign_language"]
    );
    assert_eq!(judge("sentiment", "positive", "ok"), ["text_too_short"]);
    // nothing is left of characters that can't be seen
    assert_eq!(
        judge(
            "sentiment",
            "positive",
            "\u{202e}\u{200b}\u{2066}\u{200d}\u{feff}x"
        ),
        ["text_too_short"]
    );
    assert_eq!(
        example(r#"{"task":"sentiment","text":"so\u200b \u202egood","label":"positive"}"#).text,
        "so good"
    );
    assert_eq!(canonical("so\u{200b} \u{202e}good"), "so good");
}

#[test]
fn too_long_texts_are_refused_by_length() {
    let long = "very ".repeat(300) + "good";
    let line = serde_json::json!({"task": "sentiment", "text": long, "label": "positive"}).to_string();
    assert_eq!(
        refused::<Example>(&line),
        [("too_long".to_owned(), "line 1 /text".to_owned())]
    );
    let megabyte = "a".repeat(1 << 20);
    let line = serde_json::json!({"task": "sentiment", "text": megabyte, "label": "positive"}).to_string();
    let file = format!(
        "{line}\n{}",
        r#"{"task":"sentiment","text":"so good","label":"positive"}"#
    );
    let outcomes = outcomes::<Example>(&file);
    assert_eq!(
        outcomes[0].as_ref().unwrap_err(),
        &[("line_too_long".to_owned(), "line 1".to_owned())]
    );
    assert!(outcomes[1].is_ok());
}

#[test]
fn a_verdict_names_the_correct_label() {
    let id = "0123456789abcdef0123456789abcdef";
    let finding = |rest: &str| {
        outcomes::<Verdict>(&format!(r#"{{"example":"{id}",{rest}}}"#))
            .remove(0)
            .unwrap()
            .found
    };
    let nli =
        example(r#"{"task":"nli","context_id":"barn","text":"An animal is indoors","label":"entailment"}"#);
    let judge = |finding: &RaterFinding, example: &Example| {
        let message = finding.about(
            example,
            example.input(&rules().contexts).context.as_deref(),
            "line 1",
        );
        message.map_err(|rejection| rejection.reasons()[0].code.clone())
    };
    let label = |label: &str| Gold::Label(label.into());
    assert_eq!(
        judge(&finding(r#""label":"entailment""#), &nli),
        Ok(Judgement::Correct)
    );
    assert_eq!(
        judge(&finding(r#""label":"neutral""#), &nli),
        Ok(Judgement::Incorrect(Some(label("neutral"))))
    );
    assert_eq!(
        judge(&finding(r#""label":"positive""#), &nli),
        Err("unknown_label".into())
    );
    assert_eq!(
        judge(&finding(r#""answer":null"#), &nli),
        Err("missing_key".into())
    );
    assert_eq!(
        judge(&finding(r#""answer":{"start":0,"text":"A"}"#), &nli),
        Err("no_answers".into())
    );
    assert_eq!(
        judge(&finding(r#""flagged":" a  name ""#), &nli),
        Ok(Judgement::Flagged("a name".into()))
    );
    let qa = example(
        r#"{"task":"qa","context_id":"road","text":"Where does the road lead?","answer":{"start":49,"text":"green mill"}}"#,
    );
    let mill = finding(r#""answer":{"start":45,"text":"the green mill"}"#);
    assert_eq!(judge(&mill, &qa), Ok(Judgement::Correct));
    let year = finding(r#""answer":{"start":17,"text":"1821"}"#);
    assert!(matches!(judge(&year, &qa), Ok(Judgement::Incorrect(Some(_)))));
    assert_eq!(
        judge(&finding(r#""answer":null"#), &qa),
        Ok(Judgement::Incorrect(None))
    );
    assert_eq!(
        judge(&finding(r#""answer":{"start":0,"text":"1821"}"#), &qa),
        Err("not_in_context".into())
    );
    assert_eq!(
        judge(&finding(r#""label":"neutral""#), &qa),
        Err("unknown_label".into())
    );
    for (line, codes) in [
        (r#"{"example":"7","label":"neutral"}"#, &["bad_example"][..]),
        (r#"{"label":"maybe"}"#, &["missing_key", "unknown_label"]),
        (
            r#"{"example":"0123456789abcdef0123456789abcdef","verdict":"correct"}"#,
            &["missing_key", "unknown_key"],
        ),
        (
            r#"{"example":"0123456789abcdef0123456789abcdef","flagged":"","label":"neutral"}"#,
            &["empty_text", "unknown_key"],
        ),
    ] {
        let actual: Vec<String> = refused::<Verdict>(line)
            .into_iter()
            .map(|(code, _)| code)
            .collect();
        assert_eq!(actual, codes, "{line}");
    }
}

#[test]
fn the_verdicts_in_the_documents_are_read() {
    let document = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/dynamic.md"));
    let (_, rest) = document.split_once("## For raters").unwrap();
    let block = rest.split("```").nth(1).unwrap().trim_start_matches("json");
    let findings: Vec<RaterFinding> = outcomes::<Verdict>(block.trim())
        .into_iter()
        .map(|outcome| outcome.unwrap().found)
        .collect();
    assert_eq!(findings.len(), 4);
    assert!(findings.contains(&RaterFinding::Right(None)) && matches!(findings[3], RaterFinding::Flagged(_)));
}

#[test]
fn one_mistake_in_many_lines_has_one_cause() {
    let cause = |lines: &[String]| {
        let digest = dataperf::Digest::compute(b"");
        let read = read::<Example>(lines.join("\n").as_bytes(), &rules()).unwrap();
        let outcomes = read.into_iter().map(|line| match line.outcome {
            Ok(_) => LineOutcome::accepted(line.number, BTreeMap::new()),
            Err(rejection) => LineOutcome::rejected(line.number, &rejection),
        });
        let verdict = dataperf::Verdict::of_lines(
            "adversarial-text",
            "submit",
            digest,
            digest,
            outcomes.collect(),
            BTreeMap::new(),
        );
        let cause = verdict.cause.map(|cause| (cause.code, cause.message));
        cause.unwrap_or_default()
    };
    let labelled = |label: &str| {
        format!(
            r#"{{"task":"nli","context_id":"barn","text":"Animals are indoors, {label}","label":"{label}"}}"#
        )
    };
    let letters = ["e", "n", "c", "e"].map(labelled);
    let (code, found_cause) = cause(&letters);
    assert_eq!(code, "unknown_label");
    assert!(
        found_cause.contains("write the whole names, `contradiction` for `c`"),
        "{found_cause}"
    );
    // the good lines are kept
    let mixed = ["Entailment", "NEUTRAL", "Contradiction", "neutral"].map(labelled);
    assert!(
        cause(&mixed).1.contains("their capitals differ"),
        "{:?}",
        cause(&mixed)
    );
    let of_context =
        |id: &str| format!(r#"{{"task":"nli","context_id":"{id}","text":"It is {id}","label":"neutral"}}"#);
    let places = ["ctx/barn", "ctx/barn ", "ctx/Barn", "ctx/barn"].map(of_context);
    assert_eq!(cause(&places).0, "unknown_context");
}
