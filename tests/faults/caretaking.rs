//! Work that the evaluators could not end: given up, never announced, left unfinished, evaluated
//! again.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_sdk_s3::types::{CompletedMultipartUpload, CompletedPart};
use dataperf::challenge::Terms;
use dataperf::table::leaderboard::Leaderboards as _;
use dataperf::{Ending, Timestamp};
use dataperf_local::{Shortage, Storm};
use serde_json::{Value, json};

use crate::faults::nothing_lost::large_dataset;
use crate::support::project::{BENCHMARK, frozen, good};
use crate::support::small_language::Layout;
use crate::support::world::{CARETAKER, SAMPLE_BUCKET, Sent, World, board, key, with_caretaker};

/// Which codes the failed receipts have, and how many each.
fn failures(receipts: &BTreeMap<dataperf::SubmissionId, dataperf::Receipt>) -> BTreeMap<String, usize> {
    let mut codes = BTreeMap::new();
    for receipt in receipts
        .values()
        .filter(|receipt| receipt.verdict.status == Ending::Failed)
    {
        *codes.entry(receipt.verdict.reasons[0].code.clone()).or_default() += 1;
    }
    codes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_uploads_are_evaluated_once_files_return() {
    let world = World::without_dataset(with_caretaker).await;
    crate::people::organizer_mistakes::put_in_force_without_files(&world).await;
    let mut sent = Vec::new();
    for n in 0..3 {
        sent.push(world.put(&key("ada", n), good(n)).await);
    }
    let failed = world.receipts(&sent).await;
    assert_eq!(failures(&failed), [("organizer_fault".to_owned(), 3)].into());
    assert_eq!(n_failures(&world).await, 0, "a fault of the platform");
    let message = &failed.values().next().unwrap().verdict.reasons[0].message;
    assert!(message.contains("does not count against you"), "{message}");
    assert!(
        !message.contains("datasets"),
        "nothing of the deployment is shown: {message}"
    );
    let shown = world.command(["status", BENCHMARK, "--failed"]).json();
    assert_eq!(shown.as_array().unwrap().len(), 3, "{shown}");

    world.publish(frozen());
    let one = sent[0].id();
    let ran = world.command(["redrive", one.as_str()]);
    assert_eq!(
        ran.json(),
        json!([{"submission": one, "benchmark": BENCHMARK, "was": "failed", "became": "evaluation requested"}])
    );
    let receipts = world.receipts(&sent).await;
    assert_eq!(receipts[&one].verdict.status, Ending::Scored);
    assert_eq!(failures(&receipts).len(), 1);
    let ran = world.command(["redrive", "--all-failed"]);
    assert_eq!(ran.json().as_array().unwrap().len(), 2, "{ran:?}");
    let receipts = world.all_scored(&sent).await;

    let ran = world.command(["redrive", one.as_str()]);
    assert_eq!(ran.json()[0]["became"], "left as it is", "{ran:?}");
    let ran = world.command(["redrive", &"0".repeat(32)]);
    ran.assert_refused("there is no submission");
    // an id that was copied with a mistake: the nearest is offered
    let (rest, last) = one.as_str().split_at(31);
    let mistaken = format!("{rest}{}", if last == "0" { "1" } else { "0" });
    let ran = world.command(["redrive", &mistaken]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains(&format!("`{mistaken}`")) && ran.stderr.contains(one.as_str()),
        "{ran:?}"
    );
    assert_eq!(world.receipts(&sent).await, receipts, "a verdict stands");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uploads_without_an_event_are_discovered() {
    let world = World::with(with_caretaker).await;
    let dropped = Storm {
        events_dropped: 1000,
        ..Storm::default()
    };
    world.cloud.faults().storm(Some(dropped));
    let mut sent = Vec::new();
    for n in 0..8 {
        sent.push(world.put(&key("ada", n % 4), good(n)).await); // two versions each
    }
    world.put(&format!("{BENCHMARK}/en-25/ada/"), "").await; // a console's folder is nobody's submission
    world.settle().await;
    assert!(world.items().await.is_empty(), "nobody heard of them");
    world.sweep().await;
    world.all_scored(&sent).await;
    let n_before = world.cloud.snapshot().await.unwrap().functions[BENCHMARK].n_succeeded;
    world.sweep().await;
    let n_after = world.cloud.snapshot().await.unwrap().functions[BENCHMARK].n_succeeded;
    assert_eq!(n_before, n_after, "what has ended is not evaluated again");
}

/// A key may have characters that XML can't carry; such an upload must not hide other uploads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_xml_invalid_key_does_not_stop_sweeps() {
    let world = World::with(with_caretaker).await;
    let dropped = Storm {
        events_dropped: 1000,
        ..Storm::default()
    };
    world.cloud.faults().storm(Some(dropped));
    let mut sent = Vec::new();
    for file in [
        "a.json",
        "\u{1}.json",
        "\u{fffe}\u{ffff}.json",
        "b\n\u{1f}.json",
        "a b+c%20ü~*.json",
        "z.json",
    ] {
        let key = format!("{BENCHMARK}/en-25/ada/{file}");
        sent.push(world.put(&key, good(0)).await);
    }
    sent.push(world.put(&key("zoe", 0), good(1)).await);
    world.sweep().await;
    let receipts = world.receipts(&sent).await;
    for sent in &sent {
        let receipt = &receipts[&sent.id()];
        assert_eq!(
            (receipt.verdict.status, &receipt.key),
            (Ending::Scored, &sent.key)
        );
    }
    let n_before = world.cloud.snapshot().await.unwrap().functions[BENCHMARK].n_succeeded;
    world.sweep().await;
    let n_after = world.cloud.snapshot().await.unwrap().functions[BENCHMARK].n_succeeded;
    assert_eq!(n_before, n_after, "each was found under its own id");
}

/// Uploads in one part, which begins two seconds before it is complete; the time in between.
async fn upload_in_parts(world: &World, key: &str, bytes: Vec<u8>) -> (Sent, Timestamp) {
    let s3 = &world.clients.s3;
    let create = s3.create_multipart_upload().bucket("submissions").key(key);
    let id = create.send().await.unwrap().upload_id.unwrap();
    let part = s3.upload_part().bucket("submissions").key(key).upload_id(&id);
    let part = part.part_number(1).body(bytes.into()).send().await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await; // times of objects may be whole seconds
    let between = dataperf_aws::now();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let part = CompletedPart::builder()
        .part_number(1)
        .set_e_tag(part.e_tag)
        .build();
    let parts = CompletedMultipartUpload::builder().parts(part).build();
    let complete = s3.complete_multipart_upload().bucket("submissions").key(key);
    let done = complete
        .upload_id(&id)
        .multipart_upload(parts)
        .send()
        .await
        .unwrap();
    let sent = Sent {
        bucket: "submissions".into(),
        key: key.into(),
        version: done.version_id.unwrap(),
    };
    let head = s3
        .head_object()
        .bucket("submissions")
        .key(key)
        .send()
        .await
        .unwrap();
    let stored = head.last_modified.unwrap().to_millis().unwrap();
    assert!(stored < between.unix_millis(), "S3 says when it began");
    (sent, between)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_multipart_upload_counts_from_its_completion() {
    let world = World::with(with_caretaker).await;
    let (announced, before_completion) = upload_in_parts(&world, &key("ada", 0), good(0)).await;
    let receipt = world.only_receipt(&announced).await;
    assert!(receipt.received_at > before_completion, "{}", receipt.received_at);

    let dropped = Storm {
        events_dropped: 1000,
        ..Storm::default()
    };
    world.cloud.faults().storm(Some(dropped));
    let (unannounced, before_completion) = upload_in_parts(&world, &key("bo", 0), good(1)).await;
    world.settle().await;
    world.sweep().await; // sees it for the first time
    world.sweep().await;
    let receipts = world.receipts(&[announced, unannounced.clone()]).await;
    let receipt = &receipts[&unannounced.id()];
    assert_eq!(receipt.verdict.status, Ending::Scored);
    assert!(receipt.received_at > before_completion, "{}", receipt.received_at);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uploads_unfinished_for_too_long_are_given_up() {
    let world = World::with(|config| {
        with_caretaker(config);
        let patience = config.functions[1]
            .environment
            .get_mut("DATAPERF_GIVE_UP_AFTER_SECONDS")
            .unwrap();
        *patience = "0".into();
        config.on_failure = None; // as if the queue had lost them
        config.functions[0].timeout = Duration::from_millis(1);
    })
    .await;
    // The one run that gets as far as the table leaves its submission unfinished.
    let received = dataperf::submission::Submission::new(
        crate::support::world::board("en-25"),
        "ada",
        false,
        dataperf::Upload {
            bucket: "submissions".into(),
            key: key("ada", 0),
            version: None,
            e_tag: None,
            received_at: dataperf::Timestamp::from_unix_millis(1),
        },
    );
    let sent = world.put(&received.upload.key, good(0)).await;
    world.settle().await;
    let mut upload = received.upload;
    upload.version = Some(sent.version.clone());
    let received = dataperf::submission::Submission::new(received.board, "ada", false, upload);
    dataperf::table::leaderboard::Leaderboards::receive(&world.leaderboards(), &received)
        .await
        .unwrap();
    world.sweep().await;
    let receipt = world.only_receipt(&sent).await;
    assert_eq!(receipt.verdict.reasons[0].code, "unfinished");
}

/// An old upload gets the same time as a new one, from when the table knows it or it is retried.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retried_uploads_are_not_given_up_after_days() {
    let world = World::with(with_caretaker).await;
    let table = world.leaderboards();
    let sent = world.put_into(SAMPLE_BUCKET, &key("ada", 0), good(0)).await; // announced to nobody
    let received = dataperf::submission::Submission::new(
        crate::support::world::board("en-25"),
        "ada",
        false,
        dataperf::Upload {
            bucket: SAMPLE_BUCKET.into(),
            key: sent.key.clone(),
            version: Some(sent.version.clone()),
            e_tag: None,
            received_at: Timestamp::from_unix_millis(1),
        },
    );
    dataperf::table::leaderboard::Leaderboards::receive(&table, &received)
        .await
        .unwrap();
    world.sweep().await;
    let known = dataperf::table::leaderboard::Leaderboards::submission(&table, BENCHMARK, &received.id);
    let receipt = known.await.unwrap().unwrap().receipt.unwrap();
    assert_eq!(receipt.verdict.status, Ending::Scored, "{receipt:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn timeouts_and_memory_shortages_have_separate_reasons() {
    let mut world = World::without_dataset(with_caretaker).await;
    world.publish(&large_dataset(&world));
    let submission = Layout::default().submission();
    let short = |memory_bytes| Shortage {
        memory_bytes: Some(memory_bytes),
        file_bytes: None,
    };
    world.cloud.faults().shortage(BENCHMARK, short(48 << 20)); // the data set alone has 32 MB
    let crashed = world.put(&key("ada", 0), submission.clone()).await;
    let receipts = world.receipts(std::slice::from_ref(&crashed)).await;
    assert_eq!(failures(&receipts), [("evaluator_crashed".to_owned(), 1)].into());

    world
        .change(|config| config.functions[0].timeout = Duration::from_millis(1))
        .await;
    let late = world.put(&key("ada", 1), submission).await;
    let sent = [crashed, late];
    let receipts = world.receipts(&sent).await;
    let expected = [("evaluator_crashed".to_owned(), 1), ("time_limit".to_owned(), 1)];
    assert_eq!(failures(&receipts), expected.into());
    assert_eq!(n_failures(&world).await, 2);
    let message = &receipts[&sent[1].id()].verdict.reasons[0].message;
    assert!(message.contains("`daily_failures`"), "{message}");

    world
        .change(|config| config.functions[0].timeout = Duration::from_mins(1))
        .await;
    assert_eq!(world.command(["redrive", "--all-failed"]).code, 0);
    let receipts = world.receipts(&sent).await;
    assert_eq!(failures(&receipts), BTreeMap::new());
    assert_eq!(n_failures(&world).await, 0);
}

/// How many failures of Ada count today.
async fn n_failures(world: &World) -> u64 {
    let terms = Terms::outside_any_challenge("ada");
    let table = world.leaderboards();
    let failures = terms.failures(&board("en-25"));
    let usage = table.usage(&failures, "ada", dataperf_aws::now());
    usage.await.unwrap().day
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_does_not_matter() {
    let world = World::with(with_caretaker).await;
    let full = Shortage {
        memory_bytes: None,
        file_bytes: Some(0),
    };
    for function in [BENCHMARK, CARETAKER] {
        world.cloud.faults().shortage(function, full);
    }
    let mut sent = vec![world.put(&key("ada", 0), good(0)).await];
    sent.push(world.put(&key("ada", 1), "{}").await);
    world.sweep().await;
    assert_eq!(failures(&world.receipts(&sent).await), BTreeMap::new());
}

/// Records that the caretaker can't read return to the queue, and are set aside after many tries;
/// nothing else suffers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_malformed_message_does_not_stop_the_others() {
    let world = World::with(|config| {
        with_caretaker(config);
        config.retry_backoff = vec![Duration::from_millis(1), Duration::from_millis(1)];
        config.functions[0].timeout = Duration::from_millis(1);
    })
    .await;
    let poison: Value =
        json!({"Records": [{"messageId": "m", "eventSource": "aws:sqs", "body": "not a record"}]});
    world.cloud.invoke(CARETAKER, &poison).await.unwrap();
    let sent = world.put(&key("ada", 0), good(0)).await;
    let receipts = world.receipts(std::slice::from_ref(&sent)).await;
    assert_eq!(failures(&receipts), [("time_limit".to_owned(), 1)].into());
    let records = world.cloud.on_failure().await.unwrap();
    let set_aside: Vec<_> = records
        .iter()
        .filter(|record| record.function == CARETAKER)
        .collect();
    assert_eq!(set_aside.len(), 1);
    assert_eq!(
        set_aside[0].record["responsePayload"]["errorType"],
        "BatchItemFailures"
    );
}
