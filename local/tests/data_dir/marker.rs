//! Only a directory that is a local cloud's own, or empty, is taken.

use dataperf_local::{Config, LocalCloud, StartError};

use crate::common::{attempts, config, config_with_echo, get, put, s3};
use crate::{copy, refusal, tree};

const MARKER: &str = "cloud/dataperf-local.json";

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_directory_is_refused_and_kept_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    let cloud = dir.path().join("cloud");
    let source = cloud.join("functions/speech-selection/src");
    std::fs::create_dir_all(&source).unwrap();
    std::fs::write(source.join("main.rs"), "fn main() {}").unwrap();
    std::fs::write(cloud.join("README.md"), "of another project").unwrap();
    let mut bystander = std::process::Command::new("sleep")
        .arg("1000")
        .current_dir(&source)
        .spawn()
        .unwrap();

    let error = refusal(dir.path()).await;
    assert!(matches!(error, StartError::Foreign { .. }));
    let message = error.to_string();
    for part in [
        &*cloud.canonicalize().unwrap().display().to_string(),
        "`README.md`, `functions`",
        "--data-dir",
    ] {
        assert!(message.contains(part), "{message}");
    }
    assert!(
        bystander.try_wait().unwrap().is_none(),
        "a process that works there lives"
    );
    bystander.kill().unwrap();
    bystander.wait().unwrap();

    // not even what has the names of a local cloud's files is one
    std::fs::remove_file(cloud.join("README.md")).unwrap();
    std::fs::create_dir(cloud.join("objects")).unwrap();
    std::fs::write(cloud.join("lock"), "").unwrap();
    assert!(matches!(refusal(dir.path()).await, StartError::Foreign { .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_interrupted_before_its_marker_can_restart() {
    let dir = tempfile::tempdir().unwrap();
    let left = [("lock", ""), ("dataperf-local.json.partial", "{\"version\"")];
    for n_left in 0..=left.len() {
        std::fs::create_dir(dir.path().join("cloud")).unwrap();
        for (name, content) in &left[..n_left] {
            std::fs::write(dir.path().join("cloud").join(name), content).unwrap();
        }
        let cloud = LocalCloud::start(config(dir.path())).await.unwrap();
        put(&s3(&cloud), "results", "key", "kept").await;
        cloud.shutdown().await;
        let marker: serde_json::Value =
            serde_json::from_slice(&std::fs::read(dir.path().join(MARKER)).unwrap()).unwrap();
        assert_eq!(marker["version"], 1);
        let cloud = LocalCloud::start(config(dir.path())).await.unwrap();
        assert_eq!(get(&s3(&cloud), "results", "key").await, b"kept");
        cloud.shutdown().await;
        std::fs::remove_dir_all(dir.path().join("cloud")).unwrap();
    }
    // a lock that something else has written into is none of ours
    std::fs::create_dir(dir.path().join("cloud")).unwrap();
    std::fs::write(dir.path().join("cloud/lock"), "1234").unwrap();
    assert!(matches!(refusal(dir.path()).await, StartError::Foreign { .. }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_many_concurrent_starts_gets_the_directory() {
    let dir = tempfile::tempdir().unwrap();
    let starts: Vec<_> = (0..8)
        .map(|_| tokio::spawn(LocalCloud::start(config(dir.path()))))
        .collect();
    let mut started = Vec::new();
    for start in starts {
        match start.await.unwrap() {
            Ok(cloud) => started.push(cloud),
            Err(error) => assert!(matches!(error, StartError::DataDirInUse { .. }), "{error}"),
        }
    }
    assert_eq!(started.len(), 1);
    started[0].shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copied_data_directory_becomes_a_separate_cloud() {
    let dir = tempfile::tempdir().unwrap();
    let copied = tempfile::tempdir().unwrap();
    let cloud = LocalCloud::start(config_with_echo(dir.path())).await.unwrap();
    put(&s3(&cloud), "results", "key", "kept").await;
    cloud.shutdown().await;
    copy(&dir.path().join("cloud"), &copied.path().join("cloud"));

    let cloud = LocalCloud::start(config_with_echo(dir.path())).await.unwrap();
    put(&s3(&cloud), "submissions", "echo/hang/first", "{}").await;
    while attempts(dir.path()).is_empty() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let other = LocalCloud::start(config(copied.path())).await.unwrap();
    put(&s3(&other), "results", "key", "changed").await;
    assert_eq!(get(&s3(&cloud), "results", "key").await, b"kept");
    let process = format!("/proc/{}", attempts(dir.path())[0]["pid"]);
    assert!(
        std::path::Path::new(&process).exists(),
        "the original's process lives"
    );
    other.shutdown().await;
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_marker_that_cannot_be_trusted_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    LocalCloud::start(config(dir.path()))
        .await
        .unwrap()
        .shutdown()
        .await;
    let path = dir.path().join(MARKER);
    let marker: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();

    let mut later = marker.clone();
    later["version"] = 2.into();
    let mut nameless = marker.clone();
    nameless["id"] = "".into();
    let cases = [
        (later.to_string(), "version 2"),
        (nameless.to_string(), "`id` is not an id"),
        (String::new(), "damaged"),
        (marker.to_string()[..20].to_owned(), "damaged"),
    ];
    for (content, expected) in cases {
        std::fs::write(&path, content).unwrap();
        let error = refusal(dir.path()).await;
        assert!(matches!(error, StartError::Marker { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }

    // a link to the marker of another directory marks nothing
    let foreign = tempfile::tempdir().unwrap();
    std::fs::write(&path, marker.to_string()).unwrap();
    std::fs::create_dir(foreign.path().join("cloud")).unwrap();
    std::os::unix::fs::symlink(&path, foreign.path().join(MARKER)).unwrap();
    assert!(matches!(
        refusal(foreign.path()).await,
        StartError::Foreign { .. }
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unusable_data_directory_is_named() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("cloud"), "a file").unwrap();
    let error = refusal(dir.path()).await;
    assert!(matches!(error, StartError::NoDirectory { .. }), "{error}");
    assert!(error.to_string().contains("--data-dir"), "{error}");

    // a place where even root makes nothing
    #[cfg(target_os = "linux")]
    {
        let Err(error) = LocalCloud::start(Config::new("/proc/dataperf")).await else {
            panic!("it started")
        };
        assert!(matches!(error, StartError::DataDir { .. }), "{error}");
        assert!(error.to_string().contains("`/proc/dataperf`"), "{error}");
    }
    let below_a_file = Config::new(dir.path().join("cloud/below"));
    assert!(LocalCloud::start(below_a_file).await.is_err());
    assert_eq!(tree(dir.path()).len(), 1);
}
