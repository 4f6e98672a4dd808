//! Very many marks, broken ones among them: a sweep goes through all of them, a few at a time.

use std::collections::HashMap;
use std::io::Write as _;
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use dataperf::board::OPEN_ROUND;
use dataperf::submission::Submission;
use dataperf::table::leaderboard::Leaderboards;
use dataperf::{Ending, SubmissionId, Timestamp, Upload};
use dataperf_local::Storm;
use futures_util::{StreamExt as _, stream};

use crate::support::project::{BENCHMARK, good};
use crate::support::world::{CARETAKER, World, board, key, with_caretaker};

const OLD: i64 = 1_000_000;
/// Marks that a sweep reads at once, and partitions that it reads.
const A_PAGE: usize = 200;
const N_PARTITIONS: usize = 16;
/// The most memory that the function may take, in kilobytes: a debug build has some 40 MB with a single mark.
const MAX_PEAK_KIB: u64 = 120 << 10;

type Item = HashMap<String, AttributeValue>;

fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

/// Marks of submissions that have just been received. 100,000 by hand: `DATAPERF_MARKS=100000 cargo test --workspace sweeping`.
fn n_marks() -> usize {
    std::env::var("DATAPERF_MARKS").map_or(2000, |n| n.parse().unwrap())
}

/// Submissions that have to be ended. Thousands by hand: `DATAPERF_FORGOTTEN=5000 cargo test --workspace sweeping`.
fn n_forgotten() -> usize {
    std::env::var("DATAPERF_FORGOTTEN").map_or(24, |n| n.parse().unwrap())
}

fn mark(partition: &str, id: &SubmissionId, received_at: Timestamp) -> Item {
    let texts = [
        ("pk", partition.to_owned()),
        ("sk", format!("{received_at}#{id}")),
        ("id", id.to_string()),
        ("benchmark", BENCHMARK.to_owned()),
        ("leaderboard", "en-25".to_owned()),
        ("round", OPEN_ROUND.to_owned()),
        ("submitter", "ada".to_owned()),
        ("received_at", received_at.to_string()),
        ("status", "received".to_owned()),
    ];
    let mut item: Item = texts.map(|(name, value)| (name.to_owned(), text(value))).into();
    item.insert("schema".into(), AttributeValue::N("1".into()));
    item
}

fn shard(id: &SubmissionId) -> String {
    format!("{BENCHMARK}#unfinished#{}", &id.as_str()[..1])
}

impl World {
    async fn write(&self, items: Vec<Item>) {
        for items in items.chunks(25) {
            let put = |item: &Item| {
                let put = PutRequest::builder()
                    .set_item(Some(item.clone()))
                    .build()
                    .unwrap();
                WriteRequest::builder().put_request(put).build()
            };
            let request = self.clients.dynamodb.batch_write_item();
            let requests = items.iter().map(put).collect();
            request.request_items("dataperf", requests).send().await.unwrap();
        }
    }

    /// Dates all marks back to the times of their uploads, as if they had been made then.
    async fn marks_as_old_as_their_uploads(&self) {
        let marks = self.items().await.into_iter().filter_map(|mut item| {
            let received_at = item.get("received_at")?.clone();
            *item.get_mut("marked_at")? = received_at;
            Some(item)
        });
        self.write(marks.collect()).await;
    }
}

fn forgotten(n: usize, received_at: Timestamp) -> Submission {
    Submission::new(
        board("en-25"),
        "bo",
        false,
        Upload {
            bucket: "submissions".into(),
            key: key("bo", n),
            version: Some("never there".into()),
            e_tag: None,
            received_at,
        },
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_marks_are_swept_in_small_batches() {
    let world = World::with(|config| {
        with_caretaker(config);
        let spec = config
            .functions
            .iter_mut()
            .find(|spec| spec.name == CARETAKER)
            .unwrap();
        spec.environment
            .insert("DATAPERF_SWEEP_AFTER_SECONDS".into(), "600".into());
        config.retry_backoff = Vec::new(); // a sweep with a fault is not tried again
    })
    .await;
    let table = world.leaderboards();
    let now = dataperf_aws::now();

    let old = Timestamp::from_unix_millis(now.unix_millis() - OLD);
    let mut waiting = Vec::new();
    for n in 0..n_forgotten() {
        let received = forgotten(n, old);
        table.receive(&received).await.unwrap();
        waiting.push(received.upload.id());
    }
    let mut items: Vec<Item> = (0..n_marks())
        .map(|n| SubmissionId::derive("submissions", &format!("young {n}"), "v"))
        .map(|id| mark(&shard(&id), &id, now))
        .collect();
    // what no version writes, first in its partition
    items.extend(["0", "7", "f"].map(|digit| -> Item {
        let key = [
            ("pk", format!("{BENCHMARK}#unfinished#{digit}")),
            ("sk", "0".to_owned()),
        ];
        key.map(|(name, value)| (name.to_owned(), text(value))).into()
    }));
    world.write(items).await;

    let before = world.n_requests(Some("Query")).await;
    world.sweep().await;
    let n_queries = world.n_requests(Some("Query")).await - before;
    let of_others = 2 * N_PARTITIONS * dataperf_hosted::IDS.len(); // which have none
    let n_pages = (n_marks() + n_forgotten()).div_ceil(A_PAGE);
    let most = N_PARTITIONS * 3 + n_pages + of_others;
    assert!(n_queries <= most, "{n_queries} instead of {most}");
    for id in &waiting {
        let known = table.submission(BENCHMARK, id).await.unwrap().unwrap();
        let receipt = known.receipt.expect("it was found and has ended");
        assert_eq!(receipt.verdict.reasons[0].code, "deleted");
    }
    world.sweep().await;
    let left = world.items().await;
    let of_now = |item: &&Item| item["sk"].as_s().unwrap().starts_with(&now.to_string());
    let is_mark = |item: &&Item| {
        item["pk"]
            .as_s()
            .unwrap()
            .starts_with(&format!("{BENCHMARK}#unfinished#"))
    };
    let n_young = left.iter().filter(is_mark).filter(of_now).count();
    assert_eq!(n_young, n_marks(), "what may end by itself is left alone");
    let peak = world.cloud.snapshot().await.unwrap().functions[CARETAKER].peak_memory_kib;
    assert!(peak > 0 && peak < MAX_PEAK_KIB, "{peak} kB");
}

/// Submissions that an incident has left, all too old to be evaluated again. 100,000 by hand: `DATAPERF_INCIDENT=100000 cargo test --workspace incident`.
fn n_of_incident() -> usize {
    std::env::var("DATAPERF_INCIDENT").map_or(600, |n| n.parse().unwrap())
}

/// The caretaker has its deployed time limit; the next sweep continues where the last one stopped,
/// until each submission has ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_sweeps_clear_an_incident_within_bounds() {
    const DEPLOYED: Duration = Duration::from_mins(5);
    let n = n_of_incident();
    // few have to take several sweeps as well
    let timeout = if n < 10_000 {
        Duration::from_secs(20)
    } else {
        DEPLOYED
    };
    let world = World::with(|config| {
        with_caretaker(config);
        let spec = config
            .functions
            .iter_mut()
            .find(|spec| spec.name == CARETAKER)
            .unwrap();
        spec.timeout = timeout;
        config.retry_backoff = Vec::new();
    })
    .await;
    let table = world.leaderboards();
    let old = Timestamp::from_unix_millis(dataperf_aws::now().unix_millis() - 10 * 3_600_000);
    let begun = Instant::now();
    stream::iter(0..n)
        .for_each_concurrent(16, |n| {
            let table = &table;
            async move { drop(table.receive(&forgotten(n, old)).await.unwrap()) }
        })
        .await;
    let n_written = begun.elapsed();
    world.marks_as_old_as_their_uploads().await;
    let (mut n_sweeps, mut n_idle, mut longest, mut n_before) = (0, 0, Duration::ZERO, n);
    let n_left = async || {
        let mut n_left = 0;
        let mut cursor = None;
        loop {
            let page = table
                .unfinished_page(BENCHMARK, cursor.as_ref(), 1000)
                .await
                .unwrap();
            n_left += page.lines.len();
            cursor = page.next;
            if cursor.is_none() {
                return n_left;
            }
        }
    };
    let begun = Instant::now();
    while n_before > 0 {
        let sweep = Instant::now();
        world.cloud.tick(CARETAKER).await.unwrap();
        world.cloud.wait_idle(2 * DEPLOYED).await.unwrap();
        longest = longest.max(sweep.elapsed());
        n_sweeps += 1;
        let n_after = n_left().await;
        // a sweep without time comes to one partition, which may be empty
        n_idle = if n_after < n_before { 0 } else { n_idle + 1 };
        assert!(n_idle < 3, "{n_before} are left");
        n_before = n_after;
    }
    let peak = world.cloud.snapshot().await.unwrap().functions[CARETAKER].peak_memory_kib;
    // Not captured by the test harness: for docs/performance.md.
    let _ = writeln!(
        std::io::stderr(),
        "{n} unfinished submissions, written in {n_written:.0?}, ended by {n_sweeps} sweeps in {:.0?}, the longest {longest:.0?}; at most {peak} kB",
        begun.elapsed()
    );
    assert!(n_sweeps > 1, "several sweeps");
    assert!(longest < timeout + Duration::from_secs(30), "{longest:?}");
    assert!(peak > 0 && peak < MAX_PEAK_KIB, "{peak} kB");
    assert!(world.cloud.on_failure().await.unwrap().is_empty());
    for n in [0, n / 2, n - 1] {
        let id = forgotten(n, old).upload.id();
        let known = table.submission(BENCHMARK, &id).await.unwrap().unwrap();
        let verdict = known.receipt.expect("it has ended").verdict;
        assert_eq!(verdict.status, Ending::Failed, "{verdict:?}");
    }
}

/// A sweep without any time: of each benchmark it does one part, so that whichever is the last, it is reached.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backlog_does_not_block_the_last_benchmark() {
    const N_FORGOTTEN: usize = 48;
    let world = World::with(|config| {
        with_caretaker(config);
        let spec = config
            .functions
            .iter_mut()
            .find(|spec| spec.name == CARETAKER)
            .unwrap();
        spec.timeout = Duration::from_secs(20); // what a sweep leaves for what it has begun
        config.retry_backoff = Vec::new();
    })
    .await;
    let table = world.leaderboards();
    let old = Timestamp::from_unix_millis(dataperf_aws::now().unix_millis() - 10 * 3_600_000);
    let others = || dataperf_hosted::IDS.iter().filter(|id| **id != BENCHMARK);
    for benchmark in others() {
        for n in 0..N_FORGOTTEN {
            let Submission {
                mut board,
                submitter,
                mut upload,
                ..
            } = forgotten(n, old);
            board.benchmark = (*benchmark).into();
            upload.key = upload.key.replace(BENCHMARK, benchmark);
            let received = Submission::new(board, submitter, false, upload); // its id is the upload's
            table.receive(&received).await.unwrap();
        }
    }
    world.marks_as_old_as_their_uploads().await;
    let dropped = Storm {
        events_dropped: 1000,
        ..Storm::default()
    };
    world.cloud.faults().storm(Some(dropped));
    let lost = world.put(&key("ada", 0), good(0)).await;
    world.cloud.faults().storm(None);
    world.sweep().await;
    let submission = table.submission(BENCHMARK, &lost.id()).await.unwrap().unwrap();
    assert_eq!(submission.receipt.unwrap().verdict.status, Ending::Scored);
    let mut n_left = 0;
    for benchmark in others() {
        let left = table.unfinished(benchmark).await.unwrap().len();
        assert!(
            left > 0,
            "the sweep has come to the end of {benchmark}: no backlog"
        );
        n_left += left;
    }
    // and each sweep continues where the previous one stopped
    let mut n_sweeps = 0;
    while n_left > 0 {
        world.sweep().await;
        n_sweeps += 1;
        let before = n_left;
        n_left = 0;
        for benchmark in others() {
            n_left += table.unfinished(benchmark).await.unwrap().len();
        }
        assert!(
            n_sweeps < 60,
            "{n_left} are left after {n_sweeps} sweeps, {before} before the last"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_unfinished_uploads_merge_all_partitions() {
    let world = World::without_dataset(|_| ()).await;
    let table = world.leaderboards();
    let mut expected = Vec::new();
    for n in 0..40 {
        let received = forgotten(n, Timestamp::from_unix_millis(OLD + i64::try_from(n).unwrap()));
        table.receive(&received).await.unwrap();
        expected.push(received.upload.id());
    }
    let all = table.unfinished(BENCHMARK).await.unwrap();
    assert_eq!(
        all.iter().map(|entry| entry.id.clone()).collect::<Vec<_>>(),
        expected
    );
    for size in [1, 7, 40, 100] {
        let (mut ids, mut cursor) = (Vec::new(), None);
        loop {
            let page = table
                .unfinished_page(BENCHMARK, cursor.as_ref(), size)
                .await
                .unwrap();
            assert!(page.lines.len() <= size);
            ids.extend(page.lines.into_iter().map(|entry| entry.id));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(ids, expected, "pages of {size}");
    }
}
