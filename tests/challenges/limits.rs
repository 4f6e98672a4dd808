//! Limits, in a rush and after failures.

use std::time::Duration;

use dataperf::Ending;
use dataperf::ports::leaderboard::Leaderboards;
use serde_json::json;

use super::{codes, key, publish, receipt, rush};
use crate::project::{BENCHMARK, good};
use crate::world::{World, with_caretaker};

/// The limit is the round's: a day may end while the test runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_uploads_at_once_at_a_limit_of_five() {
    let world = World::with(|config| config.functions[0].concurrency = 4).await;
    let ran = publish(
        &world,
        &json!([{ "id": "ever", "opens": "2020-01-01T00:00:00Z", "total_limit": 5 }]),
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    world.cloud.faults().duplicate_events(2);
    let sent = rush(&world, 16, |_| "ada".into()).await;
    world.settle().await;
    let mut n_scored = 0;
    for sent in &sent {
        let receipt = receipt(&world, sent).await;
        if receipt.verdict.status == Ending::Scored {
            n_scored += 1;
            continue;
        }
        assert_eq!(codes(&receipt), ["total_limit"]);
        let reason = &receipt.verdict.reasons[0];
        assert_eq!((reason.limit, reason.actual), (Some(5), Some(5)));
    }
    assert_eq!(n_scored, 5);
    let bo = world.put(&key("bo", 0), good(0)).await;
    world.settle().await;
    assert_eq!(
        receipt(&world, &bo).await.verdict.status,
        Ending::Scored,
        "everybody has limits of their own"
    );
}

/// What the platform failed takes nothing of a limit, and counts in its round once it is evaluated after all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_does_not_count_until_it_is_evaluated_again() {
    let mut world = World::with(|config| {
        with_caretaker(config);
        config.functions[0].timeout = Duration::from_millis(1);
    })
    .await;
    let ran = publish(
        &world,
        &json!([{ "id": "ever", "opens": "2020-01-01T00:00:00Z", "total_limit": 2 }]),
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    let mut failed = Vec::new();
    for submitter in ["ada", "bo"] {
        let sent = world.put(&key(submitter, 0), good(0)).await;
        world.settle().await;
        assert_eq!(codes(&receipt(&world, &sent).await), ["time_limit"]);
        failed.push(sent);
    }
    world
        .change(|config| config.functions[0].timeout = Duration::from_mins(1))
        .await;
    for n in 1..3 {
        let sent = world.put(&key("ada", n), good(n)).await;
        world.settle().await;
        assert_eq!(
            receipt(&world, &sent).await.verdict.status,
            Ending::Scored,
            "upload {n}"
        );
    }
    assert_eq!(world.command(&["redrive", "--all-failed"]).code, 0);
    world.settle().await;
    let (ada, bo) = (
        receipt(&world, &failed[0]).await,
        receipt(&world, &failed[1]).await,
    );
    assert_eq!(
        codes(&ada),
        ["total_limit"],
        "others have taken its place meanwhile"
    );
    assert_eq!((bo.round.as_str(), bo.verdict.status), ("ever", Ending::Scored));
    let table = world.leaderboards();
    assert_eq!(table.failed(BENCHMARK).await.unwrap(), []);
    assert_eq!(table.unfinished(BENCHMARK).await.unwrap(), []);
    let boards = world.command(&["leaderboard", BENCHMARK]).json();
    assert_eq!(boards.as_array().unwrap().len(), 1, "{boards}");
    assert_eq!(boards[0]["round"], "ever");
    assert_eq!(boards[0]["places"].as_array().unwrap().len(), 2);
}
