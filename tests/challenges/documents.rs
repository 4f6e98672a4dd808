//! The document that an organizer publishes.

use std::collections::BTreeSet;

use dataperf::ports::bucket::Bucket;
use serde_json::json;

use super::{key, publish, receipt};
use crate::people::organizer_mistakes::{digest, other_dataset};
use crate::support::project::{BENCHMARK, good};
use crate::support::world::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_document_reports_everything_and_changes_nothing() {
    let world = World::new().await;
    let ran = publish(
        &world,
        &json!([{ "id": "Spring", "opens": "soon" }, { "id": "x", "opens": "2026-03-01T00:00:00Z", "limit": 1 }]),
    );
    let codes: BTreeSet<String> = crate::support::project::codes(&ran.json()).into_keys().collect();
    assert_eq!(
        (ran.code, codes),
        (
            2,
            ["bad_round_id", "unknown_key", "wrong_type"]
                .map(String::from)
                .into()
        ),
        "{ran:?}"
    );
    let other = digest(&other_dataset(&world));
    let ran = publish(
        &world,
        &json!([
            { "id": "a", "opens": "2026-03-01T00:00:00Z", "closes": "2026-03-02T00:00:00Z", "leaderboards": ["en-26"] },
            { "id": "b", "opens": "2026-03-02T00:00:00Z", "dataset": other.to_string() },
        ]),
    );
    let codes: BTreeSet<String> = crate::support::project::codes(&ran.json()).into_keys().collect();
    assert_eq!(
        (ran.code, codes),
        (
            2,
            ["unknown_leaderboard", "unusable_dataset"]
                .map(String::from)
                .into()
        ),
        "{ran:?}"
    );
    let ran = world.command(["challenge", "show", BENCHMARK]);
    ran.assert_refused("no challenge is published");

    world
        .bucket("datasets")
        .put(&format!("{BENCHMARK}/challenge.json"), "[]".into())
        .await
        .unwrap();
    let sent = world.put(&key("ada", 0), good(0)).await;
    let (event, error) = world.only_failure().await;
    assert_eq!(error["errorType"], "OrganizerFault", "{error}");
    assert_eq!(
        world.command(["status"]).json()[0]["submission"],
        json!(sent.id()),
        "it is shown as unfinished"
    );
    assert_eq!(world.command(["challenge", "remove", BENCHMARK]).code, 0);
    assert_eq!(
        publish(&world, &json!([{ "id": "x", "opens": "2020-01-01T00:00:00Z" }])).code,
        0
    );
    world.cloud.invoke(BENCHMARK, &event).await.unwrap();
    world.settle().await;
    assert_eq!(receipt(&world, &sent).await.round, "x");
    assert_eq!(
        world.command(["challenge", "show", BENCHMARK]).json()["rounds"][0]["id"],
        "x"
    );
}
