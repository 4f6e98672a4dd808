//! Storms: many uploads under faults drawn from a seed. Each ends once, with the verdict it would have had on a good
//! day, or failed for a reason, and then has it when it is evaluated again.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use dataperf::benchmark::dataset::Dataset;
use dataperf::dataset::Integrity;
use dataperf::evaluation::evaluate::evaluate;
use dataperf::table::leaderboard::Leaderboards as _;
use dataperf::{Digest, Ending, Feedback, Verdict};
use dataperf_benchmarks::speech_selection::SpeechSelection;
use dataperf_datasets::DirectoryBucket;
use dataperf_local::{Config, Storm};

use crate::challenges::publish_ladder;
use crate::support::project::{BENCHMARK, frozen, good, hosted};
use crate::support::small_language::Layout;
use crate::support::world::{Sent, World, key, with_caretaker};

const SUBMITTERS: [&str; 7] = ["ada", "bo", "cy", "di", "ed", "fay", "gil"];

/// How many sweeps in good weather have to be enough.
const MAX_SWEEPS: usize = 5;

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
    without_retries(config);
}

/// The SDK's own retries wait for seconds; without them every fault reaches the function.
pub(crate) fn without_retries(config: &mut Config) {
    for function in &mut config.functions {
        let once = ("AWS_MAX_ATTEMPTS".to_owned(), "1".to_owned());
        function.environment.extend([once]);
    }
}

/// The faults of one step of a loop of people.
pub(crate) fn storm_over_a_step(seed: u64) -> Storm {
    Storm {
        seed,
        kills_before: 8,
        kills_after: 8,
        s3_unavailable: 20,
        s3_slow: 10,
        s3_cut: 10,
        table_throttled: 20,
        table_errors: 10,
        table_lost_answers: 15,
        events_dropped: 60,
        events_duplicated: 150,
        events_delayed: 200,
        longest_delay: Duration::from_millis(200),
        ..Storm::default()
    }
}

impl World {
    /// Lets a step come to its end: what has failed is evaluated again in good weather, and everything is taken.
    pub(crate) async fn end_step(&self, benchmark: &str, sent: &[Sent]) {
        self.settle().await;
        self.sweep().await;
        self.cloud.faults().storm(None);
        self.clear(benchmark).await;
        assert_eq!(self.command(["redrive", "--all-failed"]).code, 0);
        self.clear(benchmark).await;
        for (receipt, _) in self.ended(benchmark, sent).await {
            assert_eq!(receipt.verdict.status, Ending::Accepted, "{receipt:#?}");
        }
    }

    /// Sweeps until everything has ended. One sweep is enough unless the machine is so slow that requests fail without a storm.
    pub(crate) async fn clear(&self, benchmark: &str) {
        let mut logs = String::new();
        for _ in 0..MAX_SWEEPS {
            self.sweep().await;
            let unfinished = self.leaderboards().unfinished(benchmark).await.unwrap();
            if unfinished.is_empty() {
                return;
            }
            let ids: Vec<&str> = unfinished.iter().map(|entry| entry.id.as_str()).collect();
            logs = format!("{unfinished:?}\n{}", self.logs_about(&ids));
            // not captured by the test harness: it belongs in every log
            let _ = writeln!(std::io::stderr(), "unfinished after a sweep: {logs}");
        }
        panic!("unfinished after {MAX_SWEEPS} sweeps: {logs}");
    }

    /// Says which faults there were, where no test harness captures it, and that they were enough to prove something.
    pub(crate) fn assert_stormy(&self, noun: &str, n_sent: usize) {
        let injected = self.cloud.faults().injected();
        let n_faults: usize = injected.values().sum();
        let _ = writeln!(
            std::io::stderr(),
            "{n_sent} uploads of {noun}, {n_faults} faults: {injected:?}"
        );
        assert!(injected.len() >= 8 && n_faults >= n_sent / 5, "{injected:?}");
    }
}

/// Uploads of each storm. Hundreds by hand: `DATAPERF_STORM=200 cargo test --workspace storms`.
pub(crate) fn n_uploads() -> usize {
    std::env::var("DATAPERF_STORM").map_or(50, |n| n.parse().unwrap())
}

async fn upload(world: &World, numbers: std::ops::Range<usize>) -> Vec<Sent> {
    let mut sent = Vec::new();
    for n in numbers {
        sent.push(world.put(&key(SUBMITTERS[n % 7], n), artifact(n)).await);
    }
    sent
}

/// The effects of a storm.
struct Books {
    /// Uploads that had failed when it was over.
    n_failed: usize,
    /// Faults of each kind.
    injected: BTreeMap<&'static str, usize>,
}

impl Books {
    /// Every one of these kinds was met, so that a test of it is one.
    fn met(&self, kinds: &[&str]) {
        let met: Vec<&str> = self.injected.keys().copied().collect();
        let missing: Vec<_> = kinds.iter().filter(|kind| !met.contains(*kind)).collect();
        assert!(missing.is_empty(), "no fault of {missing:?}: {:?}", self.injected);
    }

    /// A fault for every fifth upload, if requests meet the faults.
    fn met_often(&self, kinds: &[&str]) {
        self.met(kinds);
        let n_faults: usize = self.injected.values().sum();
        assert!(n_faults >= n_uploads() / 5, "{:?}", self.injected);
    }
}

/// Sweeps until nothing is without an outcome, ends the storm, and compares the books. `before` are the faults of clouds
/// that were before this one.
async fn ride_out(world: &World, sent: &[Sent], before: BTreeMap<&'static str, usize>) -> Books {
    world.settle().await;
    world.sweep().await;
    let mut injected = before;
    add(&mut injected, world);
    world.cloud.faults().storm(None);
    world.clear(BENCHMARK).await;
    let receipts = world.receipts(sent).await;
    let n_failed = receipts
        .values()
        .filter(|receipt| receipt.verdict.status == Ending::Failed)
        .count();
    let n_faults: usize = injected.values().sum();
    // Not captured by the test harness: what was injected belongs in every log.
    let _ = writeln!(
        std::io::stderr(),
        "{} uploads, {n_faults} faults, {n_failed} failed at first: {injected:?}",
        sent.len()
    );
    Books { n_failed, injected }
}

/// Adds the faults of the cloud as it runs now.
fn add(injected: &mut BTreeMap<&'static str, usize>, world: &World) {
    for (kind, n) in world.cloud.faults().injected() {
        *injected.entry(kind).or_default() += n;
    }
}

/// Retries failed submissions, and compares every verdict with one that was reached without any cloud.
async fn clear_up(world: &World, sent: &[Sent], datasets: &[&Path]) {
    assert_eq!(world.command(["redrive", "--all-failed"]).code, 0);
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
        let whole = world.whole_receipt(sent).await;
        let verdict = &whole.verdict;
        let stored = &receipts[&sent.id()];
        let level = stored.feedback.unwrap();
        assert!([Feedback::Score, Feedback::Metrics].contains(&level), "{level:?}");
        assert_eq!(
            stored.verdict,
            whole.shown(level, hosted(&verdict.benchmark)).verdict
        );
        let expected = &expected[n % N_ARTIFACTS];
        assert!(
            expected.contains(verdict),
            "upload {n}: {verdict:#?} instead of {expected:#?}"
        );
    }
}

async fn verdict(directory: &Path, n: usize) -> Verdict {
    let manifest = std::fs::read(directory.join("manifest.json")).unwrap();
    let opened = Dataset::<SpeechSelection>::open(
        DirectoryBucket::new(directory),
        String::new(),
        Some(Digest::compute(&manifest)),
        Integrity::Digests,
    );
    let dataset = opened.await.unwrap();
    evaluate(&dataset, "en-25", &artifact(n)).await.unwrap()
}

/// Rides out one storm, whose faults are met often.
async fn only(storm: Storm, met_often: &[&str]) -> Books {
    let world = World::with(configured).await;
    world.cloud.faults().storm(Some(storm));
    let sent = upload(&world, 0..n_uploads()).await;
    let books = ride_out(&world, &sent, BTreeMap::new()).await;
    books.met_often(met_often);
    clear_up(&world, &sent, &[frozen()]).await;
    books
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn functions_are_killed_at_random() {
    let storm = Storm {
        seed: 7,
        kills_before: 30,
        kills_after: 30,
        ..Storm::default()
    };
    let killed = [
        "function killed before a request",
        "function killed after a request",
    ];
    only(storm, &killed).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn storage_and_table_are_in_trouble() {
    let storm = Storm {
        seed: 8,
        s3_unavailable: 60,
        s3_skewed: 20,
        s3_slow: 30,
        s3_cut: 30,
        table_throttled: 60,
        table_errors: 40,
        table_lost_answers: 40,
        ..Storm::default()
    };
    let met_often = [
        "S3 503",
        "S3 403 for clock skew",
        "S3 slow",
        "S3 body cut off",
        "DynamoDB throttled",
        "DynamoDB 500",
        "DynamoDB 500 after the effect",
    ];
    let books = only(storm, &met_often).await;
    assert!(books.n_failed > 0, "three tries are not always enough");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_bad_events_loses_nothing() {
    let storm = Storm {
        seed: 9,
        events_dropped: 150,
        events_duplicated: 300,
        events_delayed: 400,
        longest_delay: Duration::from_millis(300),
        events_skewed: 200,
        largest_skew: Duration::from_hours(2),
        ..Storm::default()
    };
    let met_often = [
        "event dropped",
        "event duplicated",
        "event delayed",
        "event overtook an earlier one",
        "event with a wrong time",
    ];
    only(storm, &met_often).await;
}

/// A round whose Ladder releases scores: the books hold every receipt against those that were recorded before it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_with_a_ladder_is_in_trouble() {
    for ladder in [true, false] {
        let world = World::with(configured).await;
        publish_ladder(&world, ladder, "2999-01-01T00:00:00Z");
        world.cloud.faults().storm(Some(Storm {
            seed: 13,
            kills_before: 15,
            kills_after: 15,
            s3_unavailable: 20,
            table_throttled: 30,
            table_errors: 20,
            table_lost_answers: 40,
            events_duplicated: 200,
            events_delayed: 300,
            longest_delay: Duration::from_millis(300),
            ..Storm::default()
        }));
        let sent = upload(&world, 0..n_uploads()).await;
        let books = ride_out(&world, &sent, BTreeMap::new()).await;
        books.met_often(&[
            "function killed after a request",
            "DynamoDB 500 after the effect",
            "event duplicated",
        ]);
        clear_up(&world, &sent, &[frozen()]).await;
    }
}

/// Each process serves one upload, so that each may be short of something.
#[cfg(target_os = "linux")] // others cannot limit a process from outside
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_run_out_of_memory_and_disk() {
    let world = World::with(|config| {
        configured(config);
        config.idle_timeout = Duration::ZERO;
    })
    .await;
    world.cloud.faults().storm(Some(Storm {
        seed: 12,
        memory_short: 250,
        short_memory_bytes: 8 << 20,
        disk_full: 250,
        ..Storm::default()
    }));
    let sent = upload(&world, 0..n_uploads()).await;
    let books = ride_out(&world, &sent, BTreeMap::new()).await;
    // how many processes start, each of which may be short, depends on how busy the machine is
    books.met(&["process out of memory", "process with a full disk"]);
    let n_ended = world.cloud.snapshot().await.unwrap().n_retried;
    let n_short = books.injected["process out of memory"];
    assert!(
        n_ended >= n_short / 2,
        "{n_ended} of {n_short} ended for lack of memory"
    );
    clear_up(&world, &sent, &[frozen()]).await;
}

/// All of it at once but wrong times; every so often the data set is switched or the whole cloud restarted, in the middle of runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_at_once() {
    let mut world = World::with(|config| {
        configured(config);
        config.shutdown_grace = Duration::ZERO;
    })
    .await;
    let other = world.scratch().join("other");
    Layout::default().import(world.scratch(), &other).unwrap();
    let datasets = [frozen(), other.as_path()];
    let storm = Storm {
        seed: 10,
        kills_before: 8,
        kills_after: 8,
        s3_unavailable: 20,
        s3_skewed: 5,
        s3_slow: 10,
        s3_cut: 10,
        table_throttled: 20,
        table_errors: 10,
        table_lost_answers: 15,
        events_dropped: 60,
        events_duplicated: 150,
        events_delayed: 200,
        longest_delay: Duration::from_millis(200),
        memory_short: 50,
        short_memory_bytes: 8 << 20,
        disk_full: 50,
        ..Storm::default()
    };
    let n_parts = 6;
    let n = n_uploads().div_ceil(n_parts);
    let (mut sent, mut injected) = (Vec::new(), BTreeMap::new());
    for part in 0..n_parts {
        let seed = storm.seed + part as u64;
        world.cloud.faults().storm(Some(Storm {
            seed,
            ..storm.clone()
        }));
        sent.extend(upload(&world, part * n..(part + 1) * n).await);
        if part % 2 == 0 {
            let leases = world.short_leases(BENCHMARK);
            world.replace(datasets[(part / 2 + 1) % 2]);
            drop(leases);
        } else if part + 1 < n_parts {
            add(&mut injected, &world);
            world.restart().await;
        }
    }
    let _leases = world.short_leases(BENCHMARK);
    let books = ride_out(&world, &sent, injected).await;
    books.met_often(&[
        "S3 503",
        "DynamoDB throttled",
        "event duplicated",
        "event delayed",
    ]);
    assert!(books.injected.len() >= 9, "{:?}", books.injected);
    clear_up(&world, &sent, &datasets).await;
}
