//! Data sets are written once: what is in the bucket is compared byte for byte, and never overwritten.

use aws_sdk_s3::types::ChecksumMode;
use dataperf::dataset::dataset_prefix;
use dataperf::ports::bucket::{Bucket, Got};
use serde_json::json;

use crate::faults::nothing_lost::large_dataset;
use crate::people::organizer_mistakes::{digest, other_dataset};
use crate::support::project::{BENCHMARK, frozen};
use crate::support::world::World;

async fn bytes(world: &World, key: &str) -> Vec<u8> {
    match world.bucket("datasets").get(key, None, 1 << 30).await.unwrap() {
        Got::Object(object) => object.bytes.to_vec(),
        got => panic!("`{key}`: {got:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn different_bytes_of_equal_size_are_detected() {
    let world = World::new().await;
    let other = other_dataset(&world);
    let prefix = dataset_prefix(BENCHMARK, digest(&other));
    world.ran(["dataset", "publish", "--stage", other.to_str().unwrap()]);
    let in_force = bytes(&world, &format!("{BENCHMARK}/current.json")).await;
    let mut damaged = Vec::new();
    for file in ["en/eval.safetensors", "pt/train_ids.txt", "manifest.json"] {
        let key = format!("{prefix}{file}");
        let mut changed = bytes(&world, &key).await;
        *changed.last_mut().unwrap() ^= 1;
        world.put_into("datasets", &key, changed.clone()).await;
        damaged.push((file, key, changed));
    }

    let ran = world.command(["dataset", "publish", "--replace", other.to_str().unwrap()]);
    assert_eq!(ran.code, 1, "{ran:?}");
    for (_, key, changed) in &damaged {
        assert!(ran.stderr.contains(&format!("s3://datasets/{key}")), "{ran:?}");
        assert_eq!(bytes(&world, key).await, *changed, "it was overwritten");
    }
    assert!(ran.stderr.contains("never overwritten"), "{ran:?}");
    assert_eq!(
        bytes(&world, &format!("{BENCHMARK}/current.json")).await,
        in_force
    );

    for (_, key, _) in &damaged {
        let delete = world.clients.s3.delete_object().bucket("datasets").key(key);
        delete.send().await.unwrap();
    }
    let ran = world.command(["dataset", "publish", "--replace", other.to_str().unwrap()]);
    assert_eq!(ran.json()["uploaded_files"], 2, "and the manifest: {ran:?}");
    assert_eq!(
        bytes(&world, &format!("{prefix}manifest.json")).await,
        std::fs::read(other.join("manifest.json")).unwrap()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_without_checksum_is_verified_by_reading() {
    let world = World::without_dataset(|_| ()).await;
    let file = "en/eval.safetensors";
    let key = format!("{}{file}", dataset_prefix(BENCHMARK, digest(frozen())));
    let own = std::fs::read(frozen().join(file)).unwrap();
    world.put_into("datasets", &key, own).await; // the SDK sends a CRC only
    let n_files = {
        let manifest = std::fs::read(frozen().join("manifest.json")).unwrap();
        let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
        manifest["files"].as_object().unwrap().len()
    };
    assert_eq!(world.publish(frozen())["uploaded_files"], json!(n_files - 1));
    assert_eq!(world.publish(frozen())["uploaded_files"], json!(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_files_upload_in_parts_with_checksums() {
    let world = World::without_dataset(|_| ()).await;
    let directory = large_dataset(&world);
    world.publish(&directory);
    let key = format!(
        "{}en/eval.safetensors",
        dataset_prefix(BENCHMARK, digest(&directory))
    );
    let head = async || {
        let head = world.clients.s3.head_object().bucket("datasets").key(&key);
        head.checksum_mode(ChecksumMode::Enabled).send().await.unwrap()
    };
    let stored = head().await;
    let checksum = stored.checksum_sha256().unwrap();
    assert!(
        stored.content_length().unwrap() > 16 << 20 && checksum.contains('-'),
        "{stored:?}"
    );
    assert_eq!(
        bytes(&world, &key).await,
        std::fs::read(directory.join("en/eval.safetensors")).unwrap()
    );
    assert_eq!(world.publish(&directory)["uploaded_files"], 0);

    let mut changed = bytes(&world, &key).await;
    changed[20_000_000] ^= 1;
    world.put_into("datasets", &key, changed).await;
    let ran = world.command(["dataset", "publish", directory.to_str().unwrap()]);
    ran.assert_refused(&key);
}
