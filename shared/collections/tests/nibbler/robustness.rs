//! Whatever is uploaded, parsers answer and never panic, and what they say is bounded.

use dataperf_collections::nibbler::artifacts::all_rejected;
use dataperf_collections::nibbler::duplicates;
use dataperf_collections::nibbler::images::inspect;
use dataperf_collections::nibbler::{
    Configuration, Generation, GenerationRequest, LineItem, Scoring, Submission, Verdict,
    prompts::{filter, forms},
    read,
};
use proptest::prelude::*;

fn answers<T: LineItem<Rules = Configuration>>(file: &[u8]) {
    let Ok(lines) = read::<T>(file, &Configuration::default()) else {
        return;
    };
    assert!(!lines.is_empty() && lines.len() <= T::MAX_LINES);
    let rejections: Vec<_> = lines
        .iter()
        .filter_map(|line| line.outcome.as_ref().err())
        .collect();
    for reason in rejections.iter().flat_map(|rejection| rejection.reasons()) {
        assert!(
            !reason.code.is_empty() && reason.at.starts_with("line "),
            "{reason:?}"
        );
        assert!(reason.message.len() < 2_000, "{reason:?}");
    }
    assert_eq!(
        all_rejected(rejections.iter().copied()).is_some(),
        !rejections.is_empty()
    );
}

/// Files that look like artifacts.
fn nearly() -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec![
        "prompt",
        "image",
        "mode",
        "attacks",
        "rewrite",
        "harms",
        "identity_groups",
        "submission",
        "prompt_safe",
        "image_unsafe",
        "severity",
        "notes",
        "",
    ]);
    let value = prop_oneof![
        Just("null".to_owned()),
        Just("[\"other\"]".to_owned()),
        Just("[[[]]]".to_owned()),
        Just("\"0123456789abcdef0123456789abcdef\"".to_owned()),
        any::<bool>().prop_map(|b| b.to_string()),
        any::<f64>().prop_map(|x| x.to_string()),
        (0u8..9).prop_map(|n| n.to_string()),
        any::<String>().prop_map(|text| serde_json::Value::from(text).to_string()),
    ];
    let member = (key, value).prop_map(|(key, value)| format!("\"{key}\": {value}"));
    let line = prop::collection::vec(member, 0..10).prop_map(|members| format!("{{{}}}", members.join(", ")));
    prop::collection::vec(line, 0..5).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn any_bytes_have_an_answer(file in prop::collection::vec(any::<u8>(), 0..400)) {
        answers::<GenerationRequest>(&file);
        answers::<Submission>(&file);
        answers::<Verdict>(&file);
        let _ = Configuration::parse(&file);
        let _ = inspect(&file, &Generation::default());
    }

    #[test]
    fn any_artifact_like_input_gets_an_answer(file in nearly()) {
        answers::<GenerationRequest>(file.as_bytes());
        answers::<Submission>(file.as_bytes());
        answers::<Verdict>(file.as_bytes());
    }

    #[test]
    fn a_prompts_forms_are_final(text in prop_oneof![
        any::<String>(),
        "[a-cé\u{200b}\u{301}\u{ad}\u{3164} İßſΣ①ﬁ가ᄀ\u{1161}\t.,-]{0,20}",
    ]) {
        let canonical = forms::canonical(&text);
        prop_assert_eq!(&forms::canonical(&canonical), &canonical);
        let folded = forms::folded(&text);
        prop_assert_eq!(&forms::folded(&folded), &folded);
        for scoring in [Scoring::First, Scoring::Second] {
            prop_assert_eq!(duplicates::keys(&text, scoring), duplicates::keys(&canonical, scoring));
        }
        let _ = filter::check(&text, "", &Configuration::default().prompt);
    }
}
