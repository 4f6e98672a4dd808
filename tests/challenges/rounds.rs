//! Rounds open and close.

use dataperf::Ending;
use dataperf::table::leaderboard::Leaderboards;
use serde_json::json;

use super::{publish, upload_at};
use crate::people::organizer_mistakes::{digest, other_dataset};
use crate::support::project::{BENCHMARK, frozen};
use crate::support::world::World;
use crate::support::world::codes;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_upload_time_decides_the_round() {
    let world = World::new().await;
    let other = other_dataset(&world);
    world.replace(&other); // in force; the round is scored with another
    let ran = publish(
        &world,
        &json!([{
            "id": "spring", "leaderboards": ["en-25"], "opens": "2026-03-01T00:00:00Z", "closes": "2026-04-01T00:00:00Z",
            "dataset": digest(frozen()).to_string(), "daily_limit": 1, "messages": { "before": "See you in March." },
        }]),
    );
    assert_eq!(ran.code, 0, "{ran:?}");

    let early = upload_at(&world, "ada", 0, "2026-02-28T23:59:59.999Z").await;
    assert_eq!(
        (early.round.as_str(), codes(&early)),
        ("spring", vec!["not_open"])
    );
    assert!(
        early.verdict.reasons[0]
            .message
            .contains("2026-03-01T00:00:00.000Z. See you in March.")
    );
    let first = upload_at(&world, "ada", 1, "2026-03-01T00:00:00.000Z").await;
    assert_eq!(
        (first.round.as_str(), first.verdict.status),
        ("spring", Ending::Scored)
    );
    assert_eq!(first.verdict.dataset, Some(digest(frozen())));
    let second = upload_at(&world, "ada", 2, "2026-03-01T23:59:59.999Z").await;
    assert_eq!(codes(&second), ["daily_limit"]);
    let reason = &second.verdict.reasons[0];
    assert_eq!((reason.limit, reason.actual), (Some(1), Some(1)));
    assert!(
        reason.message.contains("again from 2026-03-02T00:00:00.000Z"),
        "{reason:?}"
    );
    let next_day = upload_at(&world, "ada", 2, "2026-03-02T00:00:00.000Z").await;
    assert_eq!(next_day.verdict.status, Ending::Scored);
    let late = upload_at(&world, "bo", 3, "2026-04-01T00:00:00.000Z").await;
    assert_eq!(
        (late.round.as_str(), late.verdict.status),
        ("spring.post", Ending::Scored)
    );
    assert_eq!(
        late.verdict.dataset,
        Some(digest(frozen())),
        "the benchmark goes on with the round's data set"
    );

    let boards = world.command(["leaderboard", BENCHMARK, "en-25"]).json();
    let shown: Vec<_> = boards
        .as_array()
        .unwrap()
        .iter()
        .map(|board| (&board["round"], &board["is_post_round"]))
        .collect();
    assert_eq!(
        shown,
        [
            (&json!("spring"), &json!(false)),
            (&json!("spring.post"), &json!(true))
        ]
    );
    assert_eq!(world.leaderboards().unfinished(BENCHMARK).await.unwrap(), []);
}
