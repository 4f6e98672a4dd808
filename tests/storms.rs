//! Storms: hundreds of uploads under faults drawn from a seed. Each ends once, with the verdict it would have had on a good
//! day, or failed for a reason, and then has it when it is evaluated again.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use dataperf::benchmarks::speech_selection::SpeechSelection;
use dataperf::dataset::{Dataset, Integrity};
use dataperf::evaluate::evaluate;
use dataperf::{Digest, Ending, Verdict};
use dataperf_datasets::DirectoryBucket;
use dataperf_local::{Config, Storm};

use crate::layout::Layout;
use crate::nothing_lost::key;
use crate::project::{frozen, good};
use crate::world::{Sent, World, with_caretaker};

const SUBMITTERS: [&str; 7] = ["ada", "bo", "cy", "di", "ed", "fay", "gil"];

/// As many different artifacts are uploaded, over and over.
const N_ARTIFACTS: usize = 6;

/// Every third upload breaks a rule, one of them is not JSON at all.
fn artifact(n: usize) -> Vec<u8> {
    match n % N_ARTIFACTS {
        2 => b"{".to_vec(),
        5 => br#"{"targets": {"job": ["job/none.wav"]}, "nontargets": []}"#.to_vec(),
        n => good(n),
    }
}

fn configured(config: &mut Config) {
    with_caretaker(config);
    config.functions[0].concurrency = 4;
    config.retry_backoff = vec![Duration::from_millis(5); 2];
    for function in &mut config.functions {
        // The SDK's own retries wait for seconds; without them every fault reaches the function.
        let once = ("AWS_MAX_ATTEMPTS".to_owned(), "1".to_owned());
        function.environment.extend([once]);
    }
}

/// How many times the usual number of uploads: more by hand, `DATAPERF_STORMS=10 cargo test --workspace storms`.
fn n_uploads(usual: usize) -> usize {
    let times = std::env::var("DATAPERF_STORMS").map_or(1, |times| times.parse().unwrap());
    usual * times
}

async fn upload(world: &World, numbers: std::ops::Range<usize>) -> Vec<Sent> {
    let mut sent = Vec::new();
    for n in numbers {
        sent.push(world.put(&key(SUBMITTERS[n % 7], n), artifact(n)).await);
    }
    sent
}

/// Sweeps until nothing is without an outcome, ends the storm, and holds the books; how many failed, and how many faults.
async fn ride_out(world: &World, sent: &[Sent]) -> (usize, usize) {
    world.settle().await;
    world.sweep().await;
    let injected = world.cloud.faults().injected();
    world.cloud.faults().storm(None);
    world.sweep().await;
    let receipts = world.receipts(sent).await;
    let n_failed = receipts
        .values()
        .filter(|receipt| receipt.verdict.status == Ending::Failed)
        .count();
    let n_faults = injected.values().sum();
    // Not captured by the test harness: how bad the weather was belongs in every log.
    let _ = writeln!(
        std::io::stderr(),
        "{} uploads, {n_faults} faults, {n_failed} failed at first: {injected:?}",
        sent.len()
    );
    (n_failed, n_faults)
}

/// Has evaluated again what failed, and compares every verdict with one that was reached without any cloud.
async fn clear_up(world: &World, sent: &[Sent], datasets: &[&Path]) {
    assert_eq!(world.command(&["redrive", "--all-failed"]).code, 0);
    let receipts = world.receipts(sent).await;
    let mut expected = Vec::new();
    for n in 0..N_ARTIFACTS {
        let mut verdicts = Vec::new();
        for directory in datasets {
            verdicts.push(verdict(directory, n).await);
        }
        expected.push(verdicts);
    }
    for (n, sent) in sent.iter().enumerate() {
        let verdict = &receipts[&sent.id()].verdict;
        let expected = &expected[n % N_ARTIFACTS];
        assert!(
            expected.contains(verdict),
            "upload {n}: {verdict:#?} instead of {expected:#?}"
        );
    }
}

async fn verdict(directory: &Path, n: usize) -> Verdict {
    let manifest = std::fs::read(directory.join("manifest.json")).unwrap();
    let opened = Dataset::<SpeechSelection, _>::open(
        DirectoryBucket::new(directory),
        String::new(),
        Some(Digest::of(&manifest)),
        Integrity::Digests,
    );
    let dataset = opened.await.unwrap();
    evaluate(&dataset, "en-25", &artifact(n)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn functions_are_killed_at_random() {
    let world = World::with(configured).await;
    world.cloud.faults().storm(Some(Storm {
        seed: 7,
        kills_before: 30,
        kills_after: 30,
        ..Storm::default()
    }));
    let sent = upload(&world, 0..n_uploads(60)).await;
    let (_, n_faults) = ride_out(&world, &sent).await;
    assert!(n_faults >= 20, "{n_faults}");
    clear_up(&world, &sent, &[frozen()]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn storage_and_table_are_in_trouble() {
    let world = World::with(configured).await;
    world.cloud.faults().storm(Some(Storm {
        seed: 8,
        s3_unavailable: 60,
        s3_slow: 30,
        s3_cut: 30,
        table_throttled: 60,
        table_errors: 40,
        table_lost_answers: 40,
        ..Storm::default()
    }));
    let sent = upload(&world, 0..n_uploads(60)).await;
    let (n_failed, n_faults) = ride_out(&world, &sent).await;
    assert!(n_failed > 0 && n_faults >= 50, "{n_failed} {n_faults}");
    clear_up(&world, &sent, &[frozen()]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_are_lost_repeated_late_and_of_a_wrong_time() {
    let world = World::with(configured).await;
    world.cloud.faults().storm(Some(Storm {
        seed: 9,
        events_dropped: 150,
        events_duplicated: 300,
        events_delayed: 400,
        longest_delay: Duration::from_millis(300),
        events_skewed: 200,
        largest_skew: Duration::from_hours(2),
        ..Storm::default()
    }));
    let sent = upload(&world, 0..n_uploads(80)).await;
    let (_, n_faults) = ride_out(&world, &sent).await;
    assert!(n_faults >= 40, "{n_faults}");
    clear_up(&world, &sent, &[frozen()]).await;
}

/// All of it at once, the data set switched and the whole cloud restarted in between.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_at_once() {
    let mut world = World::with(|config| {
        configured(config);
        config.shutdown_grace = Duration::ZERO;
    })
    .await;
    let storm = Storm {
        seed: 10,
        kills_before: 8,
        kills_after: 8,
        s3_unavailable: 20,
        s3_cut: 10,
        table_throttled: 20,
        table_errors: 10,
        table_lost_answers: 15,
        events_dropped: 60,
        events_duplicated: 150,
        events_delayed: 200,
        longest_delay: Duration::from_millis(200),
        ..Storm::default()
    };
    let n = n_uploads(25);
    world.cloud.faults().storm(Some(storm.clone()));
    let mut sent = upload(&world, 0..n).await;
    let other = world.scratch().join("other");
    Layout::default().import(world.scratch(), &other).unwrap();
    world.publish(&other);
    sent.extend(upload(&world, n..2 * n).await);
    world.restart().await;
    world.cloud.faults().storm(Some(Storm { seed: 11, ..storm }));
    world.publish(frozen());
    sent.extend(upload(&world, 2 * n..3 * n).await);
    ride_out(&world, &sent).await;
    clear_up(&world, &sent, &[frozen(), &other]).await;
}
