//! A board of many rows, each with its replicates: it is compared after a score, and its first page costs hardly more for that.
//!
//! `DATAPERF_ROWS=9998 cargo test --workspace many_rows -- --nocapture` makes a board of so many rows and two more, and prints the times. No
//! more than 10,000 are compared.

use std::time::{Duration, Instant};

use bytes::Bytes;
use dataperf::SubmissionId;
use dataperf::comparison::{Comparison, Read};
use dataperf::ports::bucket::{Bucket as _, Got};
use dataperf::replicates::Replicates;
use dataperf::table::leaderboard::Leaderboards as _;
use dataperf::upload::receipt_key;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use crate::boards::comparisons::{BOARD, contest, submission};
use crate::boards::scale::{SUBMISSIONS_EACH, fill};
use crate::read_api::{ANONYMOUS, Reading};
use crate::support::project::BENCHMARK;
use crate::support::world::{World, board, key};

const ROWS: usize = 250;
const PUTS_AT_ONCE: usize = 16;
const MAX_BYTES: u64 = 1 << 24;

/// The bytes of an object of the results bucket.
async fn object(world: &World, key: &str) -> Bytes {
    object_of(world, "results", key).await
}

/// The bytes of an object of a bucket.
pub(crate) async fn object_of(world: &World, bucket: &str, key: &str) -> Bytes {
    match world.bucket(bucket).get(key, None, MAX_BYTES).await.unwrap() {
        Got::Object(object) => object.bytes,
        other => panic!("{key}: {other:?}"),
    }
}

/// A contest with one submission and made-up ones, each with replicates of its own.
async fn filled(n_rows: usize) -> World {
    let mut world = contest(|_| ()).await;
    let sent = world.put(&key("template", 0), submission(0)).await;
    world.settle().await;
    let kept = object(&world, &Replicates::key(BENCHMARK, &sent.id())).await;
    let template = Replicates::from_bytes("template", &kept).unwrap();
    fill(&mut world, n_rows * SUBMISSIONS_EACH).await;

    let rows = world
        .leaderboards()
        .top(&board("en-25"), 2 * n_rows)
        .await
        .unwrap();
    let made = rows.iter().filter(|row| row.entry.id != sent.id()).enumerate();
    let objects = made.map(|(n, row)| {
        let mut replicates = template.clone();
        replicates.header.score = row.entry.score.unwrap();
        for (draw, deviation) in replicates.deviations.iter_mut().enumerate() {
            *deviation += ((draw * 7919 + n * 104_729) % 1000) as f32 / 1e4 - 0.05;
        }
        let bytes = replicates.to_bytes(b"").unwrap();
        (Replicates::key(BENCHMARK, &row.entry.id), Bytes::from(bytes))
    });
    let objects: Vec<(String, Bytes)> = objects.collect();
    assert_eq!(objects.len(), n_rows);
    let results = world.bucket("results");
    let puts = stream::iter(objects).map(|(key, bytes)| {
        let results = &results;
        async move { results.put(&key, bytes).await }
    });
    puts.buffer_unordered(PUTS_AT_ONCE)
        .try_collect::<()>()
        .await
        .unwrap();
    world
}

/// Whether a row has been compared with all others.
async fn is_compared(world: &World, id: &SubmissionId, n_rows: usize) -> bool {
    let results = world.bucket("results");
    let read = Read::of_row(&results, &board("en-25"), id)
        .await
        .unwrap()
        .unwrap();
    let submission = world
        .leaderboards()
        .submission(BENCHMARK, id)
        .await
        .unwrap()
        .unwrap();
    let line = read.line(&submission.entry()).copied();
    assert!(
        line.is_none_or(|line| line.ranks.is_some() && line.interval.is_some()),
        "{line:?}"
    );
    line.is_some() && read.summary.n_rows == n_rows
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_rows_add_one_read_to_a_page() {
    let n_rows: usize = std::env::var("DATAPERF_ROWS").map_or(ROWS, |n| n.parse().unwrap());
    let world = filled(n_rows).await;
    let began = Instant::now();
    let sent = world.put(&key("new", 1), submission(1)).await;
    let receipt = receipt_key(BENCHMARK, "en-25", "new", &sent.id());
    let results = world.bucket("results");
    while matches!(
        results.get(&receipt, None, MAX_BYTES).await.unwrap(),
        Got::Missing
    ) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let scored = began.elapsed();
    world.settle().await;
    let settled = began.elapsed();
    assert!(is_compared(&world, &sent.id(), n_rows + 2).await);
    let peak = world.cloud.snapshot().await.unwrap().functions[BENCHMARK].peak_memory_kib;

    let reading = Reading::new(world).await;
    let world = &reading.world;
    let key = Comparison::key(&board("en-25"));
    let comparison = object(world, &key).await;
    let path = format!("{BOARD}?limit=50");
    let (mut least, mut requests) = ([Duration::MAX; 2], [0; 2]);
    for _ in 0..10 {
        for with in [0, 1] {
            if with == 1 {
                world
                    .bucket("results")
                    .put(&key, comparison.clone())
                    .await
                    .unwrap();
            } else {
                let delete = world.clients.s3.delete_object().bucket("results").key(&key);
                delete.send().await.unwrap();
            }
            let (before, began) = (world.n_requests(None).await, Instant::now());
            let page = reading.ask(ANONYMOUS, &path).json();
            least[with] = least[with].min(began.elapsed());
            requests[with] = world.n_requests(None).await - before;
            assert_eq!(page["rows"].as_array().unwrap().len(), 50);
            assert_eq!(page["comparison"].is_null(), with == 0);
        }
    }
    assert_eq!(requests[0], requests[1], "the table is asked as before");
    println!(
        "{n_rows} rows: scored after {:.2} s, compared {:.2} s later, peak of the function {} MB; the first 50 in {:.1} ms, {:.1} ms without a comparison, \
         {} requests of the table each",
        scored.as_secs_f64(),
        settled.saturating_sub(scored).as_secs_f64(),
        peak / 1024,
        least[1].as_secs_f64() * 1e3,
        least[0].as_secs_f64() * 1e3,
        requests[0]
    );
}
