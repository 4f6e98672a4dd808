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
        Descriptor::of::<SpeechSelection>(),
        Descriptor::of::<VisionSelection>(),
        Descriptor::of::<VisionDebugging>(),
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
    let found = codes(&json!({
        "schema": 2, "colour": "red", "feedback": "all", "benchmarks": {
            "speech-selecton": { "ranking": "worst" },
            "vision-selection": { "feedback": true, "leaderboards": { "a#b": {}, "open": { "rank": 1, "feedback": "none" } }, "rounds": [
                { "id": "Open!", "opens": "today", "daily_limit": 0, "total_limit": "many", "artifacts": 7, "feedback": 1 },
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
        ("unknown_value", "/feedback".into()),
        ("unknown_value", "/benchmarks/vision-selection/feedback".into()),
        (
            "unknown_value",
            "/benchmarks/vision-selection/leaderboards/open/feedback".into(),
        ),
        ("unknown_value", round(0, "feedback")),
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
            found.contains(&(code.to_owned(), at.clone())),
            "{code} {at}: {found:#?}"
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
fn what_is_published_reads_back() {
    let round = json!({ "id": "a", "opens": "2026-03-01T00:00:00Z", "division": "open", "artifacts": "public",
                        "feedback": "metrics", "messages": { "open": "Welcome" } });
    let challenges = check(&with_rounds(&json!([round]))).expect("nothing is wrong");
    let challenge = &challenges["speech-selection"];
    let json = challenge.to_json().expect("JSON");
    assert_eq!(
        serde_json::from_slice::<Challenge>(&json).expect("a challenge"),
        *challenge
    );
}

#[test]
fn what_is_said_of_all_benchmarks_holds_for_those_that_say_nothing() {
    let document = json!({ "schema": 1, "title": "t", "feedback": "full", "benchmarks": {
        "speech-selection": {}, "vision-selection": { "feedback": "metrics", "leaderboards": { "open": { "feedback": "score" } } },
    } });
    let challenges = check(&document).expect("nothing is wrong");
    assert_eq!(challenges["speech-selection"].feedback, Feedback::Full);
    let vision = &challenges["vision-selection"];
    assert_eq!(vision.feedback, Feedback::Metrics);
    assert_eq!(vision.leaderboards["open"].feedback, Some(Feedback::Score));
    let silent = json!({ "schema": 1, "title": "t", "benchmarks": { "speech-selection": {} } });
    let silent = check(&silent).expect("nothing is wrong");
    assert_eq!(silent["speech-selection"].feedback, Feedback::Score);
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
fn a_ladder_is_a_step_or_none_and_shows_nothing_else() {
    let with = |ladder: &Value| {
        let mut round = json!({ "id": "r", "opens": "2026-03-01T00:00:00Z" });
        round["ladder"] = ladder.clone();
        with_rounds(&json!([round]))
    };
    for ladder in [
        json!("auto"),
        json!("rounded"),
        json!({ "step": 0.01 }),
        json!({ "step": 0.5 }),
    ] {
        let challenge = &check(&with(&ladder)).expect("a ladder")["speech-selection"];
        let written = serde_json::to_value(challenge).expect("JSON");
        assert_eq!(written["rounds"][0]["ladder"], ladder);
        let read: Challenge = serde_json::from_value(written).expect("as written");
        assert_eq!(&read, challenge);
    }
    let at = "/benchmarks/speech-selection/rounds/0/ladder".to_owned();
    for ladder in [
        json!("by hand"),
        json!(0.01),
        json!(null),
        json!({ "step": 0 }),
        json!({ "step": -0.1 }),
        json!({ "step": 1e-7 }),
        json!({ "step": "0.1" }),
        json!({ "step": 0.6 }),
        json!({ "step": 0.1, "more": 1 }),
    ] {
        assert_eq!(
            codes(&with(&ladder)),
            [("bad_ladder".to_owned(), at.clone())],
            "{ladder}"
        );
    }
    let shows = |of_round: Value, of_board: Value, of_benchmark: &str| {
        let mut round = json!({ "id": "r", "opens": "2026-03-01T00:00:00Z", "ladder": "auto" });
        if !of_round.is_null() {
            round["feedback"] = of_round;
        }
        json!({ "schema": 1, "title": "t", "benchmarks": { "speech-selection": {
            "feedback": of_benchmark, "leaderboards": { "en-25": of_board }, "rounds": [round] } } })
    };
    let full = json!({ "feedback": "full" });
    for (document, key) in [
        (shows(json!("full"), json!({}), "score"), "feedback"),
        (shows(json!(null), full.clone(), "score"), "ladder"),
        (shows(json!(null), json!({}), "metrics"), "ladder"),
    ] {
        let at = format!("/benchmarks/speech-selection/rounds/0/{key}");
        assert_eq!(codes(&document), [("ladder_shows_more".to_owned(), at)]);
    }
    assert!(
        check(&shows(json!("score"), full, "metrics")).is_ok(),
        "the round decides"
    );
    let of = |benchmark: &str, ladder: Value| {
        let round = json!({ "id": "r", "opens": "2026-03-01T00:00:00Z", "ladder": ladder });
        json!({ "schema": 1, "title": "t", "benchmarks": { benchmark: { "rounds": [round] } } })
    };
    let curves = of("vision-debugging", json!("auto"));
    let at = "/benchmarks/vision-debugging/rounds/0/ladder".to_owned();
    assert_eq!(codes(&curves), [("ladder_without_error".to_owned(), at)]);
    for ladder in [json!({ "step": 0.05 }), json!("rounded")] {
        assert!(check(&of("vision-debugging", ladder)).is_ok());
    }
}

/// Rounds that show scores alone round them; a document that is written of a challenge gives the same challenge again.
#[test]
fn a_round_that_says_nothing_rounds_what_rounding_hides() {
    let [vision, curves] = ["vision-selection", "vision-debugging"];
    let round = |more: Value| {
        let mut round = json!({ "id": "r", "opens": "2026-03-01T00:00:00Z", "closes": "2026-04-01T00:00:00Z",
                                "dataset": dataperf::Digest::of(b"now") });
        for (key, value) in more.as_object().unwrap() {
            round[key] = value.clone();
        }
        round.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        round
    };
    let ladder_of = |benchmark: &str, of_benchmark: Value, more: Value| {
        let mut rules = of_benchmark;
        rules["rounds"] = json!([round(more)]);
        let document = json!({ "schema": 1, "title": "t", "benchmarks": { benchmark: rules } });
        let challenge = &check(&document).expect("a challenge")[benchmark];
        let hosted = match benchmark {
            "vision-selection" => Descriptor::of::<VisionSelection>(),
            _ => Descriptor::of::<VisionDebugging>(),
        };
        let written = challenge.document(&hosted);
        assert_eq!(
            &check(&written).expect("as written")[benchmark],
            challenge,
            "{written}"
        );
        let ladder = challenge.rounds[0].ladder;
        let is_said = written["benchmarks"][benchmark]["rounds"][0]
            .get("ladder")
            .is_some();
        (ladder, is_said)
    };
    let retire =
        json!({ "retire": { "at": "2026-03-20T00:00:00Z", "dataset": dataperf::Digest::of(b"fresh") } });
    let of_board = |feedback: &str| json!({ "leaderboards": { "open": { "feedback": feedback } } });
    for (benchmark, rules, more, expected) in [
        (vision, json!({}), json!({}), (Some(Ladder::Rounded), false)),
        (
            vision,
            json!({}),
            json!({ "ladder": "rounded" }),
            (Some(Ladder::Rounded), false),
        ),
        (vision, json!({}), json!({ "ladder": "none" }), (None, true)),
        (
            vision,
            json!({}),
            json!({ "ladder": "auto" }),
            (Some(Ladder::Auto), true),
        ),
        (
            vision,
            of_board("score"),
            json!({}),
            (Some(Ladder::Rounded), false),
        ),
        // all of whose leaderboards say themselves that they show scores alone
        (
            vision,
            json!({ "feedback": "metrics", "leaderboards": { "open": { "feedback": "score" } } }),
            json!({ "leaderboards": ["open"] }),
            (Some(Ladder::Rounded), false),
        ),
        // what shows more than digits
        (vision, json!({ "feedback": "metrics" }), json!({}), (None, false)),
        (
            vision,
            json!({ "feedback": "metrics" }),
            json!({ "feedback": "score" }),
            (Some(Ladder::Rounded), false),
        ),
        (vision, json!({}), json!({ "feedback": "full" }), (None, false)),
        (vision, of_board("metrics"), json!({}), (None, false)),
        (
            vision,
            of_board("metrics"),
            json!({ "leaderboards": ["another"] }),
            (Some(Ladder::Rounded), false),
        ),
        (vision, json!({}), retire, (None, false)),
        // the digits would never be shown
        (vision, json!({}), json!({ "closes": null }), (None, false)),
        (curves, json!({}), json!({}), (Some(Ladder::Rounded), false)),
        (curves, json!({}), json!({ "ladder": "none" }), (None, true)),
    ] {
        let found = ladder_of(benchmark, rules.clone(), more.clone());
        assert_eq!(found, expected, "{benchmark} {rules} {more}");
    }
}

#[test]
#[allow(clippy::too_many_lines)] // one case after another
fn whoever_says_no_ladder_is_warned_of_rounds_that_are_not_rounded_until_their_close() {
    let hosted = [
        Descriptor::of::<VisionSelection>(),
        Descriptor::of::<VisionDebugging>(),
    ];
    let dataset = |of: &str| json!(dataperf::Digest::of(of.as_bytes()));
    let round = |id: &str, keys: Value| {
        let mut round =
            json!({ "id": id, "opens": "2026-03-01T00:00:00Z", "closes": "2026-04-01T00:00:00Z" });
        for (key, value) in keys.as_object().unwrap() {
            round[key] = value.clone();
        }
        round.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        round
    };
    let one = |keys: Value| vec![round("one", keys)];
    let then = |keys: Value| {
        let later = json!({ "opens": "2026-04-01T00:00:00Z", "closes": "2026-05-01T00:00:00Z", "dataset": dataset("later") });
        vec![round("one", keys), round("two", later)]
    };
    let vision = "vision-selection";
    let retire = json!({ "at": "2026-03-20T00:00:00Z", "dataset": dataset("fresh") });
    let cases = [
        (vision, one(json!({})), None),
        (
            vision,
            one(json!({ "closes": null })),
            Some(("not_rounded", "never closes")),
        ),
        (vision, one(json!({ "closes": null, "ladder": "none" })), None),
        (
            vision,
            one(json!({ "closes": null, "feedback": "metrics" })),
            None,
        ),
        (
            vision,
            then(json!({})),
            Some((
                "stays_rounded",
                "`two` may be scored with the same data and closes at 2026-05-01",
            )),
        ),
        (vision, then(json!({ "ladder": "none" })), None),
        (vision, then(json!({ "ladder": "rounded" })), None),
        (vision, then(json!({ "dataset": dataset("now") })), None),
        (
            vision,
            one(json!({ "dataset": dataset("now"), "retire": retire })),
            Some(("not_rounded", "a retirement")),
        ),
        (
            vision,
            then(json!({ "final": dataset("last") })),
            Some(("not_rounded", "would wait if scores were rounded")),
        ),
        (
            vision,
            vec![
                round("one", json!({ "final": dataset("last") })),
                round(
                    "two",
                    json!({ "opens": "2026-04-01T00:00:00Z", "closes": null, "ladder": "rounded" }),
                ),
            ],
            Some((
                "not_rounded",
                "`two` may be scored with the same data and never closes",
            )),
        ),
        // what programs meet unseen is in force for nobody
        (
            vision,
            vec![
                round("one", json!({})),
                round(
                    "two",
                    json!({ "opens": "2026-04-01T00:00:00Z", "closes": "2026-05-01T00:00:00Z", "dataset": dataset("hidden"), "division": "closed",
                            "programs": { "public": dataset("public") } }),
                ),
            ],
            None,
        ),
        // over and shown by now
        (
            vision,
            one(
                json!({ "opens": "2026-01-01T00:00:00Z", "closes": "2026-02-01T00:00:00Z", "dataset": dataset("now"),
                             "retire": { "at": "2026-01-20T00:00:00Z", "dataset": dataset("fresh") } }),
            ),
            None,
        ),
        ("vision-debugging", one(json!({})), None),
        (
            "vision-debugging",
            one(json!({ "closes": null })),
            Some(("not_rounded", "never closes")),
        ),
        (
            "vision-debugging",
            one(json!({ "ladder": { "step": 0.05 } })),
            None,
        ),
    ];
    for (benchmark, rounds, expected) in cases {
        let document =
            json!({ "schema": 1, "title": "t", "benchmarks": { benchmark: { "rounds": rounds } } });
        let challenges = check(&document).expect("a challenge");
        let at = "2026-03-15T00:00:00Z".parse().unwrap();
        let warnings = dataperf::challenge::warnings_of_rounding(&document, &challenges, &hosted, at);
        let Some((code, expected)) = expected else {
            assert_eq!(warnings, [], "{document}");
            continue;
        };
        let [warning] = warnings.as_slice() else {
            panic!("{document}: {warnings:?}");
        };
        assert_eq!(warning.code, code);
        let is_rounded = challenges[benchmark].rounds[0].ladder.is_some();
        assert_eq!(is_rounded, code == "stays_rounded", "{document}");
        assert_eq!(warning.at, format!("/benchmarks/{benchmark}/rounds/0"));
        assert!(warning.message.contains(expected), "{}", warning.message);
    }
}

#[test]
fn a_data_set_is_retired_within_its_round_for_one_that_nobody_has_seen() {
    let digest = |of: &str| json!(dataperf::Digest::of(of.as_bytes()));
    let with = |keys: Value| {
        let mut round = json!({ "id": "one", "opens": "2026-03-01T00:00:00Z", "closes": "2026-04-01T00:00:00Z", "dataset": digest("old") });
        for (key, value) in keys.as_object().unwrap() {
            round[key] = value.clone();
        }
        let next = json!({ "id": "two", "opens": "2026-04-01T00:00:00Z", "dataset": digest("new") });
        with_rounds(&json!([round, next]))
    };
    let at = |key: &str| format!("/benchmarks/speech-selection/rounds/0/{key}");
    let date = "2026-03-09T00:00:00Z";
    for fine in [
        json!({ "at": date, "dataset": digest("fresh") }),
        json!({ "after_submissions": 1, "dataset": digest("fresh") }),
        json!({ "at": date, "dataset": digest("new") }), // the next round is later
    ] {
        assert!(check(&with(json!({ "retire": fine }))).is_ok(), "{fine}");
    }
    for (retire, expected) in [
        (json!("soon"), vec![("bad_retire", "retire")]),
        (
            json!({}),
            vec![("bad_retire", "retire"), ("missing_key", "retire/dataset")],
        ),
        (
            json!({ "at": date, "after_submissions": 0, "dataset": 7, "when": 1 }),
            vec![
                ("unknown_key", "retire/when"),
                ("bad_retire", "retire"),
                ("bad_limit", "retire/after_submissions"),
                ("wrong_type", "retire/dataset"),
            ],
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
        // nobody knows when that is
        (
            json!({ "after_submissions": 9, "dataset": digest("new") }),
            vec![("successor_in_use", "retire/dataset")],
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
        (json!({ "ladder": "auto" }), "retire_with_ladder", "retire"),
        (json!({ "final": digest("fresh") }), "final_in_use", "final"),
    ] {
        let mut keys = keys;
        keys["retire"] = fresh.clone();
        assert_eq!(codes(&with(keys)), [(code.to_owned(), at(key))]);
    }
}

#[test]
fn what_takes_place_at_once_is_warned_of() {
    let digest = |of: &str| json!(dataperf::Digest::of(of.as_bytes()));
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
fn a_final_board_waits_for_rounds_with_the_same_data() {
    let past = |ladder: Option<&str>, pinned: Option<&str>| {
        let mut round = json!({ "id": "past", "leaderboards": ["en-25"], "opens": "2026-01-01T00:00:00Z", "closes": "2026-02-01T00:00:00Z",
            "final": dataperf::Digest::of(b"last"), "ladder": ladder });
        if let Some(pinned) = pinned {
            round["dataset"] = json!(dataperf::Digest::of(pinned.as_bytes()));
        }
        round
    };
    let by = |past: serde_json::Value, closes: Option<&str>| {
        let other = json!({ "id": "other", "leaderboards": ["en-25"], "opens": "2026-03-01T00:00:00Z", "closes": closes,
            "dataset": dataperf::Digest::of(b"a") });
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
    assert_eq!(by(past(None, Some("a")), in_2027), alone);
    assert_eq!(by(past(Some("rounded"), Some("a")), in_2027), waits);
    assert_eq!(by(past(Some("rounded"), Some("b")), in_2027), alone);
    assert_eq!(by(past(Some("rounded"), None), in_2027), waits);
    assert_eq!(by(past(Some("rounded"), Some("a")), None), None);
}

#[test]
fn the_default_ladder_considers_published_rounds() {
    let hosted = Descriptor::of::<VisionSelection>();
    let round = |id: &str, month: u8, keys: Value| {
        let mut round = json!({ "id": id, "opens": format!("2026-0{month}-01T00:00:00Z"), "closes": format!("2026-0{}-01T00:00:00Z", month + 1) });
        for (key, value) in keys.as_object().unwrap() {
            round[key] = value.clone();
        }
        json!({ "schema": 1, "title": "t", "benchmarks": { "vision-selection": { "rounds": [round] } } })
    };
    let with = |document: &Value, published: &Value| {
        let published = check(published)
            .expect("a challenge")
            .remove("vision-selection")
            .unwrap();
        let mut challenges = check(document).expect("a challenge");
        let own = challenges.remove("vision-selection").unwrap();
        let mut merged = own.merged_into(&published, &[]).expect("both");
        dataperf::challenge::set_default_ladders(document, &mut merged, &hosted);
        let ladders: Vec<bool> = merged.rounds.iter().map(|round| round.ladder.is_some()).collect();
        let challenges = BTreeMap::from([("vision-selection".to_owned(), merged)]);
        let at = "2026-03-15T00:00:00Z".parse().unwrap();
        let hosted = [Descriptor::of::<VisionSelection>()];
        let warnings = dataperf::challenge::warnings_of_rounding(document, &challenges, &hosted, at);
        let warnings: Vec<(String, String)> = warnings.into_iter().map(|one| (one.code, one.at)).collect();
        (ladders, warnings)
    };
    let warning = |code: &str| {
        vec![(
            code.to_owned(),
            "/benchmarks/vision-selection/rounds/0".to_owned(),
        )]
    };
    let last = json!({ "final": dataperf::Digest::of(b"last") });
    let (spring, summer) = (round("spring", 3, last), round("summer", 5, json!({})));
    // the published round closes later: a final board would wait for it
    assert_eq!(
        with(&spring, &summer),
        (vec![false, true], warning("not_rounded"))
    );
    // the published round is rounded, and waits for the later one
    assert_eq!(
        with(&summer, &spring),
        (vec![true, true], warning("stays_rounded"))
    );
    let pinned = |data: &[u8], month, id| round(id, month, json!({ "dataset": dataperf::Digest::of(data) }));
    let apart = with(&pinned(b"a", 3, "spring"), &pinned(b"b", 5, "summer"));
    assert_eq!(apart, (vec![true, true], vec![]));
}
