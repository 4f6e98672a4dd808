//! Bad days: whatever is killed, refused, repeated or restarted, each upload ends exactly once.

use std::path::PathBuf;
use std::time::Duration;

use dataperf::Ending;
use dataperf_local::{Config, Moment};

use crate::support::project::{BENCHMARK, good};
use crate::support::small_language::{CLIPS_A_WORD, Layout};
use crate::support::world::{PATIENCE, Sent, World, key};

/// So that each run reads the data set, and none sends concurrent requests.
pub(crate) fn one_process_a_run(config: &mut Config) {
    config.functions[0].concurrency = 1;
    config.idle_timeout = Duration::ZERO;
}

/// Kills the function at each moment of a run in turn, until a run ends before its turn comes; how many were killed.
async fn kill_at(
    moments: impl IntoIterator<Item = Moment>,
    world: &World,
    artifact: impl Fn(usize) -> Vec<u8>,
) -> (usize, Vec<Sent>) {
    let mut sent = Vec::new();
    for moment in moments {
        world.cloud.faults().kill_at(BENCHMARK, moment);
        sent.push(world.put(&key("ada", sent.len()), artifact(sent.len())).await);
        world.settle().await;
        if world.cloud.faults().kill_no_more(BENCHMARK) {
            return (sent.len() - 1, sent);
        }
    }
    unreachable!("each run ends after some requests");
}

/// Before the first request of a run, and after each.
fn every_moment() -> impl Iterator<Item = Moment> {
    std::iter::once(Moment::Before(1)).chain((1..).map(Moment::After))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_function_killed_at_any_moment() {
    let world = World::with(one_process_a_run).await;
    let (n_killed, sent) = kill_at(every_moment(), &world, good).await;
    world.all_scored(&sent).await;
    assert_eq!(world.cloud.snapshot().await.unwrap().n_retried, n_killed);
    assert!(n_killed >= 10, "a run makes some requests: {n_killed}");
}

/// A round's Ladder decides once for each upload: the books compare it with earlier records.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ladder_decides_once_despite_killed_functions() {
    let world = World::with(one_process_a_run).await;
    crate::challenges::publish_ladder(&world, true, "2999-01-01T00:00:00Z");
    let (n_killed, sent) = kill_at(Moment::of_writes(), &world, good).await;
    let receipts = world.receipts(&sent).await;
    assert!(receipts.values().all(|receipt| receipt.climb().is_some()));
    assert_eq!(world.cloud.snapshot().await.unwrap().n_retried, n_killed);
    assert!(n_killed >= 5, "a run writes: {n_killed}");
}

/// A data set that is read in several parts at once: 32 MB.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_function_killed_during_reading_is_retried() {
    let world = World::without_dataset(one_process_a_run).await;
    let directory = large_dataset(&world);
    world.publish(&directory);
    let each_request = (1..).map(Moment::Before);
    let (n_killed, sent) = kill_at(each_request, &world, |_| Layout::default().submission()).await;
    let receipts = world.receipts(&sent).await;
    assert!(
        receipts
            .values()
            .all(|receipt| receipt.verdict.metrics["n_eval"] == LARGE_EVAL)
    );
    assert_eq!(world.cloud.snapshot().await.unwrap().n_retried, n_killed);
    assert!(n_killed >= 15, "a run makes some requests: {n_killed}");
}

const LARGE_EVAL: usize = 8_192;

pub(crate) fn large_dataset(world: &World) -> PathBuf {
    let mut layout = Layout::new(1024);
    layout.repeat_eval(LARGE_EVAL / (4 * CLIPS_A_WORD));
    let out = world.scratch().join("large");
    layout.import(world.scratch(), &out).unwrap();
    out
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn functions_killed_under_load() {
    let world = World::with(|config| {
        config.functions[0].concurrency = 4;
        config.retry_backoff = vec![Duration::from_millis(20); 60]; // so that no event runs out of tries
    })
    .await;
    world.cloud.faults().kill_at_every(BENCHMARK, 47); // twice what a new process asks for in its first run, so that most tries end
    let mut sent = Vec::new();
    for n in 0..48 {
        sent.push(world.put(&key(["ada", "bo", "cy"][n % 3], n), good(n)).await);
    }
    world.all_scored(&sent).await;
    let n_killed = world.cloud.snapshot().await.unwrap().n_retried;
    assert!(n_killed >= 5, "48 runs make more requests: {n_killed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_table_refuses_writes_for_a_while() {
    let world = World::with(|config| config.retry_backoff = vec![Duration::from_millis(200); 60]).await; // no event runs out of tries
    world.cloud.faults().refuse_table_writes(true);
    let mut sent = Vec::new();
    for n in 0..4 {
        sent.push(world.put(&key("ada", n), good(n)).await);
    }
    while world.cloud.snapshot().await.unwrap().n_retried < 4 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(world.items().await.is_empty(), "nothing can have been written");
    world.cloud.faults().refuse_table_writes(false);
    world.all_scored(&sent).await;
    assert_eq!(world.cloud.on_failure().await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redelivery_scores_an_upload_after_refused_writes() {
    let world = World::new().await;
    world.cloud.faults().refuse_table_writes(true);
    let sent = world.put(&key("ada", 0), good(0)).await;
    let (event, error) = world.only_failure().await;
    assert_eq!(error["errorType"], "Transient", "{error}");
    assert!(
        error["errorMessage"]
            .as_str()
            .unwrap()
            .contains("table `dataperf`"),
        "{error}"
    );
    world.cloud.faults().refuse_table_writes(false);
    world.cloud.invoke(BENCHMARK, &event).await.unwrap();
    assert_eq!(world.only_receipt(&sent).await.verdict.status, Ending::Scored);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_delivered_three_times() {
    let world = World::with(|config| config.functions[0].concurrency = 3).await;
    world.cloud.faults().duplicate_events(3);
    let mut sent = Vec::new();
    for n in 0..6 {
        sent.push(world.put(&key("ada", n), good(n)).await);
    }
    sent.push(world.put(&key("ada", 6), "{}").await);
    world.receipts(&sent).await;
    assert_eq!(
        world.cloud.snapshot().await.unwrap().n_succeeded,
        21,
        "each delivery succeeded"
    );
}

async fn uploads_at_once(n_uploads: usize) {
    let world = World::with(|config| config.functions[0].concurrency = 4).await;
    let key = key("ada", 0);
    let mut uploads = Vec::new();
    for n in 0..n_uploads {
        let (s3, key) = (world.clients.s3.clone(), key.clone());
        uploads.push(tokio::spawn(async move {
            let put = s3
                .put_object()
                .bucket("submissions")
                .key(&key)
                .body(good(n).into())
                .send()
                .await
                .unwrap();
            Sent {
                bucket: "submissions".into(),
                key,
                version: put.version_id.unwrap(),
            }
        }));
    }
    let mut sent = Vec::new();
    for upload in uploads {
        sent.push(upload.await.unwrap());
    }
    let receipts = world.receipts(&sent).await;
    let distinct: std::collections::BTreeSet<_> = receipts
        .values()
        .map(|receipt| receipt.verdict.artifact)
        .collect();
    assert_eq!(
        distinct.len(),
        n_uploads.min(6),
        "each version was read, not the newest of them"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_uploads_at_once_to_one_key() {
    uploads_at_once(2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_uploads_at_once_to_one_key() {
    uploads_at_once(16).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cloud_restarts_in_between() {
    let mut world = World::with(|config| config.shutdown_grace = Duration::ZERO).await;
    world.cloud.faults().duplicate_events(2);
    let mut sent = Vec::new();
    for n in 0..12 {
        sent.push(world.put(&key("ada", n), good(n)).await);
        if n % 4 == 3 {
            world.restart().await;
        }
    }
    let receipts = world.all_scored(&sent).await;
    world.restart().await;
    assert_eq!(world.receipts(&sent).await, receipts, "and all of it is kept");
}

/// A run that takes too long is ended, retried, and distinguished from other failures.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_time_limit_that_is_too_short() {
    let mut world = World::with(|config| config.functions[0].timeout = Duration::from_millis(1)).await;
    let sent = world.put(&key("ada", 0), good(0)).await;
    let (event, error) = world.only_failure().await;
    assert!(
        error["errorMessage"].as_str().unwrap().contains("timed out"),
        "{error}"
    );
    world
        .change(|config| config.functions[0].timeout = PATIENCE)
        .await;
    world.cloud.invoke(BENCHMARK, &event).await.unwrap();
    assert_eq!(world.only_receipt(&sent).await.verdict.status, Ending::Scored);
}
