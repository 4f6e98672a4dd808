//! Submitters' uploads in odd places: odd keys, wrong places, hostile sizes, and the sample events.

use std::fs;

use dataperf::Ending;
use serde_json::{Value, json};

use crate::support::project::{BENCHMARK, good, root};
use crate::support::world::{SAMPLE_BUCKET, Sent, World, codes};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_legal_key_is_scored() {
    let world = World::new().await;
    let names = [
        "ada/my best 100% + one.json",
        "ada/zoë lab/ü.json",
        "ada/a+b/c+d=e&f?.json",
        "ada/100%/%2F%20.json",
        "ada/日本語/提出.json",
        "ada/deeper/and deeper/file.json",
        "ada//double.json",
        "ada/.hidden",
        "ada/ leading and trailing ",
        "ada/no-extension",
        "ada/o'neill \"x\"/~!*'();:@$,[].json",
        "ada/back\\slash.json",
        "ada/<b>&amp;/<i>.json",
        "ada/tab\tand\nline.json",
        "ada/#.json",
        "ada/🦜.json",
        "ada/..",
        "ada/-rf/--help",
        "ada/what XML can't carry\u{1}\u{1f}\u{fffe}\u{ffff}",
    ];
    let mut sent = Vec::new();
    for (n, name) in names.iter().enumerate() {
        sent.push(world.put(&format!("{BENCHMARK}/en-25/{name}"), good(n)).await);
    }
    let longest = "x".repeat(1024 - BENCHMARK.len() - "/en-25/ada/".len());
    sent.push(
        world
            .put(&format!("{BENCHMARK}/en-25/ada/{longest}"), good(0))
            .await,
    );
    let receipts = world.receipts(&sent).await;
    for sent in &sent {
        assert_eq!(
            receipts[&sent.id()].verdict.status,
            Ending::Scored,
            "`{}`: {:?}",
            sent.key,
            receipts[&sent.id()].verdict.reasons
        );
    }
    assert_eq!(world.cloud.on_failure().await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unjudgeable_upload_is_rejected_with_its_reason() {
    let world = World::new().await;
    let long = "x".repeat(129);
    let cases: [(String, Vec<u8>, &[&str]); 12] = [
        ("en-99/ada/x.json".into(), good(0), &["unknown_leaderboard"]),
        ("en-25 /ada/x.json".into(), good(0), &["unknown_leaderboard"]),
        ("en-25/x.json".into(), good(0), &["misplaced_upload"]),
        ("x.json".into(), good(0), &["misplaced_upload"]),
        ("en-25/a#b/x.json".into(), good(0), &["unusable_name"]),
        (
            format!("{long}/{long}/x.json"),
            good(0),
            &["unusable_name", "unusable_name"],
        ),
        ("en-25/_/x.json".into(), good(0), &["unusable_name"]),
        ("en-25/Ada/x.json".into(), good(0), &["unusable_name"]),
        ("en-25/ada /x.json".into(), good(0), &["unusable_name"]),
        ("en-25/\u{202e}ada/x.json".into(), good(0), &["unusable_name"]),
        ("en-25/ada/large.json".into(), vec![b'['; 2 << 20], &["too_large"]),
        ("en-25/ada/empty.json".into(), Vec::new(), &["empty"]),
    ];
    let mut sent = Vec::new();
    for (name, bytes, _) in &cases {
        sent.push(world.put(&format!("{BENCHMARK}/{name}"), bytes.clone()).await);
    }
    let receipts = world.receipts(&sent).await;
    for ((name, _, expected), sent) in cases.iter().zip(&sent) {
        let receipt = &receipts[&sent.id()];
        assert_eq!(
            (receipt.verdict.status, codes(receipt)),
            (Ending::Rejected, expected.to_vec()),
            "`{name}`"
        );
        if name.starts_with("en-25 /") {
            let text = &receipt.verdict.reasons[0].message;
            assert!(text.contains("did you mean `en-25`"), "{text}");
        }
    }
    let alike = &receipts[&sent[7].id()];
    assert_eq!(
        (alike.submitter.as_str(), alike.verdict.reasons[0].at.as_str()),
        ("_", "key, part 3")
    );
    let message = &alike.verdict.reasons[0].message;
    assert!(message.contains("such as `ada`"), "{message}");
    let large = &receipts[&sent[10].id()].verdict.reasons[0];
    assert_eq!((large.limit, large.actual), (Some(1 << 20), Some(2 << 20)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn folder_markers_are_nobodys_submission() {
    let world = World::new().await;
    for folder in ["", "en-25/", "en-25/ada/"] {
        world.put(&format!("{BENCHMARK}/{folder}"), "").await;
    }
    assert!(world.receipts(&[]).await.is_empty());
    assert_eq!(world.cloud.snapshot().await.unwrap().n_succeeded, 3);
}

/// A rejection is kept in one item of the table, which may have 400 KB: even the longest fits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_longest_rejection_there_can_be_is_kept() {
    let world = World::new().await;
    let hostile: Vec<String> = (0..300)
        .map(|n| format!("{n:04}{}", "\u{1}\"\\🦜~/".repeat(30)))
        .collect();
    let words: serde_json::Map<String, Value> = hostile
        .iter()
        .map(|word| (word.clone(), json!([1, "x"])))
        .collect();
    let unknown = json!({ "targets": words, "nontargets": [] }).to_string();
    let repeated = json!({ "targets": { "job": hostile.iter().chain(&hostile).collect::<Vec<_>>() }, "nontargets": hostile }).to_string();
    let long_key = format!("{BENCHMARK}/{}/{}/", "🦜".repeat(32), "\"".repeat(128));
    let long_key = format!("{long_key}{}", "\\".repeat(1024 - long_key.len()));
    let mut sent = Vec::new();
    for (name, artifact) in [("a", unknown), ("b", repeated)] {
        assert!(artifact.len() < 1 << 20, "{name}: {}", artifact.len());
        sent.push(
            world
                .put(&format!("{BENCHMARK}/en-25/ada/{name}.json"), artifact)
                .await,
        );
    }
    sent.push(world.put(&long_key, good(0)).await);
    let receipts = world.receipts(&sent).await;
    for (id, receipt) in &receipts {
        assert_eq!(receipt.verdict.status, Ending::Rejected, "{id}");
        println!(
            "a rejection of {} bytes",
            serde_json::to_string(receipt).unwrap().len()
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_that_was_deleted_before_its_evaluation() {
    let world = World::new().await;
    world.cloud.faults().hold_events(true);
    let key = format!("{BENCHMARK}/en-25/ada/x.json");
    let gone = world.put(&key, good(0)).await;
    let kept = world.put(&key, good(1)).await;
    let s3 = &world.clients.s3;
    s3.delete_object()
        .bucket("submissions")
        .key(&key)
        .version_id(&gone.version)
        .send()
        .await
        .unwrap();
    s3.delete_object()
        .bucket("submissions")
        .key(&key)
        .send()
        .await
        .unwrap(); // only a marker: the version stays
    world.cloud.faults().hold_events(false);
    let receipts = world.receipts(&[gone.clone(), kept.clone()]).await;
    assert_eq!(codes(&receipts[&gone.id()]), ["deleted"]);
    assert_eq!(receipts[&kept.id()].verdict.status, Ending::Scored);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn multipart_uploads_and_copies_are_uploads_too() {
    let world = World::new().await;
    let s3 = &world.clients.s3;
    let key = format!("{BENCHMARK}/en-25/ada/parts.json");
    let begun = s3
        .create_multipart_upload()
        .bucket("submissions")
        .key(&key)
        .send()
        .await
        .unwrap();
    let id = begun.upload_id().unwrap();
    let part = s3
        .upload_part()
        .bucket("submissions")
        .key(&key)
        .upload_id(id)
        .part_number(1)
        .body(good(0).into());
    let part = part.send().await.unwrap();
    let part = aws_sdk_s3::types::CompletedPart::builder()
        .part_number(1)
        .set_e_tag(part.e_tag)
        .build();
    let parts = aws_sdk_s3::types::CompletedMultipartUpload::builder()
        .parts(part)
        .build();
    let done = s3
        .complete_multipart_upload()
        .bucket("submissions")
        .key(&key)
        .upload_id(id)
        .multipart_upload(parts);
    let done = done.send().await.unwrap();
    let whole = Sent {
        bucket: "submissions".into(),
        key: key.clone(),
        version: done.version_id.unwrap(),
    };

    let copy_key = format!("{BENCHMARK}/en-25/bo/copy.json");
    let copied = s3
        .copy_object()
        .bucket("submissions")
        .key(&copy_key)
        .copy_source(format!("submissions/{key}"));
    let copied = copied.send().await.unwrap();
    let copy = Sent {
        bucket: "submissions".into(),
        key: copy_key,
        version: copied.version_id.unwrap(),
    };
    let receipts = world.receipts(&[whole.clone(), copy.clone()]).await;
    let scores = [&whole, &copy].map(|sent| receipts[&sent.id()].verdict.score);
    assert!(scores[0].is_some() && scores[0] == scores[1], "{scores:?}");
}

fn sample(name: &str) -> Value {
    let text = fs::read_to_string(root().join("events").join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Each sample event, unchanged except for the versions, which belong to objects that were uploaded
/// for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sample_events_are_understood() {
    let world = World::new().await;
    let keys = [
        (
            "encoded-key.json",
            &["speech-selection/pt-25/zoe-lab/zoë's best 100% + one.json"][..],
        ),
        (
            "speech-selection.json",
            &["speech-selection/en-60/mesh/coreset.json"],
        ),
        (
            "duplicate-delivery.json",
            &["speech-selection/en-60/mesh/coreset.json"; 2],
        ),
        (
            "several-records.json",
            &[
                "speech-selection/en-60/mesh/coreset.json",
                "speech-selection/id-25/kasuari/run-7.json",
                "speech-selection/en-25/mesh/archive.zip",
            ],
        ),
    ];
    let mut sent: Vec<Sent> = Vec::new();
    for (name, keys) in keys {
        let mut event = sample(name);
        assert_eq!(event["Records"].as_array().unwrap().len(), keys.len(), "{name}");
        let mut of_event: Vec<Sent> = Vec::new();
        for (idx, key) in keys.iter().enumerate() {
            let upload = match of_event.iter().find(|sent| sent.key == *key) {
                Some(upload) => upload.clone(),
                None => world.put_into(SAMPLE_BUCKET, key, good(0)).await,
            };
            event["Records"][idx]["s3"]["object"]["versionId"] = json!(upload.version);
            if !of_event.iter().any(|sent| sent.id() == upload.id()) {
                of_event.push(upload);
            }
        }
        world.cloud.invoke(BENCHMARK, &event).await.unwrap();
        sent.extend(of_event);
    }
    let out_of_order = sample("out-of-order-versions.json");
    let records = out_of_order["Records"].as_array().unwrap();
    let versions: Vec<&str> = records
        .iter()
        .map(|record| record["s3"]["object"]["versionId"].as_str().unwrap())
        .collect();
    for version in versions {
        let key = records[0]["s3"]["object"]["key"].as_str().unwrap();
        sent.push(Sent {
            bucket: SAMPLE_BUCKET.into(),
            key: key.into(),
            version: version.into(),
        });
    }
    world.cloud.invoke(BENCHMARK, &out_of_order).await.unwrap();
    world
        .cloud
        .invoke(BENCHMARK, &sample("s3-test-event.json"))
        .await
        .unwrap();

    let receipts = world.receipts(&sent).await;
    assert_eq!(world.cloud.on_failure().await.unwrap(), []);
    assert_eq!(receipts[&sent[0].id()].submitter, "zoe-lab");
    let on_en_60 = receipts[&sent[1].id()].verdict.status;
    assert_eq!(on_en_60, Ending::Scored, "25 clips fit a board of 60");
    let not_there = &receipts[&sent[sent.len() - 1].id()];
    assert_eq!(
        codes(not_there),
        ["deleted"],
        "the versions of the untouched sample do not exist"
    );
}
