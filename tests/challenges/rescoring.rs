//! Scoring a board again, with functions that are killed meanwhile.

use std::time::Duration;

use dataperf::board::Board;
use dataperf::table::leaderboard::Leaderboards;
use serde_json::json;

use super::{key, receipt, stored};
use crate::people::organizer_mistakes::{digest, other_dataset};
use crate::support::project::{BENCHMARK, good};
use crate::support::world::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_board_is_scored_again_by_the_functions() {
    let world = World::with(|config| config.retry_backoff = vec![Duration::from_millis(20); 12]).await;
    let mut sent = Vec::new();
    for n in 0..6 {
        sent.push(world.put(&key(["ada", "bo", "cy"][n % 3], n), good(n)).await);
    }
    let before = world.receipts(&sent).await;
    let other = other_dataset(&world);
    world.replace(&other);

    let rescore = |more: &[&str]| {
        let args: Vec<&str> = ["rescore", BENCHMARK, "en-25"]
            .iter()
            .chain(more)
            .copied()
            .collect();
        world.command(&args)
    };
    let broken_off = rescore(&["--timeout", "0", "--batch", "1", "--at-once", "1"]);
    broken_off.assert_refused("continues where it stopped");
    // a cold process makes some twenty requests for the first submission: each that is killed has brought some to their end
    world.cloud.faults().kill_at_every(BENCHMARK, 37);
    let leases = world.short_leases(BENCHMARK);
    let ran = rescore(&["--batch", "2"]);
    drop(leases);
    world.cloud.faults().kill_no_more(BENCHMARK);
    assert!(
        world.cloud.snapshot().await.unwrap().n_retried > 0,
        "some were killed"
    );
    let outcome = ran.json();
    assert_eq!(
        (ran.code, &outcome["submissions"], &outcome["rejected"]),
        (0, &json!(6), &json!(0)),
        "{ran:?}"
    );
    world.settle().await;

    for sent in &sent {
        let now = receipt(&world, sent).await;
        let first = &before[&sent.id()];
        assert_eq!(
            (now.revision, now.verdict.dataset),
            (2, Some(digest(&other))),
            "once, however often it broke off"
        );
        assert_eq!(
            now.object_key(),
            format!("{}.2.json", first.object_key().trim_end_matches(".json"))
        );
        assert_eq!(
            stored(&world, &first.object_key()).await.as_ref(),
            Some(first),
            "the earlier receipt is kept"
        );
        assert_eq!(
            (now.received_at, &now.verdict.artifact),
            (first.received_at, &first.verdict.artifact)
        );
    }
    let board = Board {
        benchmark: BENCHMARK.into(),
        leaderboard: "en-25".into(),
        round: "open".into(),
    };
    let top = world.leaderboards().top(&board, 10).await.unwrap();
    assert_eq!(top.len(), 3, "never two rows");
    let places = outcome["places"].as_array().unwrap();
    for (place, row) in places.iter().zip(&top) {
        assert_eq!(place["submitter"], json!(row.entry.submitter));
        assert_eq!(
            (&place["after"]["score"], &place["after"]["rank"]),
            (&json!(row.entry.score), &json!(row.rank))
        );
        let best = before
            .values()
            .filter(|receipt| receipt.submitter == row.entry.submitter);
        let best = best
            .filter_map(|receipt| receipt.verdict.score)
            .fold(0.0, f64::max);
        assert_eq!(place["before"]["score"], json!(best));
    }
    assert_eq!(world.leaderboards().series(&board).await.unwrap().len(), 6);
    let left = world
        .clients
        .s3
        .list_object_versions()
        .bucket("submissions")
        .prefix(format!("{BENCHMARK}/_/"));
    assert_eq!(
        left.send().await.unwrap().versions().len(),
        0,
        "its requests are removed"
    );

    let again = rescore(&[]).json();
    assert_eq!(
        (&again["submissions"], &again["changed"]),
        (&json!(6), &json!(0)),
        "{again}"
    );
    assert_eq!(receipt(&world, &sent[0]).await.revision, 3);
}

/// Whoever can upload can store a request; it scores nothing unless the organizer has begun a run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_without_a_run_scores_nothing() {
    let world = World::new().await;
    let sent = world.put(&key("ada", 0), good(0)).await;
    let before = world.only_receipt(&sent).await;
    let forged = json!({ "leaderboard": "en-25", "round": "open", "run": "2026-03-01T00:00:00.000Z", "submissions": [sent.id()] });
    for (n, request) in [forged.to_string(), "no request".into()].into_iter().enumerate() {
        world
            .put(&format!("{BENCHMARK}/_/rescore/{n}.json"), request)
            .await;
    }
    assert_eq!(
        world.only_receipt(&sent).await,
        before,
        "and leaves nothing behind"
    );
    assert_eq!(world.cloud.on_failure().await.unwrap(), []);
}
