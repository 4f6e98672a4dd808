//! Limits, in a rush and after failures.

use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use dataperf::board::Board;
use dataperf::challenge::{Challenge, Reserved, Terms};
use dataperf::submission::Submission;
use dataperf::table::leaderboard::Leaderboards;
use dataperf::{Ending, Timestamp, Upload};
use serde_json::json;

use super::{publish, receipt, rush};
use crate::support::project::{self, BENCHMARK, binary, dataperf, frozen, good};
use crate::support::words;
use crate::support::world::{World, as_deployed, board, codes, key, with_caretaker};

const CURATION: &str = "curation";

/// The limit is the round's: a day may end while the test runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_simultaneous_uploads_respect_a_limit_of_five() {
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

/// Two boards of one test set: a score on one tells about the other, so they have one limit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn boards_sharing_evaluation_data_share_the_limit() {
    let world = World::new().await;
    let ran = publish(
        &world,
        &json!([{ "id": "ever", "opens": "2020-01-01T00:00:00Z", "total_limit": 2, "preset": "practice" }]),
    );
    assert_eq!((ran.code, &ran.json()["warnings"]), (0, &json!([])), "{ran:?}");
    let mut receipts = Vec::new();
    for (n, board) in ["en-25", "en-60", "en-25", "en-60"].into_iter().enumerate() {
        let sent = world
            .put(&format!("{BENCHMARK}/{board}/ada/{n}.json"), good(n))
            .await;
        world.settle().await;
        receipts.push(receipt(&world, &sent).await);
    }
    let endings: Vec<Ending> = receipts.iter().map(|receipt| receipt.verdict.status).collect();
    assert_eq!(
        endings,
        [Ending::Scored, Ending::Scored, Ending::Rejected, Ending::Rejected]
    );
    for receipt in &receipts[2..] {
        assert_eq!(codes(receipt), ["total_limit"]);
        let reason = &receipt.verdict.reasons[0];
        assert_eq!((reason.limit, reason.actual), (Some(2), Some(2)));
        assert!(
            reason.message.contains("`en-25` and `en-60` together"),
            "{reason:?}"
        );
    }
    let bo = world.put(&format!("{BENCHMARK}/en-60/bo/0.json"), good(0)).await;
    world.settle().await;
    assert_eq!(receipt(&world, &bo).await.verdict.status, Ending::Scored);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unlimited_boards_with_shared_data_cause_a_warning() {
    let world = World::new().await;
    let round = json!({ "id": "ever", "opens": "2020-01-01T00:00:00Z", "leaderboards": ["en-25", "pt-25", "pt-60"],
                        "daily_limit": 5, "preset": "practice" });
    let published = publish(&world, &json!([round]));
    assert_eq!(published.code, 0, "it is a warning: {published:?}");
    let path = world.scratch().join("challenge.yaml");
    let (path, dataset) = (path.to_str().unwrap(), frozen().to_str().unwrap());
    let checked = dataperf(words!("--format json challenge check {path} --dataset {dataset}"));
    for ran in [published, checked] {
        let warnings = ran.json()["warnings"].clone();
        assert_eq!(warnings.as_array().unwrap().len(), 1, "{warnings}");
        assert_eq!(
            (&warnings[0]["code"], &warnings[0]["at"]),
            (
                &json!("open_sibling"),
                &json!(format!("/benchmarks/{BENCHMARK}/rounds/0/leaderboards"))
            )
        );
        let message = warnings[0]["message"].as_str().unwrap();
        assert!(
            message.starts_with("`en-60`") && message.contains("`en-25`"),
            "{message}"
        );
    }
    let mut unlimited = round;
    unlimited.as_object_mut().unwrap().remove("daily_limit");
    assert_eq!(publish(&world, &json!([unlimited])).json()["warnings"], json!([]));
}

/// An evaluation that breaks off counts on an allowance of its own, until the organizer has it evaluated again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crashes_have_a_limit_of_their_own() {
    let world = World::with(with_caretaker).await;
    let with_failures = |daily_failures: u64| {
        let round = json!({ "id": "ever", "opens": "2020-01-01T00:00:00Z", "daily_limit": 3, "daily_failures": daily_failures });
        assert_eq!(publish(&world, &json!([round])).code, 0);
    };
    with_failures(2);
    world.cloud.faults().kill_at_every(BENCHMARK, 10); // a new process asks for more before it has a score
    let mut crashed = Vec::new();
    for n in [0, 3] {
        crashed.push(world.put(&key("ada", n), good(n)).await);
        world.settle().await;
    }
    world.cloud.faults().kill_no_more(BENCHMARK);
    for crashed in &crashed {
        assert_eq!(codes(&receipt(&world, crashed).await), ["evaluator_crashed"]);
    }
    let refused = world.put(&key("ada", 1), good(1)).await;
    let of_another = world.put(&key("bo", 1), good(1)).await;
    world.settle().await;
    let refused = receipt(&world, &refused).await;
    assert_eq!(codes(&refused), ["daily_failures"], "{refused:?}");
    let reason = &refused.verdict.reasons[0];
    assert_eq!((reason.limit, reason.actual), (Some(2), Some(2)));
    assert_eq!(receipt(&world, &of_another).await.verdict.status, Ending::Scored);

    // the other failure alone uses up a lower limit, and what is evaluated again is let in all the same
    with_failures(1);
    let first = receipt(&world, &crashed[0]).await.submission;
    assert_eq!(world.command(["redrive", first.as_str()]).code, 0);
    world.settle().await;
    assert_eq!(receipt(&world, &crashed[0]).await.verdict.status, Ending::Scored);
    assert_eq!(world.command(["redrive", "--all-failed"]).code, 0);
    world.settle().await;
    assert_eq!(receipt(&world, &crashed[1]).await.verdict.status, Ending::Scored);
    let again = world.put(&key("ada", 2), good(2)).await;
    world.settle().await;
    assert_eq!(receipt(&world, &again).await.verdict.status, Ending::Scored);
}

/// A contest in which a linear support vector classifier is trained on the rows of the submission.
const CONTEST: &str = "schema: 1
task: curation
title: Two classes
unit: rows
leaderboards: [{name: rows, max_examples: 300}]
classes: [a, b]
start: start.csv
eval: eval.csv
model: {kind: svc, kernel: linear}
metric: accuracy
";

/// A submission that ended because of its time is not evaluated again, not even by the next
/// delivery of its event.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_evaluation_without_end_is_begun_once() {
    let world = World::without_dataset(|config| {
        with_caretaker(config);
        let function = &mut config.functions[0];
        function.name = CURATION.into();
        function.binary = binary(CURATION);
        function.trigger.prefix = format!("{CURATION}/");
        function.timeout = Duration::from_secs(3);
    })
    .await;
    let from = world.scratch().join("contest");
    fs::create_dir(&from).unwrap();
    fs::write(from.join("task.yaml"), CONTEST).unwrap();
    // large numbers and labels that have nothing to do with them
    let mut draws = 0_u64;
    let mut draw = |n: u64| {
        draws = draws.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (draws >> 33) % n
    };
    let mut table = |n_rows: usize| {
        let columns: Vec<String> = (0..2).map(|n| format!("x{n}")).collect();
        let mut csv = format!("label,{}\n", columns.join(","));
        for row in 0..n_rows {
            let label = ["a", "b"][if row < 2 { row } else { draw(2) as usize }];
            let numbers: Vec<String> = columns.iter().map(|_| draw(9999).to_string()).collect();
            writeln!(csv, "{label},{}", numbers.join(",")).unwrap();
        }
        csv
    };
    fs::write(from.join("start.csv"), table(4)).unwrap();
    fs::write(from.join("eval.csv"), table(4)).unwrap();
    let frozen = world.scratch().join("frozen");
    let [from, out] = [&from, &frozen].map(|path| path.to_str().unwrap());
    project::ran(["dataset", "import", CURATION, "--from", from, "--out", out]);
    world.ran(words!(
        "dataset publish --allow small_test_set --allow chance {out}"
    ));
    // the function gives an evaluation up after half of its time
    let csv = table(300);
    let sent = world.put(&format!("{CURATION}/rows/ada/slow.csv"), csv).await;
    let [(receipt, _)] = &world.ended(CURATION, &[sent]).await[..] else {
        panic!("one upload");
    };
    assert_eq!(codes(receipt), ["time_limit"], "{receipt:?}");
    let function = &world.cloud.snapshot().await.unwrap().functions[CURATION];
    assert_eq!(
        (function.n_retried, function.n_succeeded, function.n_failed),
        (1, 1, 0)
    );
}

/// Without its challenge a benchmark would have no limits: that one was there is noted, and only a command ends it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_challenge_that_is_lost_has_not_ended() {
    let world = World::with(with_caretaker).await;
    let rounds = json!([{ "id": "ever", "opens": "2020-01-01T00:00:00Z", "total_limit": 1 }]);
    assert_eq!(publish(&world, &rounds).code, 0);
    let first = world.put(&key("ada", 0), good(0)).await;
    world.settle().await;
    assert_eq!(receipt(&world, &first).await.verdict.status, Ending::Scored);

    let lost = format!("{BENCHMARK}/challenge.json");
    let s3 = &world.clients.s3;
    s3.delete_object()
        .bucket("datasets")
        .key(&lost)
        .send()
        .await
        .unwrap();
    let second = world.put(&key("ada", 1), good(1)).await;
    world.settle().await;
    let failed = receipt(&world, &second).await;
    assert_eq!(
        (failed.verdict.status, codes(&failed)),
        (Ending::Failed, vec!["organizer_fault"])
    );
    let shown = world.command(["challenge", "show", BENCHMARK]);
    assert!(
        shown.code == 1 && shown.stderr.contains(&lost) && shown.stderr.contains("challenge remove"),
        "{shown:?}"
    );

    // a document does not say which other rounds there were
    let refused = publish(&world, &rounds);
    refused.assert_refused("challenge rollback");
    assert_eq!(world.command(["challenge", "rollback", BENCHMARK]).code, 0);
    assert_eq!(world.command(["redrive", "--all-failed"]).code, 0);
    world.settle().await;
    assert_eq!(codes(&receipt(&world, &second).await), ["total_limit"]);

    world.ran(["challenge", "remove", BENCHMARK]);
    let third = world.put(&key("ada", 2), good(2)).await;
    world.settle().await;
    let third = receipt(&world, &third).await;
    assert_eq!(
        (third.verdict.status, third.round.as_str()),
        (Ending::Scored, "open")
    );
    let again = world.command(["challenge", "remove", BENCHMARK]);
    again.assert_refused("nothing to remove");
}

/// The platform's failures take nothing of a limit, and count in their round once they are
/// evaluated after all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_does_not_count_until_evaluated_again() {
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
    assert_eq!(world.command(["redrive", "--all-failed"]).code, 0);
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
    let boards = world.command(["leaderboard", BENCHMARK]).json();
    assert_eq!(boards.as_array().unwrap().len(), 1, "{boards}");
    assert_eq!(boards[0]["round"], "ever");
    assert_eq!(boards[0]["places"].as_array().unwrap().len(), 2);
}

/// Two uploads are being evaluated at a limit of two: a third is refused before anything is computed. One of the two fails, under the
/// rights that the caretaker is deployed with, and its place is the next one's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_evaluations_return_their_place_in_the_limit() {
    let world = World::with(|config| {
        as_deployed(config);
        let give_up = ("DATAPERF_GIVE_UP_AFTER_SECONDS".to_owned(), "0".to_owned());
        for spec in &mut config.functions {
            spec.environment.extend([give_up.clone()]);
        }
    })
    .await;
    let rounds = json!([{ "id": "ever", "opens": "2020-01-01T00:00:00Z", "total_limit": 2 }]);
    assert_eq!(publish(&world, &rounds).code, 0);
    let first = world.put(&key("ada", 0), good(0)).await;
    world.settle().await;
    assert_eq!(receipt(&world, &first).await.verdict.status, Ending::Scored);

    // as a function leaves it that is killed while it computes
    let table = world.leaderboards();
    let challenge = Challenge::published(&world.bucket("datasets"), BENCHMARK).await;
    let challenge = challenge.unwrap().unwrap();
    let at = Timestamp::from_unix_millis(dataperf_aws::now().unix_millis() - 60_000);
    let terms = Terms::resolve(Some(&challenge), "en-25", "ada", at);
    let round = Board {
        round: terms.round.clone(),
        ..board("en-25")
    };
    let upload = Upload {
        bucket: "submissions".into(),
        key: key("ada", 1),
        version: Some("of one that was killed".into()),
        e_tag: None,
        received_at: at,
    };
    let killed = Submission::new(round, "ada", false, upload);
    let submission = table.receive(&killed).await.unwrap();
    assert_eq!(submission, killed, "nobody has received it");
    assert_eq!(table.reserve(&submission, &terms).await.unwrap(), Reserved::Now);

    let refused = world.put(&key("ada", 2), good(2)).await;
    world.settle().await;
    let refused = receipt(&world, &refused).await;
    assert_eq!(codes(&refused), ["total_limit"]);
    assert_eq!(refused.verdict.reasons[0].actual, Some(2));

    world.sweep().await;
    let known = table
        .submission(BENCHMARK, &submission.id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(known.receipt.unwrap().verdict.status, Ending::Failed);
    let next = world.put(&key("ada", 3), good(3)).await;
    world.settle().await;
    assert_eq!(receipt(&world, &next).await.verdict.status, Ending::Scored);
}
