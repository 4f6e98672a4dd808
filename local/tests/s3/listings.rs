//! Listings of objects and versions.

use aws_sdk_s3::types::EncodingType;

use crate::common::put;
use crate::{delete_key, list, list_versions, start};

#[tokio::test(flavor = "multi_thread")]
async fn listings_have_prefixes_groups_and_pages() {
    let (_dir, cloud, client) = start().await;
    for board in ["en-25", "en-60", "pt-25"] {
        for n in 0..7 {
            put(
                &client,
                "submissions",
                &format!("speech/{board}/team-{n}/a.json"),
                "{}",
            )
            .await;
        }
    }
    put(&client, "submissions", "speech/readme", "").await;
    put(&client, "submissions", "speech0", "").await;
    let groups = list(&client, "submissions")
        .prefix("speech/")
        .delimiter("/")
        .send()
        .await
        .unwrap();
    let names: Vec<&str> = groups
        .common_prefixes()
        .iter()
        .map(|group| group.prefix().unwrap())
        .collect();
    assert_eq!(names, ["speech/en-25/", "speech/en-60/", "speech/pt-25/"]);
    assert_eq!(groups.contents().len(), 1);
    assert_eq!(groups.key_count(), Some(4));

    for (delimiter, n_expected) in [("", 23), ("/", 2), ("-", 7)] {
        let mut keys = Vec::new();
        let list = list(&client, "submissions").max_keys(2).delimiter(delimiter);
        let mut pages = list.into_paginator().send();
        while let Some(page) = pages.next().await {
            let page = page.unwrap();
            assert!(page.key_count() <= Some(2));
            keys.extend(
                page.contents()
                    .iter()
                    .map(|object| object.key().unwrap().to_owned()),
            );
            keys.extend(
                page.common_prefixes()
                    .iter()
                    .map(|group| group.prefix().unwrap().to_owned()),
            );
        }
        let mut unique = keys.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), keys.len(), "no entry twice");
        assert_eq!(
            keys.len(),
            if delimiter == "-" { 4 } else { n_expected },
            "by `{delimiter}`: {keys:?}"
        );
    }
    let after = list(&client, "submissions")
        .start_after("speech/readme")
        .send()
        .await
        .unwrap();
    assert_eq!(after.contents().len(), 1);
    cloud.shutdown().await;
}

/// XML can't carry control characters; who asks for it gets keys encoded as in an HTML form, in every place that has one.
#[tokio::test(flavor = "multi_thread")]
async fn keys_are_url_encoded_on_request() {
    let (_dir, cloud, client) = start().await;
    let keys = [
        "speech/a b+c/1.json",
        "speech/a\u{1}b/1.json",
        "speech/ü%/1~*.json",
        "speech/\u{fffe}\u{ffff}/1.json",
    ];
    let shown = [
        "speech/a%01b/1.json",
        "speech/a+b%2Bc/1.json",
        "speech/%C3%BC%25/1%7E*.json",
        "speech/%EF%BF%BE%EF%BF%BF/1.json",
    ];
    for key in keys {
        put(&client, "submissions", key, "{}").await;
    }
    let v2 = list(&client, "submissions").encoding_type(EncodingType::Url);
    let page = v2
        .clone()
        .prefix("speech/a")
        .start_after("speech/a\u{1}")
        .send()
        .await
        .unwrap();
    assert_eq!(page.encoding_type(), Some(&EncodingType::Url));
    assert_eq!(page.start_after(), Some("speech/a%01"));
    let listed: Vec<&str> = page.contents().iter().filter_map(|object| object.key()).collect();
    assert_eq!(listed, shown[..2]);
    let groups = v2.prefix("speech/").delimiter("/").send().await.unwrap();
    let groups: Vec<&str> = groups
        .common_prefixes()
        .iter()
        .filter_map(|group| group.prefix())
        .collect();
    assert_eq!(
        groups,
        [
            "speech/a%01b/",
            "speech/a+b%2Bc/",
            "speech/%C3%BC%25/",
            "speech/%EF%BF%BE%EF%BF%BF/"
        ]
    );

    let versions = list_versions(&client, "submissions")
        .encoding_type(EncodingType::Url)
        .max_keys(1);
    let (mut listed, mut marker) = (Vec::new(), None);
    loop {
        let page = versions
            .clone()
            .set_key_marker(marker.clone())
            .send()
            .await
            .unwrap();
        assert_eq!(page.encoding_type(), Some(&EncodingType::Url));
        listed.extend(
            page.versions()
                .iter()
                .filter_map(|version| version.key().map(str::to_owned)),
        );
        if page.is_truncated() != Some(true) {
            break;
        }
        assert_eq!(page.next_key_marker(), listed.last().map(String::as_str));
        let plain = shown
            .iter()
            .position(|key| Some(*key) == page.next_key_marker())
            .unwrap();
        marker = Some([keys[1], keys[0], keys[2]][plain].to_owned());
    }
    assert_eq!(listed, shown);
    // and without it the page is one that no parser of XML takes
    let plain = list_versions(&client, "submissions").send().await;
    assert!(plain.is_err());
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_are_listed_in_pages() {
    let (_dir, cloud, client) = start().await;
    put(&client, "submissions", "speech", "").await;
    for _ in 0..4 {
        put(&client, "submissions", "speech0", "again").await;
    }
    delete_key(&client, "submissions", "speech0").await;
    let (mut n_versions, mut n_markers, mut key_marker, mut version_marker) = (0, 0, None, None);
    loop {
        let page = list_versions(&client, "submissions")
            .prefix("speech0")
            .max_keys(2);
        let page = page
            .set_key_marker(key_marker)
            .set_version_id_marker(version_marker)
            .send()
            .await
            .unwrap();
        n_versions += page.versions().len();
        n_markers += page.delete_markers().len();
        if page.is_truncated() != Some(true) {
            break;
        }
        (key_marker, version_marker) = (page.next_key_marker, page.next_version_id_marker);
    }
    assert_eq!((n_versions, n_markers), (4, 1));
    cloud.shutdown().await;
}
