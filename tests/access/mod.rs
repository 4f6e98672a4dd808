//! Nobody gets in where they don't belong: submitters, functions and strangers try what they may not do.

mod forms;

use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use dataperf::table::leaderboard::Leaderboards;
use dataperf::{Ending, Upload};
use dataperf_aws::{Clients, Evaluators, with_causes};
use dataperf_benchmarks::speech_selection::SpeechSelection;
use dataperf_local::Identity;
use serde_json::json;

pub(crate) use self::forms::curl;
use crate::support::project::{BENCHMARK, good};
use crate::support::world::{CARETAKER, World, as_deployed, board, deployed, key, tagged};

/// Ada's keys with the tags that `dataperf submitter add` says, bo's likewise, and keys with a function's rights.
async fn with_identities() -> World {
    let mut world = World::with(as_deployed).await;
    let mut identities = Vec::new();
    for name in ["ada", "bo"] {
        let ran = world.ran(["submitter", "add", name, BENCHMARK, "--access", "policy"]);
        identities.push(tagged(&ran.json()["tags"]));
    }
    // names of the platform's own folders, and somebody whom nobody has tagged
    identities.extend(["closed", "images", "misplaced"].map(|name| tagged(&json!({ "submitter": name }))));
    let others = [
        ("untagged", deployed("submitter")),
        ("evaluator", deployed(BENCHMARK)),
        ("ender", deployed(CARETAKER)),
    ];
    identities.extend(others.map(|(name, policy)| Identity {
        access_key: name.into(),
        secret: format!("secret of {name}"),
        policy,
    }));
    world.change(|config| config.identities = identities).await;
    world
}

async fn clients(world: &World, name: &str) -> Clients {
    let secret = format!("secret of {name}");
    Clients::at(
        world.cloud.s3_endpoint(),
        world.cloud.dynamodb_endpoint(),
        name,
        &secret,
    )
    .await
}

fn code<T: std::fmt::Debug, E: ProvideErrorMetadata + std::fmt::Debug>(
    answer: Result<T, SdkError<E>>,
) -> String {
    match answer {
        Ok(answer) => format!("allowed: {answer:?}"),
        // an answer to HEAD has no body, and so no code
        Err(error) => error.code().map_or_else(
            || {
                format!(
                    "{:?}",
                    error.raw_response().map(|response| response.status().as_u16())
                )
            },
            str::to_owned,
        ),
    }
}

macro_rules! refused {
    ($code:expr, $($request:expr),+ $(,)?) => {
        $(assert_eq!(code($request.send().await), $code, "{}", stringify!($request));)+
    };
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_submitter_reads_only_its_own_receipt() {
    let world = with_identities().await;
    let (ada, bo) = (clients(&world, "ada").await.s3, clients(&world, "bo").await.s3);
    let put = |client: &aws_sdk_s3::Client, key: &str, bytes: Vec<u8>| {
        client
            .put_object()
            .bucket("submissions")
            .key(key)
            .body(bytes.into())
    };
    for (client, name) in [(&ada, "ada"), (&bo, "bo")] {
        put(client, &key(name, 0), good(0)).send().await.unwrap();
    }
    // the policy is for all benchmarks: a second one takes nothing of the first
    put(&ada, "vision-selection/open/ada/x.json", good(0))
        .send()
        .await
        .unwrap();
    world.settle().await;
    let listed = ada
        .list_objects_v2()
        .bucket("results")
        .prefix(format!("{BENCHMARK}/en-25/ada/"))
        .send()
        .await
        .unwrap();
    let receipt = listed.contents()[0].key().unwrap().to_owned();
    ada.get_object()
        .bucket("results")
        .key(&receipt)
        .send()
        .await
        .unwrap();

    let (own, others) = (key("ada", 0), key("bo", 0));
    refused!(
        "AccessDenied",
        put(&ada, &others, good(0)),
        put(&ada, &format!("{BENCHMARK}/en-25/bo/ada/x.json"), good(0)),
        put(&bo, &format!("{BENCHMARK}/en-25/bo/ada/x.json"), good(0)),
        put(&ada, &format!("{BENCHMARK}/ada/x.json"), good(0)),
        put(&ada, &format!("{BENCHMARK}/en-25/../bo/x.json"), good(0)),
        ada.create_multipart_upload().bucket("submissions").key(&others),
        ada.get_object().bucket("submissions").key(&others),
        ada.get_object().bucket("submissions").key(&own),
        ada.delete_object().bucket("submissions").key(&own),
        ada.delete_object().bucket("submissions").key(&others),
        ada.list_objects_v2().bucket("submissions"),
        ada.list_object_versions().bucket("submissions"),
        ada.list_buckets(),
        // forged and foreign receipts
        ada.put_object()
            .bucket("results")
            .key(&receipt)
            .body(b"{}".to_vec().into()),
        ada.delete_object().bucket("results").key(&receipt),
        ada.list_objects_v2().bucket("results"),
        ada.list_objects_v2()
            .bucket("results")
            .prefix(format!("{BENCHMARK}/en-25/bo/")),
        ada.get_object()
            .bucket("results")
            .key(format!("{BENCHMARK}/en-25/bo/x.json")),
        // hidden data, also by way of a copy into one's own folder
        ada.get_object()
            .bucket("datasets")
            .key(format!("{BENCHMARK}/current.json")),
        ada.put_object()
            .bucket("datasets")
            .key(format!("{BENCHMARK}/current.json"))
            .body(b"{}".to_vec().into()),
        ada.copy_object()
            .copy_source(format!("datasets/{BENCHMARK}/current.json"))
            .bucket("submissions")
            .key(&own),
        ada.copy_object()
            .copy_source(format!("submissions/{others}"))
            .bucket("submissions")
            .key(&own),
    );
    assert!(code(ada.head_object().bucket("submissions").key(&others).send().await).contains("403"));
    nobody_but_evaluators_writes_scores(&world).await;
    names_of_folders_open_nothing(&world).await;
}

/// A submitter may be called as a folder of the platform is, and gets no more by that than anybody else.
async fn names_of_folders_open_nothing(world: &World) {
    let id = "0123456789abcdef0123456789abcdef";
    let clients = [
        clients(world, "closed").await.s3,
        clients(world, "images").await.s3,
        clients(world, "misplaced").await.s3,
        clients(world, "untagged").await.s3,
    ];
    let [closed, images, misplaced, untagged] = &clients;
    let put = |client: &aws_sdk_s3::Client, key: String| {
        let put = client.put_object().bucket("submissions").key(key);
        put.body(b"{}".to_vec().into())
    };
    let get = |client: &aws_sdk_s3::Client, key: String| client.get_object().bucket("results").key(key);
    let list = |client: &aws_sdk_s3::Client, prefix: String| {
        client.list_objects_v2().bucket("results").prefix(prefix)
    };
    assert!(
        put(closed, key("closed", 0)).send().await.is_ok(),
        "its own folder"
    );
    refused!(
        "AccessDenied",
        put(closed, format!("{BENCHMARK}/_/closed/{id}")),
        put(untagged, key("ada", 0)),
        put(untagged, format!("{BENCHMARK}/en-25//x.json")),
        get(
            images,
            format!("adversarial-nibbler/generate/ada/images/{id}.png")
        ),
        list(images, "adversarial-nibbler/generate/ada/images/".into()),
        get(misplaced, format!("_/misplaced/{BENCHMARK}/misplaced/x.json")),
        list(misplaced, "_/misplaced/".into()),
        list(misplaced, "_/misplaced/x/misplaced/".into()),
        get(untagged, format!("{BENCHMARK}/en-25/ada/{id}.json")),
        list(untagged, String::new()),
    );
}

/// Scores are in the table, and no submitter has any right there; nor may a submitter start a function.
async fn nobody_but_evaluators_writes_scores(world: &World) {
    let ada = clients(world, "ada").await;
    let forged = json!({"pk": {"S": format!("{BENCHMARK}#rows#en-25#open")}, "sk": {"S": "ada"}});
    let item: std::collections::HashMap<_, _> = forged
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| {
            (
                name.clone(),
                aws_sdk_dynamodb::types::AttributeValue::S(value["S"].as_str().unwrap().into()),
            )
        })
        .collect();
    let before = world.items().await.len();
    for name in ["ada", "evaluator"] {
        let client = clients(world, name).await.dynamodb;
        let mut foreign = item.clone();
        let other = "vision-selection#rows#open#open".to_owned();
        foreign.insert("pk".into(), aws_sdk_dynamodb::types::AttributeValue::S(other));
        refused!(
            "AccessDeniedException",
            client.put_item().table_name("dataperf").set_item(Some(foreign)),
            client.scan().table_name("dataperf"),
            client.delete_table().table_name("dataperf"),
        );
    }
    // The caretaker fails what nobody ends and counts it no longer, and that is all: no score, no token, which would open the read API.
    let ender = clients(world, "ender").await.dynamodb;
    for partition in [
        "token".to_owned(),
        format!("{BENCHMARK}#rows#en-25#open"),
        format!("{BENCHMARK}#facts#en-25#open"),
        format!("{BENCHMARK}#boards"),
        "adversarial-nibbler#rater#ada".to_owned(),
    ] {
        let key = [("pk", partition.as_str()), ("sk", "ada")].map(|(name, value)| {
            (
                name.to_owned(),
                aws_sdk_dynamodb::types::AttributeValue::S(value.into()),
            )
        });
        let key = std::collections::HashMap::from(key);
        refused!(
            "AccessDeniedException",
            ender
                .put_item()
                .table_name("dataperf")
                .set_item(Some(key.clone())),
            ender.get_item().table_name("dataperf").set_key(Some(key.clone())),
            ender.delete_item().table_name("dataperf").set_key(Some(key)),
        );
    }
    refused!(
        "AccessDeniedException",
        ada.dynamodb
            .put_item()
            .table_name("dataperf")
            .set_item(Some(item.clone())),
        ada.dynamodb
            .get_item()
            .table_name("dataperf")
            .set_key(Some(item.clone())),
    );
    let evaluators = Evaluators::new(ada.lambda(Some(world.cloud.lambda_endpoint())), "");
    let upload = Upload {
        bucket: "submissions".into(),
        key: key("bo", 0),
        version: None,
        e_tag: None,
        received_at: dataperf_aws::now(),
    };
    let descriptor = dataperf::Descriptor::for_benchmark::<SpeechSelection>();
    let refused = evaluators.evaluate(&descriptor, &upload).await.unwrap_err();
    let refused = with_causes(&refused);
    assert!(refused.contains("AccessDeniedException"), "{refused}");
    assert_eq!(world.items().await.len(), before);
    assert!(
        world.leaderboards().top(&board("en-25"), 10).await.unwrap().len() == 2,
        "ada and bo, by their uploads"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn functions_work_under_their_deployed_rights() {
    let world = World::without_dataset(as_deployed).await;
    crate::people::organizer_mistakes::put_in_force_without_files(&world).await;
    let sent = world.put(&key("ada", 0), good(0)).await;
    let failed = world.only_receipt(&sent).await;
    assert_eq!(failed.verdict.reasons[0].code, "organizer_fault");
    world.publish(crate::support::project::frozen());
    assert_eq!(world.command(["redrive", "--all-failed"]).code, 0);
    assert_eq!(world.only_receipt(&sent).await.verdict.status, Ending::Scored);
    let dropped = dataperf_local::Storm {
        events_dropped: 1000,
        ..dataperf_local::Storm::default()
    };
    world.cloud.faults().storm(Some(dropped));
    let unannounced = world.put(&key("bo", 0), good(1)).await;
    world.sweep().await;
    let receipts = world.receipts(&[sent, unannounced]).await;
    assert!(
        receipts
            .values()
            .all(|receipt| receipt.verdict.status == Ending::Scored)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_function_reaches_no_other_benchmark() {
    let world = with_identities().await;
    let (evaluator, ender) = (
        clients(&world, "evaluator").await.s3,
        clients(&world, "ender").await.s3,
    );
    let sent = world.put(&key("ada", 0), good(0)).await;
    world.settle().await;
    refused!(
        "AccessDenied",
        evaluator
            .get_object()
            .bucket("submissions")
            .key("vision-selection/open/ada/x.json"),
        evaluator
            .get_object()
            .bucket("datasets")
            .key("vision-selection/current.json"),
        evaluator
            .put_object()
            .bucket("datasets")
            .key(format!("{BENCHMARK}/current.json"))
            .body(b"{}".to_vec().into()),
        evaluator
            .put_object()
            .bucket("results")
            .key("vision-selection/open/ada/x.json")
            .body(b"{}".to_vec().into()),
        evaluator
            .put_object()
            .bucket("submissions")
            .key(&sent.key)
            .body(b"{}".to_vec().into()),
        evaluator.delete_object().bucket("submissions").key(&sent.key),
        ender.get_object().bucket("submissions").key(&sent.key),
        // it learns which boards are active, and nothing else about data sets
        ender
            .get_object()
            .bucket("datasets")
            .key(format!("{BENCHMARK}/challenge.json")),
        ender
            .get_object()
            .bucket("datasets")
            .key(format!("{BENCHMARK}/x/manifest.json")),
        ender
            .put_object()
            .bucket("submissions")
            .key(&sent.key)
            .body(b"{}".to_vec().into()),
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_or_unknown_key_opens_nothing() {
    let world = with_identities().await;
    let at = async |key: &str, secret: &str| {
        Clients::at(
            world.cloud.s3_endpoint(),
            world.cloud.dynamodb_endpoint(),
            key,
            secret,
        )
        .await
    };
    for (access_key, secret, s3_code, table_code) in [
        (
            "local",
            "guessed",
            "SignatureDoesNotMatch",
            "InvalidSignatureException",
        ),
        (
            "ada",
            "secret of bo",
            "SignatureDoesNotMatch",
            "InvalidSignatureException",
        ),
        (
            "nobody",
            "local",
            "InvalidAccessKeyId",
            "UnrecognizedClientException",
        ),
    ] {
        let stranger = at(access_key, secret).await;
        refused!(
            s3_code,
            stranger
                .s3
                .put_object()
                .bucket("submissions")
                .key(key("ada", 0))
                .body(good(0).into())
        );
        refused!(table_code, stranger.dynamodb.scan().table_name("dataperf"));
    }
    let unsigned = curl(&[
        "-X",
        "POST",
        "-H",
        "x-amz-target: DynamoDB_20120810.Scan",
        "-d",
        r#"{"TableName": "dataperf"}"#,
        world.cloud.dynamodb_endpoint(),
    ]);
    assert!(unsigned.contains("MissingAuthenticationToken"), "{unsigned}");
    let unsigned = curl(&[
        "-T",
        "/etc/hostname",
        &format!("{}/submissions/{}", world.cloud.s3_endpoint(), key("ada", 0)),
    ]);
    assert!(unsigned.contains("AccessDenied"), "{unsigned}");
    let items = world.items().await;
    let granted = ["submitters", "names"].map(|kind| format!("{BENCHMARK}#{kind}"));
    let is_grant = |item: &std::collections::HashMap<_, aws_sdk_dynamodb::types::AttributeValue>| {
        item["pk"].as_s().is_ok_and(|pk| granted.contains(pk))
    };
    assert!(
        items.iter().all(is_grant),
        "only what the organizer noted: {items:?}"
    );
}
