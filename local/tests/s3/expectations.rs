//! Requests with `Expect: 100-continue`, as the AWS command line and boto3 send every upload.

use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::presigning::PresigningConfig;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::common::get;
use crate::start;

/// A connection on which requests are written by hand.
struct Connection {
    stream: TcpStream,
    host: String,
}

impl Connection {
    async fn to(endpoint: &str) -> Self {
        let host = endpoint.strip_prefix("http://").unwrap().to_owned();
        let stream = TcpStream::connect(&host).await.unwrap();
        Self { stream, host }
    }

    /// Sends the head of a signed upload and not yet its body.
    async fn begin(&mut self, client: &Client, bucket: &str, key: &str, n_bytes: usize) {
        let valid = PresigningConfig::expires_in(Duration::from_mins(1)).unwrap();
        let upload = client.put_object().bucket(bucket).key(key);
        let signed = upload.presigned(valid).await.unwrap();
        let target = signed.uri().split_once(&self.host).unwrap().1;
        let head = format!(
            "PUT {target} HTTP/1.1\r\nHost: {}\r\nExpect: 100-continue\r\nContent-Length: {n_bytes}\r\n\r\n",
            self.host
        );
        self.stream.write_all(head.as_bytes()).await.unwrap();
    }

    /// The head of the next answer in lower case. The body of an answer that is no error is empty.
    async fn answer(&mut self) -> String {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.stream.read_u8().await.unwrap());
        }
        String::from_utf8(head).unwrap().to_lowercase()
    }

    /// Whether the server closes the connection, whatever it sends before.
    async fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        let end = tokio::time::timeout(crate::common::PATIENCE, self.stream.read_to_end(&mut rest));
        end.await.is_ok()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answering_an_empty_upload_closes_the_connection() {
    let (_dir, cloud, client) = start().await;
    let mut connection = Connection::to(cloud.s3_endpoint()).await;
    connection.begin(&client, "results", "empty", 0).await;
    let answer = connection.answer().await;
    assert!(answer.starts_with("http/1.1 200"), "{answer}");
    assert!(answer.contains("connection: close\r\n"), "{answer}");
    assert!(connection.is_closed().await);
    assert_eq!(get(&client, "results", "empty").await, b"");
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_requested_body_keeps_the_connection_open() {
    let (_dir, cloud, client) = start().await;
    let mut connection = Connection::to(cloud.s3_endpoint()).await;
    for key in ["first", "second"] {
        connection.begin(&client, "results", key, 4).await;
        let answer = connection.answer().await;
        assert!(answer.starts_with("http/1.1 100"), "{answer}");
        connection.stream.write_all(b"body").await.unwrap();
        let answer = connection.answer().await;
        assert!(answer.starts_with("http/1.1 200"), "{answer}");
        assert!(!answer.contains("connection: close"), "{answer}");
        assert_eq!(get(&client, "results", key).await, b"body");
    }
    cloud.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_before_the_body_closes_the_connection() {
    let (_dir, cloud, client) = start().await;
    for n_bytes in [0, 4] {
        let mut connection = Connection::to(cloud.s3_endpoint()).await;
        connection.begin(&client, "nowhere", "key", n_bytes).await;
        let answer = connection.answer().await;
        assert!(answer.starts_with("http/1.1 404"), "{answer}");
        assert!(answer.contains("connection: close\r\n"), "{answer}");
        assert!(connection.is_closed().await);
    }
    cloud.shutdown().await;
}
