//! The state before and after a start.

use dataperf_local::{Config, LocalCloud, StartError};

use crate::common::{config, get, get_version, put, s3};
use crate::{complete, n_bodies, upload_parts};

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_keeps_objects_and_removes_partial_writes() {
    let dir = tempfile::tempdir().unwrap();
    let cloud = LocalCloud::start(config(dir.path())).await.unwrap();
    let client = s3(&cloud);
    let first = put(&client, "submissions", "key", "one").await.unwrap();
    put(&client, "submissions", "key", "two").await;
    let (upload_id, parts) = upload_parts(&client, "results", "parts", &[b"part".to_vec()]).await;
    let second_cloud = LocalCloud::start(config(dir.path())).await;
    let Err(StartError::DataDirInUse { .. }) = second_cloud else {
        panic!("two clouds share a directory")
    };
    cloud.shutdown().await;
    let shard = dir.path().join("cloud/objects/ab");
    std::fs::create_dir_all(&shard).unwrap();
    std::fs::write(shard.join(format!("{}.partial", "ab".repeat(16))), "half").unwrap();

    let cloud = LocalCloud::start(config(dir.path())).await.unwrap();
    let client = s3(&cloud);
    assert_eq!(n_bodies(&dir), 3);
    assert_eq!(get(&client, "submissions", "key").await, b"two");
    assert_eq!(get_version(&client, "submissions", "key", &first).await, b"one");
    complete(&client, "results", "parts", &upload_id, parts)
        .send()
        .await
        .unwrap();
    assert_eq!(get(&client, "results", "parts").await, b"part");
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_replacements_leave_one_body() {
    let dir = tempfile::tempdir().unwrap();
    let cloud = LocalCloud::start(config(dir.path())).await.unwrap();
    let writers: Vec<_> = (0..8)
        .map(|n| {
            let client = s3(&cloud);
            tokio::spawn(async move {
                for round in 0..20 {
                    // small ones and such as are in files take each other's place
                    let text = n
                        .to_string()
                        .repeat(if (n + round) % 2 == 0 { 1 } else { 40_000 });
                    put(&client, "results", "key", &text).await;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    cloud.shutdown().await;
    assert_eq!(n_bodies(&dir), 1);
    let cloud = LocalCloud::start(config(dir.path())).await;
    cloud.expect("the index knows every file").shutdown().await;
}

#[tokio::test]
async fn a_port_in_use_names_its_option() {
    let dir = tempfile::tempdir().unwrap();
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port();
    let mut config = Config::new(dir.path());
    config.s3_port = port;
    let Err(error) = LocalCloud::start(config.clone()).await else {
        panic!("the port is taken")
    };
    let expected = format!(
        "another process uses port `{port}` for S3: stop it, or choose another port with `--s3-port` (0 takes any free one)"
    );
    assert_eq!(error.to_string(), expected);
    config.s3_port = 0;
    LocalCloud::start(config)
        .await
        .expect("the failed start holds nothing")
        .shutdown()
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_served_on_its_own_port() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = config(dir.path());
    config.http_port = Some(0);
    let cloud = LocalCloud::start(config).await.unwrap();
    let url = cloud.http_endpoint().unwrap().to_owned();
    let page = || axum::Router::new().route("/", axum::routing::get(async || "the page"));
    assert!(cloud.serve_page(page()));
    assert!(!cloud.serve_page(page()), "the port is taken");
    assert_eq!(
        reqwest::get(&url).await.unwrap().text().await.unwrap(),
        "the page"
    );
    cloud.shutdown().await;
    assert!(reqwest::get(&url).await.is_err(), "a stop closes the port");
}
