//! Of many writers with a condition, one wins.

use crate::common::get;
use crate::{code, complete, head_of, put_object, start, upload_parts};

#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_writers_wins_a_conditional_put() {
    let (_dir, cloud, client) = start().await;
    for bucket in ["submissions", "results"] {
        let writers = (0..32).map(|writer| {
            let client = client.clone();
            tokio::spawn(async move {
                let body = format!("writer {writer}").into_bytes().into();
                let put = put_object(&client, bucket, "receipt")
                    .if_none_match("*")
                    .body(body)
                    .send()
                    .await;
                put.map(|_| writer).map_err(|error| code(&error))
            })
        });
        let mut winners = Vec::new();
        for writer in writers.collect::<Vec<_>>() {
            match writer.await.unwrap() {
                Ok(writer) => winners.push(writer),
                Err(code) => assert_eq!(code, "PreconditionFailed"),
            }
        }
        assert_eq!(winners.len(), 1, "in {bucket}");
        assert_eq!(
            get(&client, bucket, "receipt").await,
            format!("writer {}", winners[0]).into_bytes()
        );
    }
    let etag = head_of(&client, "results", "receipt").await.e_tag.unwrap();
    let put = |etag: &str| {
        put_object(&client, "results", "receipt")
            .if_match(etag)
            .body(b"new".to_vec().into())
    };
    put(&etag).send().await.unwrap();
    assert_eq!(code(&put(&etag).send().await.unwrap_err()), "PreconditionFailed");
    let absent = put_object(&client, "results", "absent")
        .if_match(&etag)
        .send()
        .await
        .unwrap_err();
    assert_eq!(code(&absent), "NoSuchKey");
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_multipart_uploads_wins() {
    let (_dir, cloud, client) = start().await;
    let mut uploads = Vec::new();
    for writer in 0..8 {
        uploads.push(
            upload_parts(
                &client,
                "results",
                "race",
                &[format!("writer {writer}").into_bytes()],
            )
            .await,
        );
    }
    let tasks: Vec<_> = uploads
        .into_iter()
        .map(|(upload_id, parts)| {
            let complete = complete(&client, "results", "race", &upload_id, parts);
            tokio::spawn(complete.if_none_match("*").send())
        })
        .collect();
    let mut n_winners = 0;
    for task in tasks {
        match task.await.unwrap() {
            Ok(_) => n_winners += 1,
            Err(error) => assert_eq!(code(&error), "PreconditionFailed"),
        }
    }
    assert_eq!(n_winners, 1);
    cloud.shutdown().await;
}
