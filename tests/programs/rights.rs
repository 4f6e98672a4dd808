//! Tests the role of the function that runs programs: a program that obtained its rights could do
//! nothing. It also tests the rights of a run's addresses.

use aws_sdk_s3::error::ProvideErrorMetadata;
use dataperf::dataset::dataset_prefix;
use dataperf::ports::PortError;
use dataperf::ports::bucket::{Bucket as _, Got};
use dataperf::programs::{Output, ProgramRequest, Programs};
use dataperf::{Descriptor, Upload};
use dataperf_aws::{Addresses, Clients, Connections};
use dataperf_benchmarks::speech_selection::SpeechSelection;
use dataperf_local::Identity;
use serde_json::json;

use super::{CLOSED, closed_round, upload, with_programs};
use crate::challenges::{publish, receipt};
use crate::datasets::finals::staged;
use crate::people::organizer_mistakes::digest;
use crate::support::project::{BENCHMARK, frozen};
use crate::support::world::{World, deployed};

const KEY: &str = "closed";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_program_role_has_no_data_access() {
    let mut world = World::with(with_programs).await;
    let (_, hidden) = staged(&world);
    assert_eq!(world.command(["keys", "publish"]).code, 0);
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
    for (bucket, key) in [
        ("submissions", sent.key.as_str()),
        ("submissions", written.as_str()),
        ("submissions", "speech-selection/en-25/bo/x.wasm"),
        ("datasets", &format!("{of_dataset}manifest.json")),
        ("datasets", &format!("{of_dataset}en/train.safetensors")),
        ("datasets", &format!("{of_dataset}en/eval.safetensors")),
        ("datasets", "speech-selection/current.json"),
        ("datasets", "keys.json"),
        ("results", of_ada.as_str()),
    ] {
        let got = s3.get_object().bucket(bucket).key(key).send().await;
        assert_eq!(got.unwrap_err().code(), Some("AccessDenied"), "{key}");
        let put = s3
            .put_object()
            .bucket(bucket)
            .key(key)
            .body(b"{}".to_vec().into());
        assert_eq!(
            put.send().await.unwrap_err().code(),
            Some("AccessDenied"),
            "{key}"
        );
        let deleted = s3.delete_object().bucket(bucket).key(key).send().await;
        assert_eq!(deleted.unwrap_err().code(), Some("AccessDenied"), "{key}");
    }
    let scanned = dynamodb.scan().table_name("dataperf").send().await;
    assert_eq!(scanned.unwrap_err().code(), Some("AccessDeniedException"));
    let request = dynamodb.query().table_name("dataperf").send().await;
    assert_eq!(request.unwrap_err().code(), Some("AccessDeniedException"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runs_addresses_cover_only_its_own_objects() {
    let world = World::new().await;
    let (_, hidden) = staged(&world);
    let public = digest(frozen());
    let sent = world.put(&format!("{BENCHMARK}/en-25/ada/a.wasm"), "first").await;
    world.put(&sent.key, "second, which is another submission").await;
    let upload = Upload {
        bucket: "submissions".into(),
        key: sent.key.clone(),
        version: Some(sent.version.clone()),
        e_tag: None,
        received_at: dataperf_aws::now(),
    };
    let programs = json!({ "public": public, "max_fuel": Programs::MAX_FUEL, "max_memory_mib": 64 });
    let request = ProgramRequest {
        benchmark: BENCHMARK.into(),
        leaderboard: "en-25".into(),
        dataset: hidden,
        programs: serde_json::from_value(programs).unwrap(),
    };
    let buckets = (world.bucket("submissions"), world.bucket("datasets"));
    let is_public = Descriptor::for_benchmark::<SpeechSelection>().is_public;
    let addresses = Addresses::of_run(&buckets.0, &buckets.1, &upload, &request, is_public).await;
    let (submissions, datasets) = addresses.unwrap().buckets(&Connections::default());
    let Got::Object(program) = submissions.get(&sent.key, None, 100).await.unwrap() else {
        panic!("no program");
    };
    assert_eq!(&program.bytes[..], b"first", "the version that is run");
    let too_large = submissions.get(&sent.key, None, 4).await.unwrap();
    assert_eq!(too_large, Got::TooLarge { n_bytes: 5 });
    let output = Output::key(BENCHMARK, &sent.id());
    assert_eq!(submissions.get(&output, None, 100).await.unwrap(), Got::Missing);
    submissions
        .put(&output, b"written".to_vec().into())
        .await
        .unwrap();
    let stored = buckets.0.get(&output, None, 100).await.unwrap();
    assert!(matches!(stored, Got::Object(stored) if &stored.bytes[..] == b"written"));
    for dataset in [public, hidden] {
        let prefix = dataset_prefix(BENCHMARK, dataset);
        let manifest = format!("{prefix}manifest.json");
        assert!(matches!(
            datasets.get(&manifest, None, 1 << 20).await,
            Ok(Got::Object(_))
        ));
        let pool = format!("{prefix}en/train.safetensors");
        let ranges = [0..4, 8..8, 2..10];
        let parts = datasets.get_ranges(&pool, &ranges).await.unwrap().unwrap();
        assert_eq!(
            parts,
            buckets.1.get_ranges(&pool, &ranges).await.unwrap().unwrap()
        );
        let hidden_labels = format!("{prefix}en/eval.safetensors");
        let refused = datasets.get(&hidden_labels, None, 1 << 30).await;
        assert!(matches!(refused, Err(PortError::Refused { .. })), "{refused:?}");
    }
    let refused = submissions.put(&sent.key, b"forged".to_vec().into()).await;
    assert!(matches!(refused, Err(PortError::Refused { .. })), "{refused:?}");
    // an address that is for reading is not for writing, whatever is sent there
    let address = format!("{submissions:?}");
    let (_, address) = address.split_once("http://").unwrap();
    let address = format!("http://{}", address.split('"').next().unwrap());
    let forged = crate::access::curl(&["-T", "/etc/hostname", &address]);
    assert!(
        forged.contains("SignatureDoesNotMatch") || forged.contains("AccessDenied"),
        "{forged}"
    );
}
