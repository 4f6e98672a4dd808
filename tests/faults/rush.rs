//! A rush on a table that throttles: everything is scored, and nothing fails, also where few submitters send everything.

use std::time::Duration;

use dataperf::Ending;
use futures_util::{StreamExt, stream};

use crate::support::project::good;
use crate::support::world::{Sent, World, key, with_caretaker};

const UPLOADS_AT_ONCE: usize = 32;

/// Units of writes a second for each partition, so few that any machine wants more: a board takes a score with two of them. `DynamoDB`
/// has 1,000, and functions that are as many times faster. `DATAPERF_RUSH_UNITS` says another number.
fn units() -> u32 {
    std::env::var("DATAPERF_RUSH_UNITS").map_or(4, |units| units.parse().unwrap())
}

/// Uploads of each rush. 5,000 by hand: `DATAPERF_RUSH=5000 cargo test --workspace rush`.
fn n_uploads() -> usize {
    std::env::var("DATAPERF_RUSH").map_or(20, |n| n.parse().unwrap())
}

/// Sends everything at once, and waits until everything has ended.
async fn rush(n_submitters: usize) {
    let world = World::with(|config| {
        with_caretaker(config);
        config.functions[0].concurrency = 4;
        config.retry_backoff = vec![Duration::from_secs(5), Duration::from_secs(20)];
    })
    .await;
    world.cloud.throttle_table(Some(units()));
    let uploads = (0..n_uploads()).map(|n| {
        let world = &world;
        async move {
            world
                .put(&key(&format!("s{}", n % n_submitters), n), good(n % 6))
                .await
        }
    });
    let sent: Vec<Sent> = stream::iter(uploads)
        .buffer_unordered(UPLOADS_AT_ONCE)
        .collect()
        .await;
    world.settle().await;
    assert!(world.cloud.n_throttled() > 0, "the table had enough of it");
    world.cloud.throttle_table(None); // what follows only reads
    let receipts = world.receipts(&sent).await;
    let unscored: Vec<_> = receipts
        .values()
        .filter(|receipt| receipt.verdict.status != Ending::Scored)
        .map(|receipt| &receipt.verdict.reasons)
        .collect();
    assert!(unscored.is_empty(), "{unscored:#?}");
    assert_eq!(receipts.len(), n_uploads());
    assert_eq!(
        world.cloud.on_failure().await.unwrap().len(),
        0,
        "none was given up on the way"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rush_of_many_submitters_is_scored_whole() {
    rush(n_uploads()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rush_of_two_submitters_is_scored_whole() {
    rush(2).await;
}
