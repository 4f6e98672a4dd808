//! Challenges of Adversarial Nibbler.

use dataperf::challenge::{Ranking, check};
use dataperf::{Reason, pointer};
use dataperf_collections::nibbler::{BENCHMARK as ADVERSARIAL_NIBBLER, DESCRIPTOR};
use serde_json::{Value, json};

fn codes(document: &Value) -> Vec<(String, String)> {
    let rejection = check(document, &[DESCRIPTOR]).expect_err("something is wrong");
    let code = |reason: &Reason| (reason.code.clone(), reason.at.clone());
    rejection.reasons().iter().map(code).collect()
}

#[test]
fn nibbler_rounds_cover_both_boards_with_own_limits() {
    let with = |benchmark: Value| json!({ "schema": 1, "title": "t", "benchmarks": { ADVERSARIAL_NIBBLER: benchmark } });
    let round = |more: Value| {
        let mut round =
            json!({ "id": "a", "opens": "2026-03-01T00:00:00Z", "closes": "2026-04-01T00:00:00Z" });
        round
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        round
    };
    let fits =
        json!({ "rounds": [round(json!({ "leaderboards": ["prompt-creativity", "model-fooling"] }))] });
    let challenges = check(&with(fits), &[DESCRIPTOR]).expect("nothing is wrong");
    assert_eq!(challenges[ADVERSARIAL_NIBBLER].ranking, Ranking::Latest);
    let actual = codes(&with(json!({
        "ranking": "best", "leaderboards": { "model-fooling": { "ranking": "best" } },
        "rounds": [round(json!({
            "leaderboards": ["model-fooling"], "daily_limit": 2, "total_limit": 3, "baselines": ["x"],
            "artifacts": "public",
        }))],
    })));
    let at = |key: &str| pointer(&pointer("/benchmarks", ADVERSARIAL_NIBBLER), "rounds") + "/0/" + key;
    let of_benchmark = |path: &str| format!("/benchmarks/{ADVERSARIAL_NIBBLER}/{path}");
    let expected = [
        ("fixed_ranking", of_benchmark("ranking")),
        (
            "fixed_ranking",
            of_benchmark("leaderboards/model-fooling/ranking"),
        ),
        ("partial_round", at("leaderboards")),
        ("not_of_this_benchmark", at("daily_limit")),
        ("not_of_this_benchmark", at("total_limit")),
        ("not_of_this_benchmark", at("baselines")),
        ("not_of_this_benchmark", at("artifacts")),
    ];
    assert_eq!(actual, expected.map(|(code, at)| (code.to_owned(), at)));
}
