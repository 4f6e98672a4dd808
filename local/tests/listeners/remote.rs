//! Addresses that other machines can reach, and what other users of this machine can read.

use std::os::unix::fs::PermissionsExt as _;

use dataperf_local::{AccessKey, LocalCloud, StartError};

use crate::common::{OUTSIDE, config};
use crate::wire::{Request, rebound};

#[tokio::test(flavor = "multi_thread")]
async fn the_known_key_is_for_this_machine_alone() {
    let dir = tempfile::tempdir().unwrap();
    let mut open = config(dir.path());
    open.host = "0.0.0.0".parse().unwrap();
    let refused = LocalCloud::start(open.clone()).await;
    let refused = refused.map(|_| ()).unwrap_err();
    assert!(matches!(refused, StartError::KnownKey { .. }), "{refused}");
    open.organizer = AccessKey {
        id: "local".into(),
        secret: "of its own".into(),
    };
    open.allowed_hosts = vec!["box.example".into()];
    let cloud = LocalCloud::start(open).await.unwrap();
    let endpoint = cloud.s3_endpoint();
    let port = endpoint.rsplit_once(':').unwrap().1;
    let put = |host: &str| Request::new("PUT", "/submissions/a").signed("s3", host);
    for host in ["127.0.0.1", "10.1.2.3", "box.example"] {
        let host = format!("{host}:{port}");
        let answer = put(&host).send_as(endpoint, &host).await;
        assert_eq!(answer.status, 403);
        assert!(
            answer.body.contains("SignatureDoesNotMatch"),
            "let in, and refused for its key: {answer:?}"
        );
    }
    let rebound = rebound(endpoint);
    let answer = put(&rebound).send_as(endpoint, &rebound).await;
    assert!(answer.body.contains("AccessDenied"), "{answer:?}");
    // an address is a host where all of them are listened on, and this one is on the loopback address alone
    let images = cloud.outside(OUTSIDE).unwrap();
    let elsewhere = format!("10.1.2.3:{}", images.rsplit_once(':').unwrap().1);
    let answer = Request::new("POST", "/").send_as(images, &elsewhere).await;
    assert_eq!(answer.status, 403, "{answer:?}");
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_users_cannot_read_the_data_directory() {
    let dir = tempfile::tempdir().unwrap();
    let cloud = LocalCloud::start(config(dir.path())).await.unwrap();
    let mode = std::fs::metadata(cloud.data_dir()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    cloud.shutdown().await;
}
