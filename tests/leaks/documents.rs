//! Every way out: the object in the results bucket, and every answer of the read API.

use dataperf::benchmark::scorecard::leaves;
use dataperf::{Feedback, Receipt};
use serde_json::{Value, json};

use crate::read_api::{ADA, ANONYMOUS, BO, ORGANIZER, Reading};
use crate::support::project::{BENCHMARK, dataperf, frozen, good, hosted};
use crate::support::words;
use crate::support::world::World;

/// Everything that somebody can read about a submission, as text.
fn answers(reading: &Reading, who: &str, receipt: &Receipt, is_blind: bool) -> Vec<(String, String)> {
    let url = format!("/api/v1/benchmarks/{BENCHMARK}");
    let (round, id) = (&receipt.round, &receipt.submission);
    let board = format!("{url}/leaderboards/en-25");
    let paths = [
        "/api/v1/benchmarks".to_owned(),
        url.clone(),
        format!("{board}?round={round}&include=spread"),
        format!("{board}?round={round}&include=spread&format=csv"),
        format!("{board}/series?round={round}"),
        format!("{board}/series?round={round}&format=csv"),
        format!("{url}/submissions?submitter=ada"),
        format!("{url}/submissions?submitter=ada&format=csv"),
        format!("{url}/submissions/{id}"),
        format!("{url}/submissions/{id}/figures"),
        format!("{url}/submissions/{id}/figures?format=csv"),
        format!("{url}/submissions/{id}/receipt"),
    ];
    let answer = |path: String| {
        let answer = reading.ask(who, &path);
        let is_of_one = path.contains(receipt.submission.as_str());
        let theirs = who == ADA || who == ORGANIZER || !(path.ends_with("/receipt") || is_blind && is_of_one);
        assert_eq!(answer.status == 200, theirs, "{who} at {path}: {answer:?}");
        (path, String::from_utf8(answer.body).unwrap())
    };
    paths.map(answer).into()
}

/// The numbers of a verdict that need a higher level, as JSON writes them. Whole numbers are left out: others are equal to them.
fn secrets(receipt: &Receipt, level: Feedback) -> Vec<String> {
    let verdict = &receipt.verdict;
    let leaves = leaves(hosted(BENCHMARK).metrics, &verdict.metrics);
    let above = leaves.iter().filter(|leaf| leaf.level() > level);
    let numbers = above.flat_map(|leaf| {
        leaf.value
            .as_array()
            .cloned()
            .unwrap_or_else(|| vec![leaf.value.clone()])
    });
    let telling = numbers.filter(|number| number.as_f64().is_some_and(|number| number.fract() != 0.0));
    let score = json!(verdict.score).to_string();
    telling
        .map(|number| number.to_string())
        .filter(|number| *number != score)
        .collect()
}

/// Every way out, of a submission to a round of each preset.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_output_shows_only_its_preset() {
    for (preset, level) in [
        ("practice", Feedback::Metrics),
        ("contest", Feedback::Score),
        ("blind", Feedback::Nothing),
    ] {
        let world = World::new().await;
        let round =
            json!([{ "id": "spring", "opens": "2026-01-01", "closes": "2999-01-01", "preset": preset }]);
        assert_eq!(crate::challenges::publish(&world, &round).code, 0);
        let sent = world.put(&format!("{BENCHMARK}/en-25/ada/0.json"), good(0)).await;
        world.settle().await;
        let reading = Reading::new(world).await;
        let receipt = reading.world.whole_receipt(&sent).await;
        let (own, released) = (
            json!(receipt.verdict.score).to_string(),
            json!(receipt.public_score()).to_string(),
        );
        let mut hidden = secrets(&receipt, level);
        hidden.extend((level < Feedback::Metrics).then(|| own.clone()));
        hidden.extend((level < Feedback::Score).then(|| released.clone()));
        assert_eq!(
            hidden.is_empty(),
            level == Feedback::Metrics,
            "speech has no curves"
        );

        let exported = reading.world.exported(preset);
        let (object, written) = reading.world.stored_receipt(&receipt).await;
        assert_eq!(object.feedback, Some(level));
        assert_eq!(object.withheld_until.is_some(), preset == "blind");
        let mut texts = vec![
            ("the export".to_owned(), exported),
            ("the bucket".to_owned(), written),
        ];
        for who in [ANONYMOUS, ADA, BO] {
            let read = answers(&reading, who, &receipt, preset == "blind");
            let all: String = read.iter().map(|(_, text)| text.as_str()).collect();
            let numbers = secrets(&receipt, Feedback::Score);
            let shown = numbers.iter().all(|number| all.contains(number.as_str()));
            assert_eq!(shown, level == Feedback::Metrics, "{who} in `{preset}`");
            texts.extend(
                read.into_iter()
                    .map(|(path, text)| (format!("{who} at {path}"), text)),
            );
        }
        for (place, text) in &texts {
            for secret in &hidden {
                assert!(!text.contains(secret.as_str()), "{secret} in `{preset}`: {place}");
            }
        }
        let of_organizer = answers(&reading, ORGANIZER, &receipt, false);
        let of_organizer: String = of_organizer.into_iter().map(|(_, text)| text).collect();
        for secret in secrets(&receipt, Feedback::Score).iter().chain([&own]) {
            assert!(of_organizer.contains(secret), "the organizer sees everything");
        }
    }
}

fn round(closes: &str) -> Value {
    json!([{ "id": "spring", "opens": "2026-01-01T00:00:00Z", "closes": closes, "messages": {} }])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_the_close_everything_is_shown_and_verifies() {
    let world = World::new().await;
    let ran = crate::challenges::publish(&world, &round("2999-01-01T00:00:00Z"));
    assert_eq!(ran.code, 0, "{ran:?}");
    let sent = world.put(&format!("{BENCHMARK}/en-25/ada/x.json"), good(0)).await;
    world.settle().await;
    let receipt = world.whole_receipt(&sent).await;
    let reading = Reading::new(world).await;
    let url = format!(
        "/api/v1/benchmarks/{BENCHMARK}/submissions/{}",
        receipt.submission
    );
    let seen = || {
        let one = reading.ask(ANONYMOUS, &url).json();
        let own: Receipt = serde_json::from_slice(&reading.ask(ADA, &format!("{url}/receipt")).body).unwrap();
        (one, own)
    };
    let verified = |receipt: &Receipt, changed: Option<(&str, Value)>| {
        let (path, artifact) = (
            reading.world.scratch().join("receipt.json"),
            reading.world.scratch().join("artifact.json"),
        );
        let mut json = serde_json::to_value(receipt).unwrap();
        if let Some((at, value)) = changed {
            json["metrics"][at] = value;
        }
        std::fs::write(&path, json.to_string()).unwrap();
        std::fs::write(&artifact, good(0)).unwrap();
        let dataset = frozen().to_str().unwrap();
        let [path, artifact] = [&path, &artifact].map(|path| path.to_str().unwrap());
        dataperf(words!(
            "--format json verify {path} --dataset {dataset} --artifact {artifact}"
        ))
    };

    let (one, own) = seen();
    assert_eq!(
        (&one["feedback"], &one["whole_at"]),
        (&json!("score"), &json!("2999-01-01T00:00:00.000Z"))
    );
    // of the score there is more to come: it is rounded
    let withheld = json!(["f1_per_class/*", "n_eval", "per_seed", "std", "score"]);
    assert_eq!((&one["withheld"], &one["is_released"]), (&withheld, &json!(true)));
    assert_eq!(
        own.unsigned(),
        receipt.shown(Feedback::Score, hosted(&receipt.verdict.benchmark))
    );
    let ran = verified(&own, None);
    assert_eq!(
        (ran.code, &ran.json()["verified"], &ran.json()["withheld"]),
        (0, &json!(true), &withheld)
    );
    for changed in [("n_clips", json!(24)), ("std", json!(0.5))] {
        let ran = verified(&own, Some(changed.clone()));
        assert_eq!(
            (ran.code, &ran.json()["verified"]),
            (1, &json!(false)),
            "{changed:?}"
        );
    }

    let release = || {
        reading
            .world
            .command(["challenge", "release", BENCHMARK, "spring"])
    };
    let early = release();
    early.assert_refused("2999-01-01T00:00:00.000Z");
    assert_eq!(
        reading.world.stored_receipt(&receipt).await.0.unsigned(),
        receipt.shown(Feedback::Score, hosted(&receipt.verdict.benchmark))
    );

    let ran = crate::challenges::publish(&reading.world, &round("2026-01-02T00:00:00Z"));
    assert_eq!(ran.code, 0, "{ran:?}");
    for n_written in [1, 0] {
        let ran = release();
        let message = ran.json();
        assert_eq!(
            (ran.code, &message["receipts"], &message["scores"]),
            (0, &json!(n_written), &json!(1)),
            "{ran:?}"
        );
        assert_eq!(
            reading.world.stored_receipt(&receipt).await.0.unsigned(),
            receipt.shown(Feedback::Full, hosted(&receipt.verdict.benchmark))
        );
    }
    let (one, own) = seen();
    assert_eq!(
        (&one["feedback"], &one["whole_at"], &one["withheld"]),
        (&json!("full"), &Value::Null, &json!([]))
    );
    assert_eq!(
        own.unsigned(),
        receipt.shown(Feedback::Full, hosted(&receipt.verdict.benchmark))
    );
    assert!(own.signature.is_some(), "what was released is signed");
    let ran = verified(&own, None);
    assert_eq!((ran.code, &ran.json()["withheld"]), (0, &json!([])));
}
