//! Receipts and table items are wire formats: what changes in these snapshots changes for everybody who reads them.

use std::collections::BTreeMap;
use std::fs;

use aws_sdk_dynamodb::types::AttributeValue;
use dataperf::{EVALUATOR, Receipt};
use serde_json::{Value, json};

use crate::support::project::{BENCHMARK, demo, good, score};
use crate::support::world::{Sent, World};

/// `text` without what differs from run to run.
fn redacted(mut text: String, receipts: &[Receipt]) -> String {
    for (n, receipt) in receipts.iter().enumerate() {
        let n = n + 1;
        text = text.replace(receipt.submission.as_str(), &format!("SUBMISSION_{n}"));
        text = text.replace(receipt.version.as_ref().unwrap(), &format!("VERSION_{n}"));
    }
    for signature in receipts.iter().filter_map(|receipt| receipt.signature.as_ref()) {
        let signed_at = |at: &str| format!("\"signed_at\": \"{at}\"");
        text = text.replace(
            &signed_at(&signature.signed_at.to_string()),
            &signed_at("SIGNED_AT"),
        );
        text = text
            .replace(&signature.key, "KEY")
            .replace(&signature.value, "VALUE");
    }
    for (n, receipt) in receipts.iter().enumerate() {
        let n = n + 1;
        text = text.replace(&receipt.received_at.to_string(), &format!("RECEIVED_AT_{n}"));
        text = text.replace(&receipt.finished_at.to_string(), &format!("FINISHED_AT_{n}"));
    }
    text.replace(EVALUATOR, "EVALUATOR")
}

fn attribute(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => json!({ "S": text }),
        AttributeValue::N(digits) => json!({ "N": digits }),
        AttributeValue::L(list) => json!({ "L": list.iter().map(attribute).collect::<Vec<_>>() }),
        AttributeValue::M(map) => {
            let map = map.iter().map(|(name, value)| (name.clone(), attribute(value)));
            json!({ "M": map.collect::<serde_json::Map<_, _>>() })
        }
        other => panic!("the table has no {other:?}"),
    }
}

/// One scored and one rejected submission of the same submitter, in this order.
async fn two(world: &World) -> (Vec<Receipt>, Vec<Sent>) {
    let several = demo().join("submissions/en-60/hasty/bad_several_reasons.json");
    let mut sent = vec![
        world
            .put(&format!("{BENCHMARK}/en-25/ada/my clips.json"), good(0))
            .await,
    ];
    world.settle().await;
    sent.push(
        world
            .put(
                &format!("{BENCHMARK}/en-60/ada/hasty.json"),
                fs::read(several).unwrap(),
            )
            .await,
    );
    let receipts = world.receipts(&sent).await;
    (
        sent.iter().map(|sent| receipts[&sent.id()].clone()).collect(),
        sent,
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn receipts() {
    let world = World::new().await;
    let (receipts, _) = two(&world).await;
    for (name, receipt) in ["receipt_scored", "receipt_rejected"].into_iter().zip(&receipts) {
        let object = world
            .clients
            .s3
            .get_object()
            .bucket("results")
            .key(receipt.object_key())
            .send()
            .await
            .unwrap();
        let text = String::from_utf8(object.body.collect().await.unwrap().to_vec()).unwrap();
        insta::assert_snapshot!(name, redacted(text, &receipts));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn items() {
    let world = World::new().await;
    let (receipts, _) = two(&world).await;
    let mut items = Vec::new();
    for item in world.items().await {
        let attributes: BTreeMap<_, _> = item
            .iter()
            .map(|(name, value)| (name.clone(), attribute(value)))
            .collect();
        items.push(redacted(
            serde_json::to_string_pretty(&attributes).unwrap(),
            &receipts,
        ));
    }
    items.sort();
    insta::assert_snapshot!("items", items.join("\n"));
}

/// A mark's partition follows from the submission's id, which S3 draws.
fn without_shard(text: &str) -> String {
    match text.split_once("#unfinished#") {
        Some((before, after)) => format!("{before}#unfinished#SHARD{}", &after[1..]),
        None => text.to_owned(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unfinished_item() {
    let world = World::without_dataset(|_| ()).await;
    crate::people::organizer_mistakes::put_in_force_without_files(&world).await;
    let sent = world.put(&format!("{BENCHMARK}/en-25/ada/x.json"), good(0)).await;
    world.only_failure().await;
    let mut items = Vec::new();
    for item in world.items().await {
        let received_at = item.get("received_at").unwrap_or_else(|| &item["since"]);
        let received_at = received_at.as_s().unwrap().clone();
        let attributes: BTreeMap<_, _> = item
            .iter()
            .map(|(name, value)| (name.clone(), attribute(value)))
            .collect();
        let text = serde_json::to_string_pretty(&attributes).unwrap();
        let text = text
            .replace(sent.id().as_str(), "SUBMISSION")
            .replace(&sent.version, "VERSION");
        let text = match item.get("marked_at") {
            Some(at) => text.replace(at.as_s().unwrap(), "MARKED_AT"),
            None => text,
        };
        items.push(without_shard(&text.replace(&received_at, "RECEIVED_AT")));
    }
    items.sort();
    insta::assert_snapshot!("items_unfinished", items.join("\n"));
}

#[test]
fn the_verdict_of_the_command_line() {
    let several = demo().join("submissions/en-60/hasty/bad_several_reasons.json");
    insta::assert_snapshot!(
        "verdict_rejected",
        score("en-60", &several).stdout.replace(EVALUATOR, "EVALUATOR")
    );
}
