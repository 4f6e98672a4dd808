//! Versions and delete markers.

use crate::common::{get, get_version, put};
use crate::{code, delete_key, delete_object, get_object, head_object, list, list_versions, start};

#[tokio::test(flavor = "multi_thread")]
async fn every_version_stays_readable() {
    let (_dir, cloud, client) = start().await;
    let first = put(&client, "submissions", "key", "one").await.unwrap();
    let second = put(&client, "submissions", "key", "two").await.unwrap();
    assert_ne!(first, second);
    assert_eq!(get(&client, "submissions", "key").await, b"two");
    assert_eq!(get_version(&client, "submissions", "key", &first).await, b"one");
    let head = head_object(&client, "submissions", "key").version_id(&first);
    let head = head.send().await.unwrap();
    assert_eq!(
        (head.content_length, head.version_id.as_deref()),
        (Some(3), Some(first.as_str()))
    );
    let unversioned = put(&client, "results", "key", "one").await;
    assert_eq!(unversioned, None);
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delete_marker_hides_an_object_until_deleted() {
    let (_dir, cloud, client) = start().await;
    let first = put(&client, "submissions", "key", "one").await.unwrap();
    let second = put(&client, "submissions", "key", "two").await.unwrap();
    let deleted = delete_key(&client, "submissions", "key").await;
    assert_eq!(deleted.delete_marker, Some(true));
    let marker = deleted.version_id.unwrap();

    let read = get_object(&client, "submissions", "key");
    let missing = read.clone().send().await.unwrap_err();
    assert_eq!(code(&missing), "NoSuchKey");
    let headers = missing.raw_response().unwrap().headers();
    assert_eq!(headers.get("x-amz-delete-marker"), Some("true"));
    let on_marker = read.version_id(&marker).send().await.unwrap_err();
    assert_eq!(on_marker.raw_response().unwrap().status().as_u16(), 405);
    let listed = list(&client, "submissions").send().await.unwrap();
    assert_eq!(listed.key_count, Some(0));
    let versions = list_versions(&client, "submissions").send().await.unwrap();
    let ids: Vec<_> = versions
        .versions()
        .iter()
        .map(|version| version.version_id().unwrap())
        .collect();
    assert_eq!(ids, [second.as_str(), first.as_str()], "newest first");
    assert_eq!(versions.delete_markers()[0].version_id(), Some(marker.as_str()));
    assert_eq!(versions.delete_markers()[0].is_latest(), Some(true));

    let delete = delete_object(&client, "submissions", "key");
    delete.clone().version_id(&marker).send().await.unwrap();
    assert_eq!(
        get(&client, "submissions", "key").await,
        b"two",
        "the object is back"
    );
    delete.version_id(&second).send().await.unwrap();
    assert_eq!(get(&client, "submissions", "key").await, b"one");
    let gone = get_object(&client, "submissions", "key").version_id(&second);
    assert_eq!(code(&gone.send().await.unwrap_err()), "NoSuchVersion");
    cloud.shutdown().await;
}
