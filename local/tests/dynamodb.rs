//! `DynamoDB` through the real SDK.
#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers of tests are tests

mod common;

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::types::{AttributeValue, Delete, Put, TransactWriteItem};
use common::{config, dynamodb};
use dataperf_local::LocalCloud;

fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

fn item(pk: &str, sk: &str, board: &str, rank: &str) -> HashMap<String, AttributeValue> {
    HashMap::from([
        ("pk".into(), text(pk)),
        ("sk".into(), text(sk)),
        ("board".into(), text(board)),
        ("rank".into(), text(rank)),
    ])
}

async fn top(client: &Client, board: &str) -> Vec<String> {
    let query = client
        .query()
        .table_name("dataperf")
        .index_name("ranking")
        .key_condition_expression("board = :board");
    let items = query
        .expression_attribute_values(":board", text(board))
        .send()
        .await
        .unwrap();
    items
        .items()
        .iter()
        .map(|item| item["sk"].as_s().unwrap().clone())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_transactions_and_the_index_survive_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let cloud = LocalCloud::start(config(dir.path())).await.unwrap();
    let client = dynamodb(&cloud);
    let put_new = |sk: &'static str, rank: &'static str| {
        let put = client.put_item().table_name("dataperf").set_item(Some(item(
            "speech-selection#a",
            sk,
            "en-25",
            rank,
        )));
        put.condition_expression("attribute_not_exists(pk)").send()
    };
    put_new("one", "0500").await.unwrap();
    put_new("two", "0100").await.unwrap();
    let twice = put_new("one", "0000").await.unwrap_err();
    assert_eq!(twice.code(), Some("ConditionalCheckFailedException"));
    assert_eq!(top(&client, "en-25").await, ["two", "one"]);

    let transaction = |sk: &str, absent: bool| {
        let condition = if absent {
            "attribute_not_exists(pk)"
        } else {
            "attribute_exists(pk)"
        };
        let put = Put::builder().table_name("dataperf").set_item(Some(item(
            "speech-selection#a",
            sk,
            "en-25",
            "0300",
        )));
        let delete = Delete::builder()
            .table_name("dataperf")
            .key("pk", text("speech-selection#a"))
            .key("sk", text("one"));
        client
            .transact_write_items()
            .transact_items(
                TransactWriteItem::builder()
                    .put(put.condition_expression(condition).build().unwrap())
                    .build(),
            )
            .transact_items(
                TransactWriteItem::builder()
                    .delete(delete.build().unwrap())
                    .build(),
            )
            .send()
    };
    let refused = transaction("three", false).await.unwrap_err();
    assert_eq!(refused.code(), Some("TransactionCanceledException"));
    assert_eq!(top(&client, "en-25").await, ["two", "one"], "all or nothing");
    transaction("three", true).await.unwrap();
    assert_eq!(top(&client, "en-25").await, ["two", "three"]);
    cloud.shutdown().await;

    let cloud = LocalCloud::start(config(dir.path())).await.unwrap();
    assert_eq!(top(&dynamodb(&cloud), "en-25").await, ["two", "three"]);
    let table = dynamodb(&cloud)
        .describe_table()
        .table_name("dataperf")
        .send()
        .await
        .unwrap()
        .table
        .unwrap();
    assert_eq!(
        table
            .billing_mode_summary()
            .unwrap()
            .billing_mode()
            .unwrap()
            .as_str(),
        "PAY_PER_REQUEST"
    );
    assert_eq!(table.global_secondary_indexes()[0].index_name(), Some("ranking"));
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_writes_are_throttled_and_reads_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let cloud = LocalCloud::start(config(dir.path())).await.unwrap();
    let client = dynamodb(&cloud);
    let put = |sk: &str| {
        client
            .put_item()
            .table_name("dataperf")
            .set_item(Some(item("p", sk, "b", "r")))
            .send()
    };
    put("before").await.unwrap();
    cloud.faults().refuse_table_writes(true);
    let refused = put("during").await.unwrap_err();
    assert_eq!(refused.code(), Some("ProvisionedThroughputExceededException"));
    assert_eq!(top(&client, "b").await, ["before"]);
    cloud.faults().refuse_table_writes(false);
    put("after").await.unwrap();
    let scan = client.scan().table_name("dataperf").send().await.unwrap();
    assert_eq!(scan.count(), 2);
    cloud.shutdown().await;
}
