//! Arbitrary bytes as files of Adversarial Text, examples and verdicts, and as contexts: an outcome for each line, within every bound.
#![no_main]

use std::sync::OnceLock;

use dataperf_collections::common::{LineItem, read};
use dataperf_collections::text::{Contexts, Example, Rules, Verdict};
use libfuzzer_sys::fuzz_target;
use serde::Serialize;

const CONTEXTS: &str = r#"{"id": "c1", "task": "nli", "text": "The door of the house is green."}
{"id": "q1", "task": "qa", "text": "The bridge of Köprü was built in 1904 by nobody in particular."}"#;

fn rules() -> &'static Rules {
    static RULES: OnceLock<Rules> = OnceLock::new();
    RULES.get_or_init(|| Rules {
        contexts: Contexts::parse(CONTEXTS.as_bytes()).expect("good contexts"),
        ..Rules::default()
    })
}

fn check<T: LineItem<Rules = Rules> + Serialize + PartialEq>(file: &[u8]) {
    let lines = match read::<T>(file, rules()) {
        Ok(lines) => lines,
        Err(rejection) => {
            assert!(!rejection.reasons().is_empty());
            return;
        }
    };
    assert!((1..=T::MAX_LINES).contains(&lines.len()));
    for line in &lines {
        match &line.outcome {
            // what is taken is what its own text is read as
            Ok(item) => {
                let text = serde_json::to_vec(item).expect("an item is JSON");
                let again = read::<T>(&text, rules()).expect("one line");
                assert!(again[0].outcome.as_ref().is_ok_and(|again| again == item));
            }
            Err(rejection) => {
                for reason in rejection.reasons() {
                    assert!(reason.at.starts_with(&format!("line {}", line.number)) && reason.message.len() < 8_000, "{reason:?}");
                }
            }
        }
    }
}

fuzz_target!(|file: &[u8]| {
    check::<Example>(file);
    check::<Verdict>(file);
    if let Err(rejection) = Contexts::parse(file) {
        assert!(!rejection.reasons().is_empty());
    }
});
