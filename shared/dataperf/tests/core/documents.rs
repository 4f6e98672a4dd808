//! The organizer's document of a challenge.

use std::collections::BTreeMap;

use dataperf::challenge::Challenge;
use dataperf::ladder::Ladder;
use dataperf::{Descriptor, Feedback, Reason, Rejection};
use dataperf_benchmarks::speech_selection::SpeechSelection;
use dataperf_benchmarks::vision_debugging::VisionDebugging;
use dataperf_benchmarks::vision_selection::VisionSelection;
use serde_json::{Value, json};

fn check(document: &Value) -> Result<BTreeMap<String, Challenge>, Rejection> {
    let hosted = [
        Descriptor::for_benchmark::<SpeechSelection>(),
        Descriptor::for_benchmark::<VisionSelection>(),
        Descriptor::for_benchmark::<VisionDebugging>(),
    ];
    dataperf::challenge::check(document, &hosted)
}

fn with_rounds(rounds: &Value) -> Value {
    json!({ "schema": 1, "title": "t", "benchmarks": { "speech-selection": { "rounds": rounds } } })
}

fn codes(document: &Value) -> Vec<(String, String)> {
    let rejection = check(document).expect_err("something is wrong");
    let code = |reason: &Reason| (reason.code.clone(), reason.at.clone());
    rejection.reasons().iter().map(code).collect()
}

#[test]
fn finds_everything_at_once() {
    let actual = codes(&json!({
        "schema": 2, "colour": "red", "feedback": "score", "benchmarks": {
            "speech-selecton": { "ranking": "worst" },
            "vision-selection": { "leaderboards": { "a#b": {}, "open": { "rank": 1, "ranking": "all" } }, "rounds": [
                { "id": "Open!", "opens": "today", "daily_limit": 0, "total_limit": "many", "artifacts": 7, "preset": 1, "ladder": "auto" },
                { "id": "open", "opens": "2026-03-02T00:00:00Z", "closes": "2026-03-01T00:00:00Z",
                  "dataset": "sha256:12", "daily_limit": 6, "total_limit": 5, "baselines": ["x", "x", 3],
                  "messages": { "during": "now" } },
                {}, [],
            ] },
        },
    }));
    let round = |idx: usize, key: &str| format!("/benchmarks/vision-selection/rounds/{idx}/{key}");
    for (code, at) in [
        ("wrong_schema", "/schema".to_owned()),
        ("unknown_key", "/colour".into()),
        ("unknown_key", "/feedback".into()),
        (
            "unknown_value",
            "/benchmarks/vision-selection/leaderboards/open/ranking".into(),
        ),
        ("unknown_value", round(0, "preset")),
        ("unknown_value", round(0, "ladder")),
        ("missing_key", "/title".into()),
        ("unknown_benchmark", "/benchmarks/speech-selecton".into()),
        ("unknown_value", "/benchmarks/speech-selecton/ranking".into()),
        (
            "unusable_name",
            "/benchmarks/vision-selection/leaderboards/a#b".into(),
        ),
        (
            "unknown_key",
            "/benchmarks/vision-selection/leaderboards/open/rank".into(),
        ),
        ("bad_round_id", round(0, "id")),
        ("wrong_type", round(0, "opens")),
        ("bad_limit", round(0, "daily_limit")),
        ("bad_limit", round(0, "total_limit")),
        ("unknown_value", round(0, "artifacts")),
        ("bad_round_id", round(1, "id")),
        ("closes_before_opening", round(1, "closes")),
        ("wrong_type", round(1, "dataset")),
        ("bad_limit", round(1, "daily_limit")),
        ("duplicate_name", round(1, "baselines/1")),
        ("wrong_type", round(1, "baselines/2")),
        ("unknown_key", round(1, "messages/during")),
        ("missing_key", round(2, "id")),
        ("missing_key", round(2, "opens")),
        ("wrong_type", "/benchmarks/vision-selection/rounds/3".into()),
    ] {
        assert!(
            actual.contains(&(code.to_owned(), at.clone())),
            "{code} {at}: {actual:#?}"
        );
    }
}

#[test]
fn at_any_moment_a_leaderboard_has_one_round() {
    let round = |id: &str, leaderboards: &[&str], opens: u8, closes: u8| {
        json!({ "id": id, "leaderboards": leaderboards, "opens": format!("2026-03-{opens:02}T00:00:00Z"),
                "closes": format!("2026-03-{closes:02}T00:00:00Z") })
    };
    let fits = json!([
        round("a", &["x"], 1, 5),
        round("b", &["x"], 5, 9),
        round("c", &["y"], 1, 9)
    ]);
    assert!(check(&with_rounds(&fits)).is_ok());
    let overlaps = json!([
        round("a", &["x"], 1, 5),
        round("b", &["x", "y"], 4, 9),
        round("b", &[], 9, 12)
    ]);
    let at = |idx: usize, key: &str| format!("/benchmarks/speech-selection/rounds/{idx}/{key}");
    assert_eq!(
        codes(&with_rounds(&overlaps)),
        [
            ("overlapping_rounds".into(), at(1, "opens")),
            ("duplicate_round".into(), at(2, "id"))
        ]
    );
    let unending = json!([{ "id": "a", "opens": "2026-03-01T00:00:00Z" }, { "id": "b", "opens": "2026-04-01T00:00:00Z" }]);
    assert_eq!(codes(&with_rounds(&unending)).len(), 1);
}

#[test]
fn a_published_challenge_reads_back() {
    let round = json!({ "id": "a", "opens": "2026-03-01T00:00:00Z", "division": "open", "artifacts": "public",
                        "preset": "practice", "curves": true, "messages": { "open": "Welcome" } });
    let challenges = check(&with_rounds(&json!([round]))).expect("nothing is wrong");
    let challenge = &challenges["speech-selection"];
    let json = challenge.to_json().expect("JSON");
    assert_eq!(
        serde_json::from_slice::<Challenge>(&json).expect("a challenge"),
        *challenge
    );
}

#[test]
fn any_json_is_an_answer() {
    for document in [
        json!(null),
        json!([]),
        json!("x"),
        json!({}),
        json!({ "benchmarks": [] }),
        with_rounds(&json!({})),
    ] {
        assert!(check(&document).is_err(), "{document}");
    }
}

#[test]
fn a_round_may_retire_data_for_unseen_data() {
    let digest = |name: &str| json!(dataperf::Digest::compute(name.as_bytes()));
    let with = |keys: Value| {
        let mut round = json!({ "id": "one", "opens": "2026-03-01T00:00:00Z", "closes": "2026-04-01T00:00:00Z", "dataset": digest("old") });
        for (key, value) in keys.as_object().expect("an object") {
            round[key] = value.clone();
        }
        let next = json!({ "id": "two", "opens": "2026-04-01T00:00:00Z", "dataset": digest("new") });
        with_rounds(&json!([round, next]))
    };
    let at = |key: &str| format!("/benchmarks/speech-selection/rounds/0/{key}");
    let date = "2026-03-09T00:00:00Z";
    for fine in [
        json!({ "at": date, "dataset": digest("fresh") }),
        json!({ "at": date, "dataset": digest("new") }), // the next round is later
    ] {
        assert!(check(&with(json!({ "retire": fine }))).is_ok(), "{fine}");
    }
    for (retire, expected) in [
        (json!("soon"), vec![("bad_retire", "retire")]),
        (
            json!({}),
            vec![("missing_key", "retire/at"), ("missing_key", "retire/dataset")],
        ),
        (
            json!({ "at": date, "dataset": 7, "when": 1 }),
            vec![("unknown_key", "retire/when"), ("wrong_type", "retire/dataset")],
        ),
        (
            json!({ "at": "2026-03-01T00:00:00Z", "dataset": digest("old") }),
            vec![
                ("retired_before_opening", "retire/at"),
                ("successor_in_use", "retire/dataset"),
            ],
        ),
        (
            json!({ "at": "2026-04-01T00:00:00Z", "dataset": digest("fresh") }),
            vec![("retired_after_close", "retire/at")],
        ),
    ] {
        let expected: Vec<(String, String)> = expected
            .into_iter()
            .map(|(code, key)| (code.to_owned(), at(key)))
            .collect();
        assert_eq!(codes(&with(json!({ "retire": retire }))), expected, "{retire}");
    }
    let fresh = json!({ "at": date, "dataset": digest("fresh") });
    for (keys, code, key) in [
        (json!({ "ladder": true }), "retire_with_ladder", "retire"),
        (json!({ "final": digest("fresh") }), "final_in_use", "final"),
    ] {
        let mut keys = keys;
        keys["retire"] = fresh.clone();
        assert_eq!(codes(&with(keys)), [(code.to_owned(), at(key))]);
    }
}

#[test]
fn immediate_effects_cause_warnings() {
    let digest = |name: &str| json!(dataperf::Digest::compute(name.as_bytes()));
    let rounds = json!([
        { "id": "one", "opens": "2026-03-01T00:00:00Z", "closes": "2026-04-01T00:00:00Z", "final": digest("last") },
        { "id": "two", "opens": "2026-04-01T00:00:00Z", "retire": { "at": "2026-05-01T00:00:00Z", "dataset": digest("fresh") } },
    ]);
    let challenge = check(&with_rounds(&rounds))
        .expect("it is fine")
        .remove("speech-selection")
        .unwrap();
    let warned = |at: &str| {
        let warnings = challenge.warnings(at.parse().unwrap()).into_iter();
        warnings.map(|warning| warning.code).collect::<Vec<_>>()
    };
    assert_eq!(warned("2026-03-31T00:00:00Z"), [""; 0]);
    assert_eq!(warned("2026-04-01T00:00:00Z"), ["final_at_once"]);
    assert_eq!(
        warned("2026-05-01T00:00:00Z"),
        ["final_at_once", "retired_at_once"]
    );
}

#[test]
fn a_final_board_waits_for_related_rounds() {
    let past = |preset: &str, pinned: Option<&str>| {
        let mut round = json!({ "id": "past", "leaderboards": ["en-25"], "opens": "2026-01-01T00:00:00Z", "closes": "2026-02-01T00:00:00Z",
            "final": dataperf::Digest::compute(b"last"), "preset": preset });
        if let Some(pinned) = pinned {
            round["dataset"] = json!(dataperf::Digest::compute(pinned.as_bytes()));
        }
        round
    };
    let by = |past: serde_json::Value, closes: Option<&str>| {
        let other = json!({ "id": "other", "leaderboards": ["en-25"], "opens": "2026-03-01T00:00:00Z", "closes": closes,
            "dataset": dataperf::Digest::compute(b"a") });
        let challenge: Challenge =
            serde_json::from_value(json!({ "schema": 1, "title": "t", "rounds": [past, other] }))
                .expect("a challenge");
        challenge.final_by(&challenge.rounds[0]).map(|by| by.to_string())
    };
    let (alone, waits) = (
        Some("2026-02-01T00:30:00.000Z".to_owned()),
        Some("2027-01-01T00:15:00.000Z".to_owned()),
    );
    let in_2027 = Some("2027-01-01T00:00:00Z");
    assert_eq!(by(past("practice", Some("a")), in_2027), alone);
    assert_eq!(by(past("contest", Some("a")), in_2027), waits);
    assert_eq!(by(past("contest", Some("b")), in_2027), alone);
    assert_eq!(by(past("contest", None), in_2027), waits);
    assert_eq!(by(past("contest", Some("a")), None), None);
}

/// A round of a document, with further keys; `null` takes one away.
#[allow(clippy::needless_pass_by_value)] // callers write it in place
fn round_with(id: &str, keys: Value) -> Value {
    let mut round = json!({ "id": id, "opens": "2026-03-01T00:00:00Z", "closes": "2026-04-01T00:00:00Z" });
    for (key, value) in keys.as_object().expect("an object") {
        round[key] = value.clone();
    }
    round
        .as_object_mut()
        .expect("an object")
        .retain(|_, value| !value.is_null());
    round
}

fn of_task(benchmark: &str, rounds: &[Value]) -> Value {
    json!({ "schema": 1, "title": "t", "benchmarks": { benchmark: { "rounds": rounds } } })
}

#[test]
fn a_preset_determines_feedback_until_the_close() {
    let (before, after) = ("2026-03-15T00:00:00Z", "2026-04-01T00:00:00Z");
    for (keys, level, release) in [
        (json!({}), Feedback::Score, Some(Ladder::Rounded)),
        (
            json!({ "preset": "contest" }),
            Feedback::Score,
            Some(Ladder::Rounded),
        ),
        (json!({ "ladder": true }), Feedback::Score, Some(Ladder::Auto)),
        (json!({ "preset": "practice" }), Feedback::Metrics, None),
        (
            json!({ "preset": "practice", "curves": true }),
            Feedback::Full,
            None,
        ),
        (
            json!({ "preset": "blind" }),
            Feedback::Nothing,
            Some(Ladder::Rounded),
        ),
    ] {
        let document = of_task("vision-selection", &[round_with("r", keys.clone())]);
        let challenge = check(&document)
            .expect("a challenge")
            .remove("vision-selection")
            .unwrap();
        let written = challenge.document(&Descriptor::for_benchmark::<VisionSelection>());
        assert_eq!(
            check(&written).expect("as written")["vision-selection"],
            challenge
        );
        assert_eq!(challenge.rounds[0].release(), release, "{keys}");
        let board = dataperf::board::Board {
            benchmark: "vision-selection".into(),
            leaderboard: "open".into(),
            round: "r".into(),
        };
        let shown = |at: &str| challenge.shown(&board, None, at.parse().unwrap()).level;
        assert_eq!([shown(before), shown(after)], [level, Feedback::Full], "{keys}");
        let hidden = challenge.hidden_until(&board, before.parse().unwrap());
        assert_eq!(hidden.is_some(), level == Feedback::Nothing, "{keys}");
    }
}

#[test]
fn keys_contradicting_a_preset_are_refused() {
    let [vision, curves] = ["vision-selection", "vision-debugging"];
    for (benchmark, keys, code, key) in [
        (vision, json!({ "curves": true }), "not_with_preset", "curves"),
        (
            vision,
            json!({ "preset": "practice", "ladder": true }),
            "not_with_preset",
            "ladder",
        ),
        (
            vision,
            json!({ "preset": "blind", "closes": null }),
            "hidden_for_good",
            "preset",
        ),
        (
            curves,
            json!({ "ladder": true }),
            "ladder_without_error",
            "ladder",
        ),
        (vision, json!({ "presett": "blind" }), "unknown_key", "presett"),
    ] {
        let actual = codes(&of_task(benchmark, &[round_with("r", keys.clone())]));
        let at = format!("/benchmarks/{benchmark}/rounds/0/{key}");
        assert_eq!(actual, [(code.to_owned(), at)], "{keys}");
    }
    let misspelt = of_task(vision, &[round_with("r", json!({ "daily_limits": 2 }))]);
    let refused = check(&misspelt).expect_err("unknown");
    assert!(
        refused.reasons()[0]
            .message
            .contains("did you mean `daily_limit`")
    );
}

#[test]
fn rounds_with_the_same_data_are_warned_of() {
    let hosted = Descriptor::for_benchmark::<VisionSelection>();
    let dataset = |name: &str| json!(dataperf::Digest::compute(name.as_bytes()));
    let later = |keys: Value| {
        let mut all = json!({ "opens": "2026-04-01T00:00:00Z", "closes": "2026-05-01T00:00:00Z" });
        for (key, value) in keys.as_object().expect("an object") {
            all[key] = value.clone();
        }
        round_with("two", all)
    };
    let pinned = |name: &str| json!({ "dataset": dataset(name) });
    let unseen = json!({ "dataset": dataset("hidden"), "division": "closed", "programs": { "public": dataset("public") } });
    let warned = |rounds: &[Value], n_own: usize| -> Vec<(String, bool)> {
        let challenge = check(&of_task("vision-selection", rounds))
            .expect("a challenge")
            .remove("vision-selection")
            .unwrap();
        let at = "2026-03-15T00:00:00Z".parse().unwrap();
        let warnings = challenge.warnings_of_shared_data(n_own, &hosted, at).into_iter();
        warnings
            .map(|one| {
                (
                    format!("{} {}", one.code, one.at),
                    one.message.contains("2026-05-01"),
                )
            })
            .collect()
    };
    let stays = |place: usize| vec![(format!("stays_rounded /rounds/{place}"), true)];
    let one = |keys: Value| round_with("one", keys);
    assert_eq!(warned(&[one(json!({}))], 1), []);
    assert_eq!(warned(&[one(json!({})), later(json!({}))], 2), stays(0));
    assert_eq!(
        warned(&[one(json!({ "preset": "blind" })), later(json!({}))], 2),
        stays(0)
    );
    assert_eq!(
        warned(&[one(json!({ "preset": "practice" })), later(json!({}))], 2),
        []
    );
    assert_eq!(warned(&[one(pinned("a")), later(pinned("b"))], 2), []);
    assert_eq!(warned(&[one(json!({})), later(unseen)], 2), []);
    // a published round is warned of where the round that it waits for stands in the document
    assert_eq!(warned(&[later(json!({})), one(json!({}))], 1), stays(0));
    assert_eq!(warned(&[one(json!({})), later(json!({}))], 1), stays(0));
}
