//! The demo's submissions score as scikit-learn scores them, offline and in the cloud, and their receipts prove it.

use std::fs;

use dataperf::{Ending, Feedback, Receipt};
use serde_json::{Value, json};

use crate::support::project::{
    BENCHMARK, Demo, Ran, dataperf, demo_submissions, floats, frozen, good, hosted, score,
};
use crate::support::words;
use crate::support::world::World;

const TOLERANCE: f64 = 1e-9;

/// The largest difference between a verdict and scikit-learn, over the score and every seed's.
fn difference(demo: &Demo, verdict: &Value) -> f64 {
    let expected = demo.expected.as_ref().unwrap();
    let per_seed = floats(&verdict["metrics"]["per_seed"]);
    assert_eq!(per_seed.len(), expected.per_seed.len());
    let score = (verdict["score"].as_f64().unwrap() - expected.score).abs();
    let of_seeds = per_seed
        .iter()
        .zip(&expected.per_seed)
        .map(|(ours, theirs)| (ours - theirs).abs());
    of_seeds.fold(score, f64::max)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cloud_scores_match_scikit_learn_and_receipts_verify() {
    let world = World::new().await;
    let demos = demo_submissions();
    let mut sent = Vec::new();
    for demo in &demos {
        sent.push(world.put(&demo.key, fs::read(&demo.path).unwrap()).await);
    }
    let receipts = world.receipts(&sent).await;
    let mut largest: f64 = 0.0;
    for (demo, sent) in demos.iter().zip(&sent) {
        let receipt = serde_json::to_value(&receipts[&sent.id()]).unwrap();
        let status = if demo.expected.is_some() {
            "scored"
        } else {
            "rejected"
        };
        assert_eq!(receipt["status"], status, "{}", demo.key);
        if demo.expected.is_some() {
            largest = largest.max(difference(demo, &receipt));
        }
        let ran = verify(&world, &receipt, demo);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(ran.json()["verified"], true);
        let offline = score(&demo.leaderboard, &demo.path);
        assert_eq!(offline.code == 0, demo.expected.is_some(), "{offline:?}");
        for (field, value) in offline.json().as_object().unwrap() {
            assert_eq!(&receipt[field], value, "`{field}` of {}", demo.key);
        }
    }
    assert!(largest < TOLERANCE, "differs by {largest:e}");
    println!("largest difference from scikit-learn: {largest:e}");
}

/// `dataperf verify` on a receipt that may have been tampered with.
fn verify(world: &World, receipt: &Value, demo: &Demo) -> Ran {
    let path = world.scratch().join("receipt.json");
    fs::write(&path, receipt.to_string()).unwrap();
    let words = ["--format", "json", "verify"].map(str::as_ref);
    let paths = [
        path.as_os_str(),
        "--dataset".as_ref(),
        frozen().as_os_str(),
        "--artifact".as_ref(),
        demo.path.as_os_str(),
    ];
    dataperf(words.into_iter().chain(paths))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_receipt_is_not_verified() {
    let world = World::new().await;
    let demos = demo_submissions();
    let [demo, other] = [0, 1].map(|n| {
        demos
            .iter()
            .filter(|demo| demo.leaderboard == "en-25")
            .nth(n)
            .unwrap()
    });
    let receipt = world
        .only_receipt(&world.put(&demo.key, fs::read(&demo.path).unwrap()).await)
        .await;
    let genuine = serde_json::to_value(&receipt).unwrap();
    assert_eq!(verify(&world, &genuine, demo).code, 0);

    let last_digit = genuine["score"].as_f64().unwrap().next_up();
    let of_seed = genuine["metrics"]["per_seed"][9].as_f64().unwrap().next_down();
    let digest = format!("sha256:{}", "0".repeat(64));
    let other_digest = if genuine["dataset"].as_str().unwrap().contains(':') {
        digest
    } else {
        "0".repeat(64)
    };
    for (at, value) in [
        ("/score", json!(last_digit)),
        ("/metrics/per_seed/9", json!(of_seed)),
        ("/metrics/n_clips", json!(24)),
        ("/status", json!("rejected")),
        ("/dataset", json!(other_digest)),
        ("/artifact", json!(other_digest)),
        ("/evaluator", json!("dataperf 0.0.0")),
    ] {
        let mut changed = genuine.clone();
        *changed.pointer_mut(at).unwrap() = value;
        let ran = verify(&world, &changed, demo);
        assert_eq!(ran.code, 1, "{at}: {ran:?}");
        let document = ran.json();
        assert_eq!(document["verified"], false);
        let field = at.split('/').nth(1).unwrap();
        let named = document["differences"]
            .as_array()
            .unwrap()
            .iter()
            .any(|difference| difference["field"] == field);
        assert!(named, "{at}: {document}");
    }
    let of_other = verify(&world, &genuine, other);
    assert_eq!(of_other.code, 1, "the receipt of another artifact");
    assert!(of_other.stderr.contains("not verified"), "{of_other:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_submits_and_shows() {
    let world = World::new().await;
    let artifact = world.scratch().join("first try.json");
    fs::write(&artifact, good(0)).unwrap();
    let artifact = artifact.to_str().unwrap();
    let submit = [
        "submit",
        BENCHMARK,
        "--leaderboard",
        "en-25",
        "--submitter",
        "ada",
        artifact,
    ];
    let ran = world.ran(submit);
    let receipt: Receipt = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(receipt.verdict.status, Ending::Scored);

    let id = receipt.submission.to_string();
    let shown = world.command(["status", BENCHMARK, &id]);
    let whole: Receipt = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(
        (
            shown.code,
            whole.shown(Feedback::Metrics, hosted(&whole.verdict.benchmark))
        ),
        (0, receipt.unsigned()),
        "the table keeps everything, and the receipt in the bucket what is shown"
    );
    let history = world.command(["status", BENCHMARK, "--submitter", "ada"]).json();
    assert_eq!(
        (history.as_array().unwrap().len(), &history[0]["submission"]),
        (1, &json!(id))
    );
    assert_eq!(
        world.command(["status", BENCHMARK]).json(),
        json!([]),
        "nothing is unfinished"
    );
    let mut boards = world.command(["leaderboard", BENCHMARK]).json();
    assert_eq!(boards[0]["leaderboard"], "en-25");
    let place = boards[0]["places"][0].as_object_mut().unwrap();
    for compared in [
        "rank_interval",
        "interval",
        "n_submissions",
        "is_above_baselines",
        "area",
    ] {
        place.remove(compared).unwrap();
    }
    let place = json!({ "rank": 1, "is_baseline": false, "submitter": "ada", "score": receipt.verdict.score,
                        "received_at": receipt.received_at, "submission": id,
                        "dataset": receipt.verdict.dataset, "is_of_other_dataset": false, "is_released": false, "public_rank": null });
    assert_eq!(boards[0]["places"], json!([place]));

    fs::write(artifact, "{}").unwrap();
    let ran = world.command(submit);
    assert_eq!(ran.code, 2, "a rejected artifact: {ran:?}");
    assert_eq!(ran.json()["status"], "rejected");
    let unknown = world.command(["status", BENCHMARK, &"0".repeat(32)]);
    unknown.assert_refused("has no submission");
    let by_digits = world.command(["status", BENCHMARK, &id[..8]]);
    assert_eq!((by_digits.code, &by_digits.stdout), (0, &shown.stdout));
    let other = if id[30..].starts_with('0') { '1' } else { '0' };
    let mistyped = world.command(["status", BENCHMARK, &format!("{}{other}", &id[..30])]);
    mistyped.assert_refused(&format!("did you mean `{id}`?"));
    let misnamed = world.command(words!(
        "submit {BENCHMARK} --leaderboard en-25 --submitter a#b {artifact}"
    ));
    misnamed.assert_refused("`a#b`");
}
