//! Arbitrary bytes as each of Adversarial Nibbler's three artifacts: an outcome for each line, within every bound.
#![no_main]

use std::sync::OnceLock;

use dataperf_collections::nibbler::artifacts::all_rejected;
use dataperf_collections::nibbler::{Configuration, GenerationRequest, LineItem, Submission, Verdict, read};
use libfuzzer_sys::fuzz_target;
use serde::Serialize;
use serde::de::DeserializeOwned;

fn check<T: LineItem<Rules = Configuration> + Serialize + DeserializeOwned + PartialEq>(file: &[u8]) {
    static CONFIGURATION: OnceLock<Configuration> = OnceLock::new();
    let configuration = CONFIGURATION.get_or_init(Configuration::default);
    let lines = match read::<T>(file, configuration) {
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
            Ok(artifact) => {
                let text = serde_json::to_vec(artifact).expect("an artifact is JSON");
                let again = read::<T>(&text, configuration).expect("one line");
                assert!(again[0].outcome.as_ref().is_ok_and(|again| again == artifact));
            }
            Err(rejection) => {
                for reason in rejection.reasons() {
                    assert!(reason.at.starts_with(&format!("line {}", line.number)) && reason.message.len() < 4_000, "{reason:?}");
                }
            }
        }
    }
    let rejections: Vec<_> = lines.iter().filter_map(|line| line.outcome.as_ref().err()).collect();
    assert_eq!(all_rejected(rejections.iter().copied()).is_none(), rejections.is_empty());
}

fuzz_target!(|file: &[u8]| {
    check::<GenerationRequest>(file);
    check::<Submission>(file);
    check::<Verdict>(file);
});
