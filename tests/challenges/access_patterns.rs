//! Every question to the table is a query.

use std::collections::BTreeMap;
use std::fs;

use dataperf::board::Board;
use dataperf::table::leaderboard::Leaderboards;
use serde_json::json;

use super::{key, publish};
use crate::support::project::{BENCHMARK, good, root};
use crate::support::world::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_scans() {
    let world = World::new().await;
    assert_eq!(
        publish(
            &world,
            &json!([{ "id": "x", "opens": "2020-01-01T00:00:00Z", "daily_limit": 9 }])
        )
        .code,
        0
    );
    let sent = world.put(&key("ada", 0), good(0)).await;
    world.settle().await;
    let id = sent.id().to_string();
    for args in [
        &["leaderboard", BENCHMARK][..],
        &["leaderboard", BENCHMARK, "en-25", "--round", "x"],
        &["status"],
        &["status", BENCHMARK],
        &["status", BENCHMARK, "--submitter", "ada"],
        &["status", BENCHMARK, &id],
        &["rescore", BENCHMARK, "en-25", "--round", "x"],
        &["withdraw", BENCHMARK, &id],
    ] {
        assert_eq!(world.command(args).code, 0, "{args:?}");
    }
    let board = Board {
        benchmark: BENCHMARK.into(),
        leaderboard: "en-25".into(),
        round: "x".into(),
    };
    world.leaderboards().series(&board).await.unwrap();
    let operations = world.cloud.snapshot().await.unwrap().table_operations;
    let used: Vec<&str> = operations.keys().map(String::as_str).collect();
    let known = [
        "DeleteItem",
        "GetItem",
        "PutItem",
        "Query",
        "TransactWriteItems",
        "UpdateItem",
    ];
    assert!(used.iter().all(|name| known.contains(name)), "{operations:?}");
}

#[test]
fn no_documented_access_pattern_scans() {
    let text = fs::read_to_string(root().join("docs/leaderboard-schema.md")).unwrap();
    let mut n_patterns = BTreeMap::new();
    for line in text.lines().map(str::trim) {
        for (verb, kind) in [
            ("aws dynamodb query", "cli"),
            ("aws dynamodb get-item", "cli"),
            ("table.query(", "boto3"),
            ("table.get_item(", "boto3"),
        ] {
            *n_patterns.entry(kind).or_insert(0) += usize::from(line.starts_with(verb));
        }
        assert!(
            !line.contains("dynamodb scan") && !line.contains("scan("),
            "{line}"
        );
    }
    assert_eq!(n_patterns["cli"], n_patterns["boto3"]);
    assert!(n_patterns["cli"] >= 8, "{n_patterns:?}");
}
