//! Very many marks, broken ones among them, and those of earlier versions: a sweep goes through all of them, a few at a time.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use dataperf::ports::leaderboard::{Leaderboards, OPEN_ROUND, Submission};
use dataperf::{SubmissionId, Timestamp, Upload};

use crate::nothing_lost::key;
use crate::project::{BENCHMARK, good};
use crate::world::{CARETAKER, World, board, with_caretaker};

const OLD: i64 = 1_000_000;
/// Marks that a sweep reads at once, and partitions that it reads.
const A_PAGE: usize = 200;
const N_PARTITIONS: usize = 17;
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

fn before_shards() -> String {
    format!("{BENCHMARK}#unfinished")
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

    async fn n_queries(&self) -> usize {
        let snapshot = self.cloud.snapshot().await.unwrap();
        snapshot
            .table_operations
            .get("Query")
            .copied()
            .unwrap_or_default() as usize
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
async fn very_many_marks_are_swept_a_few_at_a_time_and_a_broken_one_stops_nothing() {
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

    let ended = world.put(&key("ada", 0), good(0)).await;
    world.settle().await;
    let old = Timestamp::from_unix_millis(now.unix_millis() - OLD);
    let mut waiting = Vec::new();
    for n in 0..n_forgotten() {
        let received = forgotten(n, old);
        table.receive(&received).await.unwrap();
        waiting.push(received.upload.id());
    }
    let mut items: Vec<Item> = (0..n_marks())
        .map(|n| SubmissionId::of("submissions", &format!("young {n}"), "v"))
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
    // an earlier version's: one of a submission that waits, and one of a submission that has ended
    items.push(mark(&before_shards(), &waiting[0], old));
    items.push(mark(&before_shards(), &ended.id(), now));
    world.write(items).await;

    let before = world.n_queries().await;
    world.sweep().await;
    let n_queries = world.n_queries().await - before;
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
    let of_earlier = left
        .iter()
        .filter(|item| item["pk"] == text(before_shards()))
        .count();
    assert_eq!(
        of_earlier, 0,
        "marks of what has ended go, and with them the partition of earlier versions"
    );
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_what_is_unfinished_merge_all_partitions() {
    let world = World::without_dataset(|_| ()).await;
    let table = world.leaderboards();
    let mut expected = Vec::new();
    for n in 0..40 {
        let received = forgotten(n, Timestamp::from_unix_millis(OLD + i64::try_from(n).unwrap()));
        table.receive(&received).await.unwrap();
        expected.push(received.upload.id());
    }
    let id = SubmissionId::of("submissions", "of an earlier version", "v");
    world
        .write(vec![mark(&before_shards(), &id, Timestamp::from_unix_millis(1))])
        .await;
    expected.insert(0, id);
    let all = table.unfinished(BENCHMARK).await.unwrap();
    assert_eq!(
        all.iter().map(|entry| entry.id.clone()).collect::<Vec<_>>(),
        expected
    );
    for size in [1, 7, 41, 100] {
        let (mut found, mut cursor) = (Vec::new(), None);
        loop {
            let page = table
                .unfinished_page(BENCHMARK, cursor.as_ref(), size)
                .await
                .unwrap();
            assert!(page.lines.len() <= size);
            found.extend(page.lines.into_iter().map(|entry| entry.id));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(found, expected, "pages of {size}");
    }
}
