//! How much of a verdict is shown at each level.

use dataperf::benchmark::scorecard::Metrics;
use dataperf::{Descriptor, Digest, Feedback, Scorecard, Verdict};
use dataperf_benchmarks::vision_debugging::VisionDebugging;
use serde_json::{Value, json};

const HOSTED: Descriptor = Descriptor::for_benchmark::<VisionDebugging>();

fn debugging() -> Verdict {
    let metrics = json!({
        "percent_of_fixes": 50.0, "target_share": 0.95, "unheard_of": 1,
        "tasks": { "a/b": { "accuracy": [0.5, 0.75], "first_step": 1, "n_images": 2, "n_wrong": 1 } },
    });
    let metrics = metrics.as_object().expect("an object").clone();
    let digest = Digest::compute(b"any");
    let card = Scorecard {
        score: 0.5,
        metrics: Metrics::new(),
    };
    Verdict {
        metrics: metrics.into_iter().collect(),
        ..Verdict::scored("vision-debugging", "open", digest, digest, card)
    }
}

#[test]
fn each_level_shows_more_than_the_one_below() {
    let verdict = debugging();
    let at = |level| serde_json::to_value(verdict.shown(level, &HOSTED).metrics).expect("JSON");
    let task =
        |task: Value| json!({ "percent_of_fixes": 50.0, "target_share": 0.95, "tasks": { "a/b": task } });
    let mut at_score = task(json!({ "n_images": 2 }));
    at_score
        .as_object_mut()
        .expect("an object")
        .remove("percent_of_fixes"); // it is the score
    assert_eq!(at(Feedback::Score), at_score);
    assert_eq!(
        at(Feedback::Metrics),
        task(json!({ "n_images": 2, "first_step": 1 }))
    );
    assert_eq!(
        verdict.shown(Feedback::Full, &HOSTED),
        verdict,
        "also what nobody describes"
    );
    assert_eq!(
        verdict.withheld(Feedback::Metrics, &HOSTED),
        ["tasks/*/accuracy", "tasks/*/n_wrong", "unheard_of"]
    );
    assert_eq!(verdict.withheld(Feedback::Score, &HOSTED).len(), 5);
    assert!(verdict.withheld(Feedback::Full, &HOSTED).is_empty());
}

#[test]
fn every_level_shows_the_rest_of_a_verdict() {
    let verdict = debugging();
    let mut shown = verdict.shown(Feedback::Score, &HOSTED);
    shown.metrics.clone_from(&verdict.metrics);
    assert_eq!(shown, verdict);
}
