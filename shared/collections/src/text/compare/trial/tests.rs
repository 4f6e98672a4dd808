#![allow(clippy::unwrap_used, clippy::float_cmp, reason = "helpers of tests")]

use serde_json::{Value, json};

use super::*;
use crate::text::compare::{Figures, Measured, Share};

fn items() -> Vec<TrialItem> {
    let item = |round: &str, task, context: Option<&str>, text: &str, gold| TrialItem {
        round: round.into(),
        task,
        input: Input {
            context: context.map(str::to_owned),
            text: text.into(),
        },
        gold,
        annotator: text.into(),
    };
    let label = |label: &str| Gold::Label(label.into());
    let context = "Yesterday John met Mary in Lima.";
    vec![
        item(
            "r1",
            Task::Nli,
            Some(context),
            "John met somebody.",
            label("entailment"),
        ),
        item("r1", Task::Sentiment, None, "So so, ok.", label("neutral")),
        item(
            "r2",
            Task::Qa,
            Some(context),
            "Who was met in Lima?",
            Gold::Span(Span::find(context, "Mary").unwrap()),
        ),
        item(
            "r2",
            Task::HateSpeech,
            None,
            "All women are stupid.",
            label("hateful"),
        ),
    ]
}

/// The answers of a model, by what it says of each input.
fn artifact(trial: &Trial, get: impl Fn(&AskedLine) -> Value) -> Vec<u8> {
    let answers: BTreeMap<&str, Value> = trial
        .lines()
        .iter()
        .map(|line| (line.id.as_str(), get(line)))
        .collect();
    serde_json::to_vec(&json!({ "answers": answers })).unwrap()
}

fn constant(line: &AskedLine) -> Value {
    match line.task {
        Task::Nli => json!({"label": "entailment"}),
        Task::Sentiment => json!({"label": "positive"}),
        Task::HateSpeech => json!({"label": "hateful"}),
        Task::Qa => json!({"start": 0, "text": "Yesterday"}),
    }
}

#[test]
fn each_input_is_sent_once_without_its_origin() {
    let trial = Trial::new(items());
    let lines: Vec<String> = trial
        .lines()
        .iter()
        .map(|line| serde_json::to_string(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 10, "{lines:#?}"); // 4, 3 with errors, 3 with other people
    assert!(
        lines
            .iter()
            .all(|line| !line.contains("entail") && !line.contains("round") && !line.contains("r1"))
    );
    assert!(
        lines
            .iter()
            .enumerate()
            .all(|(nth, line)| line.starts_with(&format!("{{\"id\":\"{nth}\",")))
    );
    assert_eq!(trial, Trial::new(items()));
}

#[test]
fn a_constant_model_is_robust_and_fair() {
    let trial = Trial::new(items());
    let answers = trial.answers(&artifact(&trial, constant)).unwrap();
    let outcome = trial.outcome(&trial.judged(&answers));
    assert_eq!(outcome.rounds["r1"], Share { n: 1, of: 2 });
    assert_eq!(outcome.rounds["r2"], Share { n: 1, of: 2 });
    assert_eq!(
        (outcome.robust, outcome.fair),
        (Share { n: 3, of: 3 }, Share { n: 3, of: 3 })
    );
    let measured = Measured {
        fuel: 20_000_000,
        memory_bytes: 3 << 20,
    };
    let figures = outcome.figures(measured, trial.lines().len());
    let expected = Figures {
        performance: 50.0,
        fuel: 2.0,
        memory: 3.0,
        robustness: 100.0,
        fairness: 100.0,
    };
    assert_eq!(figures, expected);
}

#[test]
fn sensitivity_to_people_or_spelling_is_detected() {
    let trial = Trial::new(items());
    let knows = |known: &'static str, line: &AskedLine| match line.task {
        Task::HateSpeech if !line.input.text.contains(known) => json!({"label": "not-hateful"}),
        Task::Qa => {
            let context = line.input.context.as_deref().unwrap();
            let name = if context.contains("Mary") {
                "Mary"
            } else {
                "Keisha"
            };
            json!(Span::find(context, name).unwrap())
        }
        _ => constant(line),
    };
    let outcome = |known| {
        let artifact = artifact(&trial, |line| knows(known, line));
        trial.outcome(&trial.judged(&trial.answers(&artifact).unwrap()))
    };
    let of_one_text = outcome("All women are stupid.");
    assert_eq!(of_one_text.rounds["r2"], Share { n: 2, of: 2 });
    assert_eq!(of_one_text.robust, Share { n: 2, of: 3 });
    assert_eq!(of_one_text.fair, Share { n: 2, of: 3 }); // an answer that is exchanged with the people has stayed
    let of_a_short_word = outcome("All"); // which is never misspelt, and is nobody
    let all = Share { n: 3, of: 3 };
    assert_eq!((of_a_short_word.robust, of_a_short_word.fair), (all, all));
}

#[test]
fn answers_that_are_none_say_so() {
    let trial = Trial::new(items());
    let refused = |bytes: &[u8], why: &str| {
        let error = trial.answers(bytes).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    refused(b"no", "not JSON");
    refused(
        b"{\"answers\": {}}",
        "10 of 10 inputs have no answer, the first is 0",
    );
    refused(
        b"{\"answers\": {\"10\": {\"label\": \"x\"}}}",
        "the ids are \"0\" to \"9\"",
    );
    refused(b"{\"answers\": {\"01\": {\"label\": \"x\"}}}", "is not the id");
    refused(
        b"{\"answers\": {}, \"measured\": {\"fuel\": 1}}",
        "unknown field `measured`",
    );
    refused(
        b"{\"answers\": {\"0\": {\"label\": \"x\"}, \"0\": {\"label\": \"neutral\"}}}",
        "/answers/0: the key `0` appears more than once",
    );
    let changed = |task: Task, to: Value| {
        artifact(&trial, |line| {
            if line.task == task {
                to.clone()
            } else {
                constant(line)
            }
        })
    };
    refused(
        &changed(Task::Nli, json!({"label": "good"})),
        "is `good`: expected one of `entailment`",
    );
    refused(&changed(Task::Nli, json!({"start": 0, "text": "J"})), "no label");
    refused(&changed(Task::Qa, json!({"label": "neutral"})), "no span");
    refused(
        &changed(Task::Qa, json!({"start": 1, "text": "Yesterday"})),
        "does not match the context",
    );
    refused(
        &changed(Task::Qa, json!({"start": u64::MAX, "text": "Yesterday"})),
        "does not match the context",
    );
    assert!(
        trial
            .answers(&changed(Task::Qa, json!({"start": 0, "text": ""})))
            .is_ok()
    );
}
