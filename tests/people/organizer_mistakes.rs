//! The organizer's mistakes: reported as such, never used for scoring, and fixed without losing an
//! upload.

use std::fs;
use std::path::{Path, PathBuf};

use dataperf::dataset::active::InForce;
use dataperf::dataset::dataset_prefix;
use dataperf::ports::bucket::{Bucket, Got};
use dataperf::table::leaderboard::Leaderboards as _;
use dataperf::{Digest, Ending};
use serde_json::{Value, json};

use crate::support::project::{BENCHMARK, dataperf, frozen, good};
use crate::support::world::{Sent, World};

async fn upload(world: &World, n: usize) -> Sent {
    world
        .put(&format!("{BENCHMARK}/en-25/ada/{n}.json"), good(n))
        .await
}

/// The event of a submission that failed because of the organizer, and its message.
async fn organizer_fault(world: &World) -> (Value, String) {
    let (event, error) = world.only_failure().await;
    assert_eq!(error["errorType"], "OrganizerFault", "{error}");
    let boards = world.command(["leaderboard", BENCHMARK]).json();
    assert_eq!(boards, json!([]), "nothing was scored");
    (event, error["errorMessage"].as_str().unwrap().to_owned())
}

/// The demo's data set with another list of seeds, so with another digest and other scores.
pub(crate) fn other_dataset(world: &World) -> PathBuf {
    let out = world.scratch().join("other");
    copy(frozen(), &out);
    let path = out.join("manifest.json");
    let mut manifest: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    manifest["parameters"]["seeds"] = json!([1, 2]);
    fs::write(&path, format!("{manifest:#}\n")).unwrap();
    out
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Activates the demo's data set without uploading its files.
pub(crate) async fn put_in_force_without_files(world: &World) {
    let mut in_force = InForce::default();
    in_force.put(["en-25"], digest(frozen()));
    let object = in_force.to_json(BENCHMARK).unwrap();
    let datasets = world.bucket("datasets");
    datasets.put(&InForce::key(BENCHMARK), object).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uploads_without_a_data_set_are_rejected() {
    let world = World::without_dataset(|_| ()).await;
    let sent = upload(&world, 0).await;
    let verdict = world.only_receipt(&sent).await.verdict;
    let reason = &verdict.reasons[0];
    assert_eq!(
        (verdict.status, reason.code.as_str()),
        (Ending::Rejected, "unknown_leaderboard")
    );
    assert!(reason.message.contains("no data set is published"), "{reason:?}");
    assert_eq!(world.cloud.on_failure().await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rescoring_without_a_data_set_keeps_scores() {
    let world = World::new().await;
    let sent = upload(&world, 0).await;
    let before = world.only_receipt(&sent).await;
    assert_eq!(before.verdict.status, Ending::Scored);
    let nothing = InForce::default().to_json(BENCHMARK).unwrap();
    let datasets = world.bucket("datasets");
    datasets.put(&InForce::key(BENCHMARK), nothing).await.unwrap();
    let ran = world.command(["rescore", BENCHMARK, "en-25", "--timeout", "1"]);
    assert_ne!(ran.code, 0, "{ran:?}");
    world.settle().await;
    let known = world.leaderboards().submission(BENCHMARK, &sent.id()).await;
    let receipt = known.unwrap().unwrap().receipt.unwrap();
    assert_eq!(
        (receipt.revision, receipt.verdict.score),
        (1, before.verdict.score)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_refuses_missing_boards() {
    let world = World::without_dataset(|_| ()).await;
    let file = world.scratch().join("good.json");
    fs::write(&file, good(0)).unwrap();
    let submit = |leaderboard: &str| {
        let args = [
            "submit",
            BENCHMARK,
            "-l",
            leaderboard,
            "-s",
            "ada",
            file.to_str().unwrap(),
        ];
        world.command(args)
    };
    let refused = submit("en-25");
    refused.assert_refused("no data set is published");
    world.publish(frozen());
    let refused = submit("en25");
    refused.assert_refused("did you mean `en-25`");
    fs::write(&file, vec![b' '; (4 << 20) + 1]).unwrap();
    let refused = submit("en-25");
    assert_eq!(refused.code, 2, "{refused:?}");
    assert_eq!(refused.json()["reasons"][0]["actual"], 4_194_305, "{refused:?}");
    // the form, and with a data set the rules, as `validate` checks them
    fs::write(&file, "{\"targets\": {}}").unwrap();
    let refused = submit("en-25");
    assert_eq!(refused.code, 2, "{refused:?}");
    assert_eq!(refused.json()["reasons"][0]["code"], "missing_key", "{refused:?}");
    fs::write(
        &file,
        r#"{"targets": {"job": ["job/none.wav"]}, "nontargets": ["none/1.wav"]}"#,
    )
    .unwrap();
    let (dataset, path) = (frozen(), file.to_str().unwrap());
    let words = ["submit", BENCHMARK, "-l", "en-25", "-s", "ada", path, "--dataset"];
    let dataset = dataset.to_str().unwrap();
    let refused = world.command([&words[..], &[dataset]].concat());
    assert_eq!(refused.code, 2, "{refused:?}");
    let checked = [
        "--format",
        "json",
        "validate",
        BENCHMARK,
        "-l",
        "en-25",
        "--dataset",
        dataset,
        path,
    ];
    assert_eq!(refused.json(), dataperf(checked).json());
    let listed = world
        .clients
        .s3
        .list_objects_v2()
        .bucket("submissions")
        .send()
        .await;
    assert_eq!(listed.unwrap().key_count(), Some(0), "nothing was uploaded");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_data_set_in_force_is_missing() {
    let world = World::without_dataset(|_| ()).await;
    put_in_force_without_files(&world).await;
    let sent = upload(&world, 0).await;
    let (event, message) = organizer_fault(&world).await;
    assert!(message.contains("has no frozen data set"), "{message}");
    let waiting = world.command(["status", BENCHMARK]).json();
    assert_eq!(
        waiting[0]["submission"],
        json!(sent.id()),
        "it is shown as unfinished: {waiting}"
    );

    world.publish(frozen());
    world.cloud.invoke(BENCHMARK, &event).await.unwrap();
    assert_eq!(world.only_receipt(&sent).await.verdict.status, Ending::Scored);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_data_set_is_switched_between_submissions() {
    let world = World::with(|config| config.functions[0].concurrency = 1).await;
    let of_demo = digest(frozen());
    let other = other_dataset(&world);
    let staged = world.command(["dataset", "publish", "--stage", other.to_str().unwrap()]);
    assert_eq!(
        (staged.code, &staged.json()["in_force"]),
        (0, &json!(false)),
        "{staged:?}"
    );

    let mut sent = vec![upload(&world, 0).await];
    world.settle().await;
    world.replace(&other);
    sent.push(upload(&world, 0).await);
    world.settle().await;
    world.replace(frozen());
    sent.push(upload(&world, 0).await);

    let receipts = world.receipts(&sent).await;
    let n_seeds = |n: usize| {
        receipts[&sent[n].id()].verdict.metrics["per_seed"]
            .as_array()
            .unwrap()
            .len()
    };
    let datasets = [0, 1, 2].map(|n| receipts[&sent[n].id()].verdict.dataset.unwrap());
    assert_eq!(datasets, [of_demo, digest(&other), of_demo]);
    assert_eq!([n_seeds(0), n_seeds(1), n_seeds(2)], [10, 2, 10]);
    let snapshot = world.cloud.snapshot().await.unwrap();
    assert_eq!(
        snapshot.functions[BENCHMARK].init.n, 1,
        "one warm process served them all"
    );
}

pub(crate) fn digest(directory: &Path) -> Digest {
    Digest::compute(&fs::read(directory.join("manifest.json")).unwrap())
}

async fn corrupted(file: &str) {
    let world = World::new().await;
    let datasets = world.bucket("datasets");
    let key = format!("{}{file}", dataset_prefix(BENCHMARK, digest(frozen())));
    let Got::Object(object) = datasets.get(&key, None, 1 << 30).await.unwrap() else {
        panic!("`{key}` is there")
    };
    let mut bytes = object.bytes.to_vec();
    for byte in bytes.iter_mut().rev().step_by(4096) {
        *byte ^= 1; // one bit of a number in every row
    }
    datasets.put(&key, bytes.into()).await.unwrap();
    let sent = upload(&world, 0).await;
    let (event, message) = organizer_fault(&world).await;
    assert!(message.contains(file) && message.contains("damaged"), "{message}");

    datasets.put(&key, object.bytes).await.unwrap();
    world.cloud.invoke(BENCHMARK, &event).await.unwrap();
    assert_eq!(world.only_receipt(&sent).await.verdict.status, Ending::Scored);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_corrupted_eval_set() {
    corrupted("en/eval.safetensors").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_corrupted_list_of_clips() {
    corrupted("en/train_ids.txt").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_corrupted_manifest() {
    corrupted("manifest.json").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn corrupted_training_rows() {
    corrupted("en/train.safetensors").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn corrupted_digests_of_training_rows() {
    corrupted("en/train.row_digests.safetensors").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_that_does_not_exist() {
    let wrong = "dataperf-reslts";
    let mut world = World::with(|config| {
        config.functions[0]
            .environment
            .insert("DATAPERF_RESULTS_BUCKET".into(), wrong.into());
    })
    .await;
    let sent = upload(&world, 0).await;
    let (event, error) = world.only_failure().await;
    assert_eq!(error["errorType"], "OrganizerFault", "{error}");
    assert!(error["errorMessage"].as_str().unwrap().contains(wrong), "{error}");
    world
        .change(|config| {
            config.functions[0]
                .environment
                .insert("DATAPERF_RESULTS_BUCKET".into(), "results".into());
        })
        .await;
    world.cloud.invoke(BENCHMARK, &event).await.unwrap();
    assert_eq!(world.only_receipt(&sent).await.verdict.status, Ending::Scored);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_directory_is_not_published() {
    let world = World::without_dataset(|_| ()).await;
    let other = other_dataset(&world);
    fs::write(other.join("pt/train_ids.txt"), "x\n").unwrap();
    fs::remove_file(other.join("id/eval.safetensors")).unwrap();
    let ran = world.command(["dataset", "publish", other.to_str().unwrap()]);
    assert_eq!(ran.code, 1);
    for file in ["pt/train_ids.txt", "id/eval.safetensors"] {
        assert!(ran.stderr.contains(file), "{ran:?}");
    }
    let listed = world
        .clients
        .s3
        .list_objects_v2()
        .bucket("datasets")
        .send()
        .await
        .unwrap();
    assert_eq!(listed.key_count(), Some(0), "nothing was uploaded");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_leaderboard_or_round_suggests_the_nearest() {
    let world = World::with(|_| ()).await;
    for (args, message) in [
        (
            &["leaderboard", BENCHMARK, "en25"][..],
            "no leaderboard `en25`: did you mean `en-25`",
        ),
        (&["rescore", BENCHMARK, "en25"], "did you mean `en-25`"),
        (
            &["rescore", BENCHMARK, "en-25", "--round", "nope"],
            "no round `nope`",
        ),
        (
            &["leaderboard", BENCHMARK, "--round", "opne"],
            "did you mean `open`",
        ),
    ] {
        let ran = world.command(args);
        ran.assert_refused(message);
        assert_eq!(ran.stdout, "", "nothing is printed that looks like an answer");
    }
    // It exists and has no score yet.
    let ran = world.command(["leaderboard", BENCHMARK, "id-60"]);
    assert_eq!((ran.code, &ran.json()[0]["places"]), (0, &json!([])), "{ran:?}");
}
