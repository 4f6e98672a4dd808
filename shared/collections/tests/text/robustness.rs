//! Whatever is uploaded, parsers answer and never panic, and what they say is bounded.

use dataperf_collections::text::{
    Configuration, Contexts, Example, LineItem, Rules, Task, Verdict, all_rejected, duplicates, read,
    texts::{filter, squad},
};
use proptest::prelude::*;

use crate::rules;

fn answers<T: LineItem<Rules = Rules>>(file: &[u8]) {
    let Ok(lines) = read::<T>(file, &rules()) else {
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
    let keys = vec![
        "task",
        "context_id",
        "text",
        "label",
        "answer",
        "why",
        "example",
        "flagged",
        "start",
        "",
    ];
    let key = prop::sample::select(keys);
    let value = prop_oneof![
        prop::sample::select(vec![
            "null",
            "[]",
            "{}",
            "\"nli\"",
            "\"qa\"",
            "\"road\"",
            "\"barn\"",
            "\"neutral\""
        ])
        .prop_map(str::to_owned),
        Just("\"0123456789abcdef0123456789abcdef\"".to_owned()),
        (any::<i64>(), any::<String>())
            .prop_map(|(start, text)| serde_json::json!({"start": start, "text": text}).to_string()),
        (0u64..80).prop_map(|start| serde_json::json!({"start": start, "text": "mill"}).to_string()),
        any::<f64>().prop_map(|x| x.to_string()),
        any::<String>().prop_map(|text| serde_json::Value::from(text).to_string()),
    ];
    let line = prop::collection::vec((key, value), 0..7).prop_map(|members| {
        let members: Vec<String> = members
            .iter()
            .map(|(key, value)| format!("\"{key}\":{value}"))
            .collect();
        format!("{{{}}}", members.join(","))
    });
    prop::collection::vec(line, 0..4).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn any_bytes_have_an_answer(file in prop::collection::vec(any::<u8>(), 0..300)) {
        answers::<Example>(&file);
        answers::<Verdict>(&file);
        let _ = (Configuration::parse(&file), Contexts::parse(&file));
    }

    #[test]
    fn any_line_like_input_gets_an_answer(file in nearly()) {
        answers::<Example>(file.as_bytes());
        answers::<Verdict>(file.as_bytes());
        let _ = (Configuration::parse(file.as_bytes()), Contexts::parse(file.as_bytes()));
    }

    #[test]
    fn any_text_can_be_filtered_and_compared(text in "\\PC{0,60}", other in any::<String>()) {
        let configuration = crate::configuration();
        for task in Task::ALL {
            let _ = filter::check(&text, task, "", &configuration);
        }
        let f1 = squad::token_f1(&text, &other);
        prop_assert!((0.0..=1.0).contains(&f1));
        prop_assert!((f1 - squad::token_f1(&other, &text)).abs() < 1e-12);
        let own = squad::token_f1(&text, &text);
        let expected = f64::from(u8::from(!squad::normalised(&text).is_empty()));
        prop_assert!((own - expected).abs() < 1e-12);
        let comparable = duplicates::comparable(&(text + "."));
        prop_assert!(!comparable.is_empty());
    }
}
