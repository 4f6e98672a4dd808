//! The table.

use dataperf_local::{AccessKey, Identity, LocalCloud, Policy};
use serde_json::json;

use crate::common::{config, dynamodb};
use crate::wire::{PUBLIC, Request, authority};
use crate::{assert_closed_to_browsers, start};

fn operation(name: &str, body: &serde_json::Value) -> Request {
    Request::new("POST", "/")
        .with("content-type", "application/x-amz-json-1.0")
        .with("x-amz-target", &format!("DynamoDB_20120810.{name}"))
        .body(body.to_string())
}

fn forged_row() -> Request {
    let row = json!({"pk": {"S": "p"}, "sk": {"S": "forged"}, "board": {"S": "b"}, "rank": {"S": "0"}});
    operation("PutItem", &json!({"TableName": "dataperf", "Item": row}))
}

#[tokio::test(flavor = "multi_thread")]
async fn only_programs_with_signed_requests_reach_the_table() {
    let (_dir, cloud) = start().await;
    let endpoint = cloud.dynamodb_endpoint();
    assert_closed_to_browsers(endpoint, |host| forged_row().signed("dynamodb", host)).await;
    for request in [
        forged_row(),
        forged_row()
            .with("x-amz-date", "20260101T000000Z")
            .with("authorization", "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=00"),
        Request::new("GET", "/"),
    ] {
        let answer = request.send(endpoint).await;
        assert!((400..500).contains(&answer.status), "{answer:?}");
    }
    let scan = dynamodb(&cloud).scan().table_name("dataperf").send().await;
    assert_eq!(scan.unwrap().count(), 0);
    let answer = forged_row()
        .signed("dynamodb", authority(endpoint))
        .send(endpoint)
        .await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(!answer.is_readable_elsewhere());
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    cloud.shutdown().await;
}

/// The key that requests are signed with is of somebody who has one partition and may see what there is.
#[tokio::test(flavor = "multi_thread")]
async fn a_decoy_opens_no_other_partition() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(dir.path());
    config.organizer = AccessKey {
        id: "organizer".into(),
        secret: "organizer".into(),
    };
    let policy = json!({"Statement": [
        {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*",
            "Condition": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": "own"}}},
        {"Effect": "Allow", "Action": "dynamodb:Scan", "Resource": "*"},
    ]});
    config.identities = vec![Identity {
        access_key: PUBLIC.into(),
        secret: PUBLIC.into(),
        policy: Policy::parse(&policy.to_string()).unwrap(),
    }];
    let cloud = LocalCloud::start(config).await.unwrap();
    let endpoint = cloud.dynamodb_endpoint();
    let own = json!({"pk": {"S": "own"}, "sk": {"S": "1"}});
    let others = json!({"pk": {"S": "others"}, "sk": {"S": "1"}});
    let query = |partition: &str| {
        json!({"TableName": "dataperf", "KeyConditionExpression": "pk = :p",
            "ExpressionAttributeValues": {":p": {"S": partition}}})
    };
    let mut decoy = query("others");
    decoy["Key"] = own.clone();
    let put = json!({"TableName": "dataperf", "Item": others});
    for (name, body, status) in [
        ("PutItem", json!({"TableName": "dataperf", "Item": own}), 200),
        ("Query", query("own"), 200),
        ("PutItem", put.clone(), 400),
        ("Query", query("others"), 400),
        (
            "PutItem",
            json!({"TableName": "dataperf", "Key": own, "Item": others}),
            400,
        ),
        ("Query", decoy, 400),
        (
            "DeleteItem",
            json!({"TableName": "dataperf", "Item": own, "Key": others}),
            400,
        ),
        ("TransactWriteItems", json!({"TransactItems": [[put]]}), 400),
        ("TransactWriteItems", json!([[{"Put": put}]]), 400),
    ] {
        let request = operation(name, &body).signed("dynamodb", authority(endpoint));
        let answer = request.send(endpoint).await;
        assert_eq!(answer.status, status, "{name} {body}: {answer:?}");
    }
    let scan = dynamodb(&cloud).scan().table_name("dataperf").send().await;
    assert_eq!(scan.unwrap().count(), 1);
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn engine_refusals_look_like_dynamodb_errors() {
    let (_dir, cloud) = start().await;
    let endpoint = cloud.dynamodb_endpoint();
    for (name, body, kind) in [
        ("Unheard", json!({}), "UnknownOperationException"),
        ("GetItem", json!({"TableName": 3}), "SerializationException"),
        ("GetItem", json!("text"), "SerializationException"),
        (
            "GetItem",
            json!({"TableName": "absent", "Key": {"pk": {"S": "a"}, "sk": {"S": "b"}}}),
            "ResourceNotFoundException",
        ),
        (
            "PutItem",
            json!({"TableName": "dataperf", "Item": {"pk": {"S": "a"}}}),
            "ValidationException",
        ),
        (
            "PutItem",
            json!({"TableName": "dataperf", "Item": {"pk": {"S": "a"}, "sk": {"S": "b"}, "n": {"NULL": false}}}),
            "ValidationException",
        ),
    ] {
        let request = operation(name, &body).signed("dynamodb", authority(endpoint));
        let answer = request.send(endpoint).await;
        assert_eq!(answer.status, 400, "{answer:?}");
        let error: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
        let actual = error["__type"].as_str().unwrap();
        assert!(actual.ends_with(&format!("#{kind}")), "{name} {body}: {answer:?}");
        let words = answer.body.to_uppercase();
        assert!(
            !["VALIDATION:", "VALIDATION_REQUEST:", "_AS_READ:"]
                .iter()
                .any(|mark| words.contains(mark)),
            "the engine's own marks stay inside: {answer:?}"
        );
    }
    let request = operation("ListTables", &json!({}))
        .body("{")
        .signed("dynamodb", authority(endpoint));
    let answer = request.send(endpoint).await;
    assert_eq!(answer.status, 400, "{answer:?}");
    cloud.shutdown().await;
}
