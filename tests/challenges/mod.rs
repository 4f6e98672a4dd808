//! Challenges end to end: rounds by the time of the upload, limits under a rush, baselines, withdrawals, re-scoring.

mod access_patterns;
mod boards;
mod documents;
mod limits;
mod rescoring;
mod rounds;

use std::fs;

use dataperf::Receipt;
use dataperf::ports::bucket::{Bucket, Got};
use serde_json::{Value, json};

use crate::support::project::{BENCHMARK, Ran, good, hosted};
use crate::support::world::{SAMPLE_BUCKET, Sent, World, key};

/// Publishes a challenge with these rounds and no others.
pub(crate) fn publish(world: &World, rounds: &Value) -> Ran {
    let shown = world.command(["challenge", "show", BENCHMARK]);
    let published = (shown.code == 0).then(|| shown.json()["rounds"].clone());
    let id = |round: &Value| round["id"].as_str().unwrap_or_default().to_owned();
    let own: Vec<String> = rounds.as_array().unwrap().iter().map(id).collect();
    let mut removed: Vec<String> = published
        .iter()
        .flat_map(|boards| boards.as_array().unwrap())
        .map(id)
        .collect();
    removed.retain(|id| !own.contains(id));
    let document =
        json!({ "schema": 1, "title": "Spring", "benchmarks": { BENCHMARK: { "rounds": rounds } } });
    let path = world.scratch().join("challenge.yaml");
    fs::write(&path, document.to_string()).unwrap(); // JSON is YAML
    let mut command = vec!["challenge", "publish", path.to_str().unwrap()];
    command.extend(removed.iter().flat_map(|id| ["--remove", id.as_str()]));
    world.command(&command)
}

/// Publishes a contest, with a Ladder or without.
pub(crate) fn publish_ladder(world: &World, ladder: bool, closes: &str) {
    let round =
        json!({ "id": "spring", "opens": "2020-01-01T00:00:00Z", "closes": closes, "ladder": ladder });
    let ran = publish(world, &json!([round]));
    assert_eq!(ran.code, 0, "{ran:?}");
}

pub(super) async fn stored(world: &World, key: &str) -> Option<Receipt> {
    match world.bucket("results").get(key, None, 1 << 20).await.unwrap() {
        Got::Object(object) => Some(serde_json::from_slice(&object.bytes).unwrap()),
        _ => None,
    }
}

/// How much a stored receipt shows.
pub(crate) fn as_stored(stored: &Receipt) -> dataperf::Shown {
    dataperf::Shown {
        level: stored.feedback.unwrap(),
        whole_at: None,
        score_at: stored.withheld_until,
    }
}

/// The receipt in the results bucket, which the table's agrees with.
pub(crate) async fn receipt(world: &World, sent: &Sent) -> Receipt {
    let receipt = world.whole_receipt(sent).await;
    let stored = stored(world, &receipt.object_key()).await.expect("it is written");
    assert_eq!(
        stored.unsigned(),
        receipt.shown(as_stored(&stored), hosted(&receipt.verdict.benchmark))
    );
    receipt
}

/// Uploads without a trigger, and delivers an event that says when.
pub(super) async fn upload_at(world: &World, submitter: &str, n: usize, time: &str) -> Receipt {
    let sent = world.put_into(SAMPLE_BUCKET, &key(submitter, n), good(n)).await;
    world.cloud.invoke(BENCHMARK, &sent.event(time)).await.unwrap();
    world.settle().await;
    receipt(world, &sent).await
}

/// Uploads from many tasks at once.
pub(super) async fn rush(world: &World, n: usize, submitter: impl Fn(usize) -> String) -> Vec<Sent> {
    let uploads: Vec<_> = (0..n)
        .map(|n| {
            let (s3, key) = (world.clients.s3.clone(), key(&submitter(n), n));
            tokio::spawn(async move {
                let put = s3
                    .put_object()
                    .bucket("submissions")
                    .key(&key)
                    .body(good(n).into());
                let version = put.send().await.unwrap().version_id.unwrap();
                Sent {
                    bucket: "submissions".into(),
                    key,
                    version,
                }
            })
        })
        .collect();
    let mut sent = Vec::new();
    for upload in uploads {
        sent.push(upload.await.unwrap());
    }
    sent
}
