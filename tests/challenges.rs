//! Challenges end to end: rounds by the time of the upload, limits under a rush, baselines, withdrawals, re-scoring.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use dataperf::ports::bucket::{Bucket, Got};
use dataperf::ports::leaderboard::{Board, Leaderboards};
use dataperf::{Ending, Receipt};
use serde_json::{Value, json};

use crate::organizer::{digest, other_dataset};
use crate::project::{BENCHMARK, Ran, frozen, good, root};
use crate::world::{SAMPLE_BUCKET, Sent, World, with_caretaker};

/// Publishes a challenge with these rounds.
fn publish(world: &World, rounds: &Value) -> Ran {
    let document =
        json!({ "schema": 1, "title": "Spring", "benchmarks": { BENCHMARK: { "rounds": rounds } } });
    let path = world.scratch().join("challenge.yaml");
    fs::write(&path, document.to_string()).unwrap(); // JSON is YAML
    world.command(&["challenge", "publish", path.to_str().unwrap()])
}

fn key(submitter: &str, n: usize) -> String {
    format!("{BENCHMARK}/en-25/{submitter}/{n}.json")
}

async fn stored(world: &World, key: &str) -> Option<Receipt> {
    match world.bucket("results").get(key, None, 1 << 20).await.unwrap() {
        Got::Object(object) => Some(serde_json::from_slice(&object.bytes).unwrap()),
        _ => None,
    }
}

/// The receipt in the results bucket, which the table's agrees with.
async fn receipt(world: &World, sent: &Sent) -> Receipt {
    let submission = world
        .leaderboards()
        .submission(BENCHMARK, &sent.id())
        .await
        .unwrap()
        .unwrap();
    let receipt = submission.receipt.expect("it has ended");
    assert_eq!(
        stored(world, &receipt.object_key()).await.as_ref(),
        Some(&receipt)
    );
    receipt
}

fn codes(receipt: &Receipt) -> Vec<&str> {
    receipt
        .verdict
        .reasons
        .iter()
        .map(|reason| reason.code.as_str())
        .collect()
}

/// Uploads without a trigger, and delivers an event that says when.
async fn upload_at(world: &World, submitter: &str, n: usize, time: &str) -> Receipt {
    let sent = world.put_into(SAMPLE_BUCKET, &key(submitter, n), good(n)).await;
    let object =
        json!({ "key": sent.key, "size": 1, "eTag": "e", "versionId": sent.version, "sequencer": "00" });
    let record = json!({
        "eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": "us-east-1", "eventTime": time,
        "eventName": "ObjectCreated:Put", "userIdentity": {"principalId": "P"},
        "requestParameters": {"sourceIPAddress": "127.0.0.1"}, "responseElements": {},
        "s3": {"s3SchemaVersion": "1.0", "configurationId": "c", "bucket": {"name": SAMPLE_BUCKET, "arn": "a"}, "object": object}
    });
    world
        .cloud
        .invoke(BENCHMARK, &json!({ "Records": [record] }))
        .await
        .unwrap();
    world.settle().await;
    receipt(world, &sent).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rounds_open_and_close_by_the_time_of_the_upload() {
    let world = World::new().await;
    let other = other_dataset(&world);
    world.publish(&other); // in force; the round is scored with another
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
        reason.message.contains("from 2026-03-02T00:00:00.000Z on"),
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

    let boards = world.command(&["leaderboard", BENCHMARK, "en-25"]).json();
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

/// The limit is the round's: a day may end while the test runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_uploads_at_once_at_a_limit_of_five() {
    let world = World::with(|config| config.functions[0].concurrency = 4).await;
    let ran = publish(
        &world,
        &json!([{ "id": "ever", "opens": "2020-01-01T00:00:00Z", "total_limit": 5 }]),
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    world.cloud.faults().duplicate_events(2);
    let sent = rush(&world, 16, |_| "ada".into()).await;
    world.settle().await;
    let mut n_scored = 0;
    for sent in &sent {
        let receipt = receipt(&world, sent).await;
        if receipt.verdict.status == Ending::Scored {
            n_scored += 1;
            continue;
        }
        assert_eq!(codes(&receipt), ["total_limit"]);
        let reason = &receipt.verdict.reasons[0];
        assert_eq!((reason.limit, reason.actual), (Some(5), Some(5)));
    }
    assert_eq!(n_scored, 5);
    let bo = world.put(&key("bo", 0), good(0)).await;
    world.settle().await;
    assert_eq!(
        receipt(&world, &bo).await.verdict.status,
        Ending::Scored,
        "everybody has limits of their own"
    );
}

/// What the platform failed takes nothing of a limit, and counts in its round once it is evaluated after all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_does_not_count_until_it_is_evaluated_again() {
    let mut world = World::with(|config| {
        with_caretaker(config);
        config.functions[0].timeout = Duration::from_millis(1);
    })
    .await;
    let ran = publish(
        &world,
        &json!([{ "id": "ever", "opens": "2020-01-01T00:00:00Z", "total_limit": 2 }]),
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    let mut failed = Vec::new();
    for submitter in ["ada", "bo"] {
        let sent = world.put(&key(submitter, 0), good(0)).await;
        world.settle().await;
        assert_eq!(codes(&receipt(&world, &sent).await), ["time_limit"]);
        failed.push(sent);
    }
    world
        .change(|config| config.functions[0].timeout = Duration::from_mins(1))
        .await;
    for n in 1..3 {
        let sent = world.put(&key("ada", n), good(n)).await;
        world.settle().await;
        assert_eq!(
            receipt(&world, &sent).await.verdict.status,
            Ending::Scored,
            "upload {n}"
        );
    }
    assert_eq!(world.command(&["redrive", "--all-failed"]).code, 0);
    world.settle().await;
    let (ada, bo) = (
        receipt(&world, &failed[0]).await,
        receipt(&world, &failed[1]).await,
    );
    assert_eq!(
        codes(&ada),
        ["total_limit"],
        "others have taken its place meanwhile"
    );
    assert_eq!((bo.round.as_str(), bo.verdict.status), ("ever", Ending::Scored));
    let table = world.leaderboards();
    assert_eq!(table.failed(BENCHMARK).await.unwrap(), []);
    assert_eq!(table.unfinished(BENCHMARK).await.unwrap(), []);
    let boards = world.command(&["leaderboard", BENCHMARK]).json();
    assert_eq!(boards.as_array().unwrap().len(), 1, "{boards}");
    assert_eq!(boards[0]["round"], "ever");
    assert_eq!(boards[0]["places"].as_array().unwrap().len(), 2);
}

/// Uploads from many tasks at once.
async fn rush(world: &World, n: usize, submitter: impl Fn(usize) -> String) -> Vec<Sent> {
    let uploads: Vec<_> = (0..n)
        .map(|n| {
            let (s3, key) = (world.clients.s3.clone(), key(&submitter(n), n));
            tokio::spawn(async move {
                let put = s3
                    .put_object()
                    .bucket("submissions")
                    .key(&key)
                    .body(good(n).into());
                let version = put.send().await.unwrap().version_id.unwrap();
                Sent {
                    bucket: "submissions".into(),
                    key,
                    version,
                }
            })
        })
        .collect();
    let mut sent = Vec::new();
    for upload in uploads {
        sent.push(upload.await.unwrap());
    }
    sent
}

/// `DATAPERF_BURST=1000` makes it larger.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_of_uploads_ends_in_the_right_order() {
    let n = std::env::var("DATAPERF_BURST").map_or(100, |n| n.parse().unwrap());
    let world = World::with(|config| config.functions[0].concurrency = 4).await;
    let sent = rush(&world, n, |n| format!("submitter-{}", n % 29)).await;
    // holds the board against a sort of the receipts
    let receipts = world.receipts(&sent).await;
    assert!(
        receipts
            .values()
            .all(|receipt| receipt.verdict.status == Ending::Scored)
    );
    let operations = world.cloud.snapshot().await.unwrap().table_operations;
    assert!(
        operations["Query"] > 0 && operations["TransactWriteItems"] >= 2 * n,
        "{operations:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_document_is_told_everything_and_changes_nothing() {
    let world = World::new().await;
    let ran = publish(
        &world,
        &json!([{ "id": "Spring", "opens": "soon" }, { "id": "x", "opens": "2026-03-01T00:00:00Z", "limit": 1 }]),
    );
    let codes: BTreeSet<String> = crate::project::codes(&ran.json()).into_keys().collect();
    assert_eq!(
        (ran.code, codes),
        (
            2,
            ["bad_round_id", "unknown_key", "wrong_type"]
                .map(String::from)
                .into()
        ),
        "{ran:?}"
    );
    let other = digest(&other_dataset(&world));
    let ran = publish(
        &world,
        &json!([
            { "id": "a", "opens": "2026-03-01T00:00:00Z", "closes": "2026-03-02T00:00:00Z", "leaderboards": ["en-26"] },
            { "id": "b", "opens": "2026-03-02T00:00:00Z", "dataset": other.to_string() },
        ]),
    );
    let codes: BTreeSet<String> = crate::project::codes(&ran.json()).into_keys().collect();
    assert_eq!(
        (ran.code, codes),
        (
            2,
            ["unknown_leaderboard", "unusable_dataset"]
                .map(String::from)
                .into()
        ),
        "{ran:?}"
    );
    let ran = world.command(&["challenge", "show", BENCHMARK]);
    assert!(
        ran.code == 1 && ran.stderr.contains("no challenge is published"),
        "{ran:?}"
    );

    world
        .bucket("datasets")
        .put(&format!("{BENCHMARK}/challenge.json"), "[]".into())
        .await
        .unwrap();
    let sent = world.put(&key("ada", 0), good(0)).await;
    let (event, error) = world.only_failure().await;
    assert_eq!(error["errorType"], "OrganizerFault", "{error}");
    assert_eq!(
        world.command(&["status"]).json()[0]["submission"],
        json!(sent.id()),
        "it is shown as unfinished"
    );
    assert_eq!(
        publish(&world, &json!([{ "id": "x", "opens": "2020-01-01T00:00:00Z" }])).code,
        0
    );
    world.cloud.invoke(BENCHMARK, &event).await.unwrap();
    world.settle().await;
    assert_eq!(receipt(&world, &sent).await.round, "x");
    assert_eq!(
        world.command(&["challenge", "show", BENCHMARK]).json()["rounds"][0]["id"],
        "x"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn baselines_are_shown_without_a_rank_and_withdrawals_leave_no_hole() {
    let world = World::new().await;
    let mut sent = BTreeMap::new();
    for (submitter, n) in [("ada", 0), ("ada", 1), ("baseline-random", 2), ("bo", 3)] {
        sent.insert((submitter, n), world.put(&key(submitter, n), good(n)).await);
    }
    world.settle().await;
    let places = || world.command(&["leaderboard", BENCHMARK, "en-25"]).json()[0]["places"].clone();
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
    assert_eq!(world.command(&["withdraw", BENCHMARK, id]).code, 0);
    assert_eq!(
        world.command(&["withdraw", BENCHMARK, id]).code,
        0,
        "once more changes nothing"
    );
    let after = places();
    let other = after
        .as_array()
        .unwrap()
        .iter()
        .find(|place| place["submitter"] == "ada")
        .unwrap();
    assert!(other["submission"] != best["submission"] && other["score"].as_f64() < best["score"].as_f64());
    assert_eq!(
        world
            .command(&["withdraw", BENCHMARK, other["submission"].as_str().unwrap()])
            .code,
        0
    );
    assert_eq!(
        shown(&places()),
        [("baseline-random".into(), None), ("bo".into(), Some(1))].into()
    );
    let history = world.command(&["status", BENCHMARK, "--submitter", "ada"]).json();
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
        crate::project::dataperf(command.iter().chain(args).chain(&cloud))
    };
    let misspelt = printed("text", &["en-52"]);
    assert!(misspelt.stdout.contains("no score yet"), "{misspelt:?}");
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_board_is_scored_again_by_the_functions() {
    let world = World::with(|config| config.retry_backoff = vec![Duration::from_millis(20); 12]).await;
    let mut sent = Vec::new();
    for n in 0..6 {
        sent.push(world.put(&key(["ada", "bo", "cy"][n % 3], n), good(n)).await);
    }
    let before = world.receipts(&sent).await;
    let other = other_dataset(&world);
    world.publish(&other);

    let rescore = |more: &[&str]| {
        let args: Vec<&str> = ["rescore", BENCHMARK, "en-25"]
            .iter()
            .chain(more)
            .copied()
            .collect();
        world.command(&args)
    };
    let broken_off = rescore(&["--timeout", "0", "--batch", "1", "--at-once", "1"]);
    assert!(
        broken_off.code == 1 && broken_off.stderr.contains("goes on where it stopped"),
        "{broken_off:?}"
    );
    // a cold process makes some twenty requests for the first submission: each that is killed has brought some to their end
    world.cloud.faults().kill_at_every(BENCHMARK, 37);
    let ran = rescore(&["--batch", "2"]);
    world.cloud.faults().kill_no_more(BENCHMARK);
    assert!(
        world.cloud.snapshot().await.unwrap().n_retried > 0,
        "some were killed"
    );
    let outcome = ran.json();
    assert_eq!(
        (ran.code, &outcome["submissions"], &outcome["rejected"]),
        (0, &json!(6), &json!(0)),
        "{ran:?}"
    );
    world.settle().await;

    for sent in &sent {
        let now = receipt(&world, sent).await;
        let first = &before[&sent.id()];
        assert_eq!(
            (now.revision, now.verdict.dataset),
            (2, Some(digest(&other))),
            "once, however often it broke off"
        );
        assert_eq!(
            now.object_key(),
            format!("{}.2.json", first.object_key().trim_end_matches(".json"))
        );
        assert_eq!(
            stored(&world, &first.object_key()).await.as_ref(),
            Some(first),
            "the earlier receipt is kept"
        );
        assert_eq!(
            (now.received_at, &now.verdict.artifact),
            (first.received_at, &first.verdict.artifact)
        );
    }
    let board = Board {
        benchmark: BENCHMARK.into(),
        leaderboard: "en-25".into(),
        round: "open".into(),
    };
    let top = world.leaderboards().top(&board, 10).await.unwrap();
    assert_eq!(top.len(), 3, "never two rows");
    let places = outcome["places"].as_array().unwrap();
    for (place, row) in places.iter().zip(&top) {
        assert_eq!(place["submitter"], json!(row.entry.submitter));
        assert_eq!(
            (&place["after"]["score"], &place["after"]["rank"]),
            (&json!(row.entry.score), &json!(row.rank))
        );
        let best = before
            .values()
            .filter(|receipt| receipt.submitter == row.entry.submitter);
        let best = best
            .filter_map(|receipt| receipt.verdict.score)
            .fold(0.0, f64::max);
        assert_eq!(place["before"]["score"], json!(best));
    }
    assert_eq!(world.leaderboards().series(&board).await.unwrap().len(), 6);
    let left = world
        .clients
        .s3
        .list_object_versions()
        .bucket("submissions")
        .prefix(format!("{BENCHMARK}/_/"));
    assert_eq!(
        left.send().await.unwrap().versions().len(),
        0,
        "its requests are removed"
    );

    let again = rescore(&[]).json();
    assert_eq!(
        (&again["submissions"], &again["changed"]),
        (&json!(6), &json!(0)),
        "{again}"
    );
    assert_eq!(receipt(&world, &sent[0]).await.revision, 3);
}

/// Whoever can upload can store a request; it scores nothing unless the organizer has begun a run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_without_a_run_scores_nothing() {
    let world = World::new().await;
    let sent = world.put(&key("ada", 0), good(0)).await;
    let before = world.only_receipt(&sent).await;
    let forged = json!({ "leaderboard": "en-25", "round": "open", "run": "2026-03-01T00:00:00.000Z", "submissions": [sent.id()] });
    for (n, request) in [forged.to_string(), "no request".into()].into_iter().enumerate() {
        world
            .put(&format!("{BENCHMARK}/_/rescore/{n}.json"), request)
            .await;
    }
    assert_eq!(
        world.only_receipt(&sent).await,
        before,
        "and leaves nothing behind"
    );
    assert_eq!(world.cloud.on_failure().await.unwrap(), []);
}

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
    assert_eq!(used, ["GetItem", "Query", "TransactWriteItems"], "{operations:?}");
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
