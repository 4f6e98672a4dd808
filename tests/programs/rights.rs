//! What the role of the function that runs programs may do, tried with its rights: a program that got hold of them could do no more.

use aws_sdk_s3::error::ProvideErrorMetadata;
use dataperf::dataset::dataset_prefix;
use dataperf::programs::Output;
use dataperf_aws::Clients;
use dataperf_local::Identity;
use serde_json::json;

use super::{CLOSED, closed_round, upload, with_programs};
use crate::challenges::{publish, receipt};
use crate::finals::staged;
use crate::organizer::digest;
use crate::project::{BENCHMARK, frozen};
use crate::world::{World, deployed};

const KEY: &str = "closed";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_role_that_runs_programs_reads_no_eval_set_and_writes_no_score() {
    let mut world = World::with(with_programs).await;
    let (_, hidden) = staged(&world);
    assert_eq!(world.command(&["keys", "publish"]).code, 0);
    let ran = publish(&world, &closed_round(digest(frozen()), hidden, &json!({})));
    assert_eq!(ran.code, 0, "{ran:?}");
    let module = std::fs::read(super::program("speech_selection-c")).unwrap();
    let sent = upload(&world, "ada", module).await;
    let of_ada = receipt(&world, &sent).await.object_key();
    world
        .change(|config| {
            config.identities = vec![Identity {
                access_key: KEY.into(),
                secret: "secret".into(),
                policy: deployed(CLOSED),
            }];
        })
        .await;
    let Clients { s3, dynamodb, .. } = Clients::at(
        world.cloud.s3_endpoint(),
        world.cloud.dynamodb_endpoint(),
        KEY,
        "secret",
    )
    .await;
    let of_dataset = dataset_prefix(BENCHMARK, hidden);
    let written = Output::key(BENCHMARK, &sent.id());
    let get = async |bucket: &str, key: &str| {
        let got = s3.get_object().bucket(bucket).key(key).send().await;
        got.map(drop)
            .map_err(|error| error.code().unwrap_or_default().to_owned())
    };
    let put = async |bucket: &str, key: &str| {
        let stored = s3
            .put_object()
            .bucket(bucket)
            .key(key)
            .body(b"{}".to_vec().into());
        let stored = stored.send().await;
        stored
            .map(drop)
            .map_err(|error| error.code().unwrap_or_default().to_owned())
    };
    let denied = || Err("AccessDenied".to_owned());
    // what it is for
    for (bucket, key) in [
        ("submissions", sent.key.clone()),
        ("datasets", format!("{of_dataset}manifest.json")),
        ("datasets", format!("{of_dataset}en/train.safetensors")),
    ] {
        assert_eq!(get(bucket, &key).await, Ok(()), "{key}");
    }
    // hidden labels, who may be in which round, keys, receipts
    for (bucket, key) in [
        ("datasets", format!("{of_dataset}en/eval.safetensors")),
        ("datasets", format!("{BENCHMARK}/current.json")),
        ("datasets", format!("{BENCHMARK}/challenge.json")),
        ("datasets", "keys.json".to_owned()),
        ("results", of_ada.clone()),
    ] {
        assert_eq!(get(bucket, &key).await, denied(), "{key}");
    }
    assert_eq!(put("submissions", &written).await, Ok(()));
    for (bucket, key) in [
        ("submissions", sent.key.as_str()),
        ("submissions", "speech-selection/en-25/bo/x.wasm"),
        ("results", of_ada.as_str()),
        ("datasets", "speech-selection/current.json"),
    ] {
        assert_eq!(put(bucket, key).await, denied(), "{key}");
    }
    let deleted = s3
        .delete_object()
        .bucket("submissions")
        .key(&written)
        .send()
        .await;
    assert_eq!(deleted.unwrap_err().code(), Some("AccessDenied"));
    let scanned = dynamodb.scan().table_name("dataperf").send().await;
    assert_eq!(scanned.unwrap_err().code(), Some("AccessDeniedException"));
    let asked = dynamodb.query().table_name("dataperf").send().await;
    assert_eq!(asked.unwrap_err().code(), Some("AccessDeniedException"));
}
