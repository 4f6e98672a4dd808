//! The rules for speech submissions, and the messages to their submitters.

use dataperf::evaluation::evaluate::evaluate;
use dataperf::programs::PublicRun;
use dataperf::{Benchmark, Digest, Ending, LineOutcome, Reason, Reasons, Verdict};
use dataperf_benchmarks::speech_selection::SpeechSelection;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::tiny;

fn judge(artifact: &[u8]) -> Verdict {
    pollster::block_on(evaluate(&tiny::dataset(), "en-6", artifact)).expect("the data set is whole")
}

/// Codes and places, in the order they are told.
fn reasons(artifact: &Value) -> Vec<(String, String)> {
    let verdict = judge(artifact.to_string().as_bytes());
    assert_eq!(verdict.status, Ending::Rejected, "{artifact}");
    verdict
        .reasons
        .into_iter()
        .map(|reason| (reason.code, reason.at))
        .collect()
}

fn expected(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected
        .iter()
        .map(|&(code, at)| (code.to_owned(), at.to_owned()))
        .collect()
}

#[test]
fn a_good_artifact_scores_the_same_every_time() {
    let verdict = judge(&tiny::good());
    assert_eq!(verdict.status, Ending::Scored);
    assert_eq!(verdict.metrics["per_seed"].as_array().map(Vec::len), Some(2));
    assert_eq!(verdict.metrics["n_clips"], 5);
    let again = judge(&tiny::good());
    assert_eq!(
        serde_json::to_string(&verdict).ok(),
        serde_json::to_string(&again).ok()
    );
}

#[test]
fn a_word_may_be_left_out_or_empty() {
    let left_out = json!({"targets": {"job": ["job/0", "job/1"]}, "nontargets": ["about/8"]});
    let empty = json!({"targets": {"job": ["job/0", "job/1"], "route": []}, "nontargets": ["about/8"]});
    let (left_out, empty) = (
        judge(left_out.to_string().as_bytes()),
        judge(empty.to_string().as_bytes()),
    );
    assert_eq!((left_out.status, left_out.score), (Ending::Scored, empty.score));
}

#[test]
fn every_broken_rule_is_reported_at_once() {
    let artifact = json!({
        "targets": {"job": ["job/0", "job/0", "route/4", "about/8", "nowhere"], "bell": ["bell/1"]},
        "nontargets": ["job/1", "about/8", "nowhere/1"],
    });
    // Nine clips are listed where six may be.
    let expected = expected(&[
        ("unknown_word", "/targets/bell"),
        ("duplicate_clip", "/targets/job/1"),
        ("wrong_word", "/targets/job/2"),
        ("wrong_word", "/targets/job/3"),
        ("unknown_clip", "/targets/job/4"),
        ("wrong_word", "/nontargets/0"),
        ("duplicate_clip", "/nontargets/1"),
        ("unknown_clip", "/nontargets/2"),
        ("too_many_clips", ""),
    ]);
    assert_eq!(reasons(&artifact), expected);
}

#[test]
fn format_and_rule_errors_are_reported_together() {
    let artifact =
        json!({"targets": {"job": ["job/0", 7, "job/9"], "route": {}}, "nontargets": [], "note": "x"});
    let expected = expected(&[
        ("wrong_type", "/targets/job/1"),
        ("wrong_type", "/targets/route"),
        ("unknown_key", "/note"),
        ("unknown_clip", "/targets/job/2"),
        ("no_nontargets", "/nontargets"),
    ]);
    let mut shown = reasons(&artifact);
    shown.sort();
    let mut expected = expected;
    expected.sort();
    assert_eq!(shown, expected);
}

#[test]
fn missing_parts_are_reported_once() {
    assert_eq!(
        reasons(&json!({})),
        expected(&[("missing_key", ""), ("missing_key", "")])
    );
    assert_eq!(reasons(&json!([])), expected(&[("wrong_type", "")]));
    assert_eq!(reasons(&json!({"targets": [], "nontargets": 1})).len(), 2);
    let no_targets = json!({"targets": {"job": []}, "nontargets": ["about/8"]});
    assert_eq!(reasons(&no_targets), expected(&[("too_few_classes", "/targets")]));
}

#[test]
fn a_flood_of_reasons_is_counted_not_listed() {
    let ids: Vec<String> = (0..10_000).map(|idx| format!("nowhere/{idx}")).collect();
    let verdict = judge(
        json!({"targets": {"job": ids}, "nontargets": ["about/8"]})
            .to_string()
            .as_bytes(),
    );
    assert_eq!(verdict.reasons.len(), dataperf::MAX_LISTED_REASONS);
    assert_eq!(verdict.n_reasons, Some(10_001));
    assert!(
        serde_json::to_vec(&verdict).expect("json").len() < 300_000,
        "a receipt has to fit into one table item"
    );
}

/// The table keeps a receipt in one item of 400 KB, with names and numbers beside it.
#[test]
fn the_largest_receipts_fit_into_an_item() {
    let reason = |code: &str| Reason::new(code, "\u{1F600}".repeat(1_000), "\u{1}\u{1F600}".repeat(10_000));
    let rejection = || {
        let mut reasons = Reasons::default();
        for _ in 0..dataperf::MAX_LISTED_REASONS {
            reasons.add(reason("unknown_class"));
        }
        reasons.explain(Some(reason("unknown_class")));
        reasons.into_verdict(()).expect_err("reasons")
    };
    let digest = Digest::compute(b"");
    let run = PublicRun {
        fuel: Some(u64::MAX),
        output: Some(digest),
        log: String::new(),
        is_log_cut: false,
    };
    let of_one = Verdict {
        public_run: Some(run.with_log(&vec![0xff; 1 << 20], true)),
        ..Verdict::rejected("selection", "few", Some(digest), Some(digest), &rejection())
    };
    let lines = (1..=200).map(|line| LineOutcome::rejected(line, &rejection()));
    let (lines, metrics) = (lines.collect(), std::collections::BTreeMap::new());
    let of_lines = Verdict::of_lines("adversarial-text", "submit", digest, digest, lines, metrics);
    for verdict in [of_one, of_lines] {
        assert!(verdict.reasons.len() > 4, "{:?}", verdict.n_reasons);
        assert!(verdict.n_reasons >= Some(dataperf::MAX_LISTED_REASONS));
        let n_bytes = serde_json::to_vec(&verdict).expect("json").len();
        assert!(n_bytes < 350_000, "{n_bytes} bytes");
    }
}

#[test]
fn too_large_is_not_even_parsed() {
    let verdict = judge(&vec![b'['; SpeechSelection::MAX_ARTIFACT_BYTES as usize + 1]);
    assert_eq!(verdict.reasons[0].code, "too_large");
    assert_eq!(
        verdict.reasons[0].limit,
        Some(SpeechSelection::MAX_ARTIFACT_BYTES)
    );
}

#[test]
fn an_unknown_leaderboard_names_the_known_ones() {
    let verdict = pollster::block_on(evaluate(&tiny::dataset(), "en-25", &tiny::good())).expect("a verdict");
    assert_eq!(verdict.reasons[0].code, "unknown_leaderboard");
    assert!(verdict.reasons[0].message.contains("`en-6`"));
}

/// JSON values of the kinds an artifact has, in every wrong place.
fn anything() -> impl Strategy<Value = Value> {
    let id = prop::sample::select(tiny::IDS.to_vec()).prop_map(|id| json!(id));
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".*".prop_map(Value::from),
        id
    ];
    let key = prop_oneof![
        Just("targets".to_owned()),
        Just("nontargets".to_owned()),
        Just("job".to_owned()),
        ".{0,3}"
    ];
    leaf.prop_recursive(4, 64, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(artifact in prop::collection::vec(any::<u8>(), 0..200)) {
        judge(&artifact);
    }

    #[test]
    fn arbitrary_json_never_panics(artifact in anything()) {
        judge(artifact.to_string().as_bytes());
    }

    #[test]
    fn cut_short_is_rejected(end in 0usize..100) {
        let good = tiny::good();
        let end = end.min(good.len() - 1);
        prop_assert_eq!(judge(&good[..end]).status, Ending::Rejected);
    }
}
