//! Uploads in parts.

use aws_sdk_s3::types::{ChecksumAlgorithm, ChecksumMode, CompletedMultipartUpload, CompletedPart};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

use crate::common::get;
use crate::{code, complete, head_object, pattern, start, upload_parts};

const MIB: usize = 1 << 20;

#[tokio::test(flavor = "multi_thread")]
async fn parts_become_one_object() {
    let (_dir, cloud, client) = start().await;
    let whole = pattern(12 * MIB);
    let bodies: Vec<Vec<u8>> = whole.chunks(5 * MIB).map(<[u8]>::to_vec).collect();
    let (upload_id, parts) = upload_parts(&client, "submissions", "large", &bodies).await;
    let head = head_object(&client, "submissions", "large");
    assert!(
        head.clone().send().await.is_err(),
        "nothing is visible before the end"
    );

    let done = complete(&client, "submissions", "large", &upload_id, parts.clone())
        .send()
        .await
        .unwrap();
    assert!(done.e_tag().unwrap().ends_with("-3\""));
    assert!(done.version_id().is_some());
    assert!(get(&client, "submissions", "large").await == whole);
    let head = head.send().await.unwrap();
    assert_eq!(head.content_type(), Some("text/csv"));
    assert_eq!(head.metadata().unwrap()["team"], "a b");
    let again = complete(&client, "submissions", "large", &upload_id, parts)
        .send()
        .await
        .unwrap_err();
    assert_eq!(code(&again), "NoSuchUpload");
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn checksums_of_parts_become_one_of_the_object() {
    let (_dir, cloud, client) = start().await;
    let create = client.create_multipart_upload().bucket("submissions").key("sums");
    let create = create.checksum_algorithm(ChecksumAlgorithm::Sha256);
    let id = create.send().await.unwrap().upload_id.unwrap();
    let mut parts = CompletedMultipartUpload::builder();
    for (number, body) in [(1, pattern(5 * MIB)), (2, vec![0])] {
        let part = client
            .upload_part()
            .bucket("submissions")
            .key("sums")
            .upload_id(&id);
        let part = part
            .checksum_algorithm(ChecksumAlgorithm::Sha256)
            .part_number(number);
        let sent = part.body(body.into()).send().await.unwrap();
        let part = CompletedPart::builder().part_number(number).set_e_tag(sent.e_tag);
        parts = parts.parts(part.set_checksum_sha256(sent.checksum_sha256).build());
    }
    let parts = parts.build();
    let sums: Vec<String> = parts
        .parts()
        .iter()
        .map(|part| part.checksum_sha256().unwrap().to_owned())
        .collect();
    let done = complete(&client, "submissions", "sums", &id, parts)
        .send()
        .await
        .unwrap();
    let bytes: Vec<u8> = sums
        .iter()
        .flat_map(|sum| BASE64_STANDARD.decode(sum).unwrap())
        .collect();
    let expected = format!("{}-2", BASE64_STANDARD.encode(Sha256::digest(bytes)));
    assert_eq!(done.checksum_sha256(), Some(expected.as_str()));
    let head = head_object(&client, "submissions", "sums");
    let head = head.checksum_mode(ChecksumMode::Enabled).send().await.unwrap();
    assert_eq!(head.checksum_sha256(), Some(expected.as_str()));
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_that_cannot_end_explain_and_can_abort() {
    let (_dir, cloud, client) = start().await;
    let (upload_id, parts) = upload_parts(&client, "results", "small", &[vec![1], vec![2]]).await;
    let too_small = complete(&client, "results", "small", &upload_id, parts.clone())
        .send()
        .await
        .unwrap_err();
    assert_eq!(code(&too_small), "EntityTooSmall");
    let mut reversed = parts.parts().to_vec();
    reversed.reverse();
    let reversed = CompletedMultipartUpload::builder()
        .set_parts(Some(reversed))
        .build();
    let reversed = complete(&client, "results", "small", &upload_id, reversed)
        .send()
        .await
        .unwrap_err();
    assert_eq!(code(&reversed), "InvalidPartOrder");
    let unknown = CompletedPart::builder().part_number(3).e_tag("00").build();
    let unknown = CompletedMultipartUpload::builder().parts(unknown).build();
    let unknown = complete(&client, "results", "small", &upload_id, unknown)
        .send()
        .await
        .unwrap_err();
    assert_eq!(code(&unknown), "InvalidPart");

    let abort = client
        .abort_multipart_upload()
        .bucket("results")
        .key("small")
        .upload_id(&upload_id);
    abort.send().await.unwrap();
    let aborted = complete(&client, "results", "small", &upload_id, parts)
        .send()
        .await;
    assert_eq!(code(&aborted.unwrap_err()), "NoSuchUpload");
    cloud.shutdown().await;
}
