//! A start removes leftovers and ends processes of its own directory, and nothing else.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Child, Command};

use dataperf_local::{LocalCloud, StartError};

use crate::common::config;
use crate::refusal;

const PROCESS: &str = "0123456789abcdef0123456789abcdef";

fn sleeper(dir: &Path, id: Option<&str>) -> Child {
    let mut command = Command::new("sleep");
    command.arg("1000").current_dir(dir);
    if let Some(id) = id {
        command.env("DATAPERF_LOCAL_ID", id);
    }
    command.spawn().unwrap()
}

async fn id_of_a_new_cloud(dir: &Path) -> String {
    LocalCloud::start(config(dir)).await.unwrap().shutdown().await;
    let marker = std::fs::read(dir.join("cloud/dataperf-local.json")).unwrap();
    let marker: serde_json::Value = serde_json::from_slice(&marker).unwrap();
    marker["id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_processes_of_this_directory_are_ended() {
    let dir = tempfile::tempdir().unwrap();
    let id = id_of_a_new_cloud(dir.path()).await;
    let working_dir = dir.path().join("cloud/functions/echo").join(PROCESS);
    std::fs::create_dir_all(&working_dir).unwrap();
    let mut ours = sleeper(&working_dir, Some(&id));
    let mut others = [
        sleeper(&working_dir, None),
        sleeper(&working_dir, Some(PROCESS)),
        sleeper(dir.path(), Some(&id)),
    ];

    let cloud = LocalCloud::start(config(dir.path())).await.unwrap();
    // returns only because it was killed: it would sleep for longer than a test may run
    assert!(!ours.wait().unwrap().success());
    for (n, other) in others.iter_mut().enumerate() {
        assert!(other.try_wait().unwrap().is_none(), "{n}");
        other.kill().unwrap();
        other.wait().unwrap();
    }
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_working_directories_of_processes_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    id_of_a_new_cloud(dir.path()).await;
    let elsewhere = dir.path().join("elsewhere");
    let functions = dir.path().join("cloud/functions");
    for process in [
        &functions.join("echo").join(PROCESS),
        &functions.join("kept").join(PROCESS),
    ] {
        std::fs::create_dir_all(process.join("deep")).unwrap();
        std::fs::write(process.join("deep/scratch"), "of a process").unwrap();
    }
    let kept = [
        functions.join("notes"),
        functions.join("kept/src/main.rs"),
        elsewhere.join(PROCESS).join("file"),
    ];
    for file in &kept {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "somebody's").unwrap();
    }
    std::os::unix::fs::symlink(&elsewhere, functions.join("link")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, functions.join("kept").join(PROCESS.replace('0', "f"))).unwrap();

    LocalCloud::start(config(dir.path()))
        .await
        .unwrap()
        .shutdown()
        .await;
    for file in &kept {
        assert_eq!(std::fs::read(file).unwrap(), b"somebody's", "{}", file.display());
    }
    assert!(!functions.join("echo").exists());
    assert!(!functions.join("kept").join(PROCESS).exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_replacing_the_working_directories_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    id_of_a_new_cloud(dir.path()).await;
    let elsewhere = dir.path().join("elsewhere/echo").join(PROCESS);
    std::fs::create_dir_all(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("file"), "somebody's").unwrap();
    let functions = dir.path().join("cloud/functions");
    let _ = std::fs::remove_dir_all(&functions);
    std::os::unix::fs::symlink(dir.path().join("elsewhere"), &functions).unwrap();

    let error = refusal(dir.path()).await;
    assert!(matches!(error, StartError::Link { .. }), "{error}");
    assert!(
        error.to_string().contains("cloud/functions` is a symbolic link"),
        "{error}"
    );
}
