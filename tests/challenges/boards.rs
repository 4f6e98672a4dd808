//! The rows of a board: after a burst, with baselines, without withdrawn submissions.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use dataperf::board::Board;
use dataperf::table::leaderboard::Leaderboards as _;
use serde_json::{Value, json};

use super::{key, receipt, rush};
use crate::support::project::{BENCHMARK, good};
use crate::support::world::{World, board};

/// `DATAPERF_BURST=1000` makes it larger.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_of_uploads_ends_correctly_ordered() {
    let n = std::env::var("DATAPERF_BURST").map_or(40, |n| n.parse().unwrap());
    let world = World::with(|config| config.functions[0].concurrency = 4).await;
    let sent = rush(&world, n, |n| format!("submitter-{}", n % 29)).await;
    // holds the board against a sort of the receipts
    world.all_scored(&sent).await;
    let operations = world.cloud.snapshot().await.unwrap().table_operations;
    assert!(
        operations["Query"] > 0 && operations["TransactWriteItems"] >= 2 * n,
        "{operations:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unranked_baselines_appear_and_withdrawals_leave_no_gap() {
    let world = World::new().await;
    let mut sent = BTreeMap::new();
    for (submitter, n) in [("ada", 0), ("ada", 1), ("baseline-random", 2), ("bo", 3)] {
        sent.insert((submitter, n), world.put(&key(submitter, n), good(n)).await);
    }
    world.settle().await;
    let places = || world.command(["leaderboard", BENCHMARK, "en-25"]).json()[0]["places"].clone();
    let before = places();
    let shown = |places: &Value| {
        let place = |place: &Value| {
            (
                place["submitter"].as_str().unwrap().to_owned(),
                place["rank"].as_u64(),
            )
        };
        places
            .as_array()
            .unwrap()
            .iter()
            .map(place)
            .collect::<BTreeMap<_, _>>()
    };
    let ranks = shown(&before);
    assert_eq!(ranks["baseline-random"], None);
    assert_eq!(
        BTreeSet::from([ranks["ada"], ranks["bo"]]),
        [Some(1), Some(2)].into(),
        "{before}"
    );

    let best = before
        .as_array()
        .unwrap()
        .iter()
        .find(|place| place["submitter"] == "ada")
        .unwrap();
    let id = best["submission"].as_str().unwrap();
    assert_eq!(world.command(["withdraw", BENCHMARK, id]).code, 0);
    world.ran(["withdraw", BENCHMARK, id]);
    let after = places();
    let other = after
        .as_array()
        .unwrap()
        .iter()
        .find(|place| place["submitter"] == "ada")
        .unwrap();
    assert!(other["submission"] != best["submission"] && other["score"].as_f64() < best["score"].as_f64());
    world.ran(["withdraw", BENCHMARK, other["submission"].as_str().unwrap()]);
    assert_eq!(
        shown(&places()),
        [("baseline-random".into(), None), ("bo".into(), Some(1))].into()
    );
    let history = world.command(["status", BENCHMARK, "--submitter", "ada"]).json();
    assert!(
        history
            .as_array()
            .unwrap()
            .iter()
            .all(|line| line["withdrawn_at"].is_string()),
        "{history}"
    );

    let printed = |format, args: &[&str]| {
        let cloud = [
            "--s3-endpoint",
            world.cloud.s3_endpoint(),
            "--dynamodb-endpoint",
            world.cloud.dynamodb_endpoint(),
        ];
        let command = ["--format", format, "leaderboard", BENCHMARK];
        crate::support::project::dataperf(command.iter().chain(args).chain(&cloud))
    };
    let misspelt = printed("text", &["en-52"]);
    assert!(misspelt.stderr.contains("did you mean `en-25`"), "{misspelt:?}");
    let csv = printed("csv", &[]);
    let rows: Vec<Vec<&str>> = csv.stdout.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(
        rows[0][..6],
        [
            "benchmark",
            "leaderboard",
            "round",
            "rank",
            "is_baseline",
            "submitter"
        ]
    );
    assert_eq!(rows.len(), 3, "{csv:?}");
    assert!(
        rows.iter()
            .any(|row| row[3..6] == ["", "true", "baseline-random"]),
        "{csv:?}"
    );
}

/// A board follows the ranking that its challenge states, as soon as that is published, also what is withdrawn and comes back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_ranking_moves_all_rows() {
    let world = World::new().await;
    let path = world.scratch().join("ranking.yaml");
    let publish = |ranking: &str| {
        let round = json!({ "id": "spring", "opens": "2020-01-01T00:00:00Z", "preset": "practice" });
        let benchmark = json!({ "ranking": ranking, "rounds": [round] });
        let document = json!({ "schema": 1, "title": "Spring", "benchmarks": { BENCHMARK: benchmark } });
        fs::write(&path, document.to_string()).unwrap();
        world.ran(["challenge", "publish", path.to_str().unwrap()]);
    };
    publish("best");
    let mut sent = Vec::new();
    for (submitter, n) in [("ada", 0), ("ada", 1), ("bo", 2), ("ada", 2)] {
        sent.push(world.put(&key(submitter, sent.len()), good(n)).await);
        world.settle().await;
    }
    let mut scores = Vec::new();
    for sent in &sent {
        scores.push(receipt(&world, sent).await.verdict.score.unwrap());
    }
    let spring = Board {
        round: "spring".into(),
        ..board("en-25")
    };
    let rows = async || {
        let top = world.leaderboards().top(&spring, 9).await.unwrap();
        let mut rows: Vec<_> = top.into_iter().map(|row| row.entry.id).collect();
        rows.sort();
        rows
    };
    let ids = |numbers: &[usize]| {
        let mut ids: Vec<_> = numbers.iter().map(|n| sent[*n].id()).collect();
        ids.sort();
        ids
    };
    let of_ada = [0, 1, 3];
    let best = |numbers: &[usize]| {
        // of equal scores the earlier one
        let by_score = |a: &&usize, b: &&usize| scores[**a].total_cmp(&scores[**b]).then(b.cmp(a));
        *numbers.iter().max_by(by_score).unwrap()
    };
    let first = best(&of_ada);
    let others: Vec<usize> = of_ada.into_iter().filter(|n| *n != first).collect();
    for (ranking, all, without_first) in [
        ("best", vec![first, 2], vec![best(&others), 2]),
        ("latest", vec![3, 2], vec![*others.iter().max().unwrap(), 2]),
        ("best", vec![first, 2], vec![best(&others), 2]),
    ] {
        publish(ranking);
        assert_eq!(rows().await, ids(&all), "{ranking}");
        let id = sent[first].id().to_string();
        world.ran(["withdraw", BENCHMARK, &id]);
        assert_eq!(rows().await, ids(&without_first), "{ranking}");
        world.ran(["withdraw", BENCHMARK, &id, "--undo"]);
        assert_eq!(rows().await, ids(&all), "{ranking}");
    }
}
