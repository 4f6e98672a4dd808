//! Against a server of HTTP in this process. That signatures are right is tested where they are checked: by the cloud on one machine.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::{Clients, port_error};

/// A status with its reason, an error code in the header or "", and a body.
type Answer = (&'static str, &'static str, &'static str);

/// Answers one request after another; returns the requests.
async fn server(answers: Vec<Answer>) -> (String, tokio::task::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        let mut wanted = Vec::new();
        for (status, code, body) in answers {
            let (mut connection, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"END") {
                assert_ne!(connection.read_buf(&mut request).await.unwrap(), 0);
            }
            wanted.push(String::from_utf8(request).unwrap());
            let answer = format!(
                "HTTP/1.1 {status}\r\nx-amzn-errortype: {code}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            let answer = answer.replace("x-amzn-errortype: \r\n", "");
            connection.write_all(answer.as_bytes()).await.unwrap();
        }
        wanted
    });
    (address, serving)
}

const DONE: Answer = ("202 Accepted", "", "done");

async fn service(endpoint: &str) -> Service {
    let clients = Clients::at("http://unused", "http://unused", "AK", "SK").await;
    clients.lambda(Some(endpoint))
}

fn request() -> Post {
    Post {
        operation: "Invoke",
        path: "/2015-03-31/functions/a%3Ab/invocations".into(),
        headers: vec![("x-amz-invocation-type", "Event")],
        body: "{\"an\": \"event\"}END".into(),
    }
}

#[tokio::test]
async fn a_request_is_signed_for_its_service() {
    let (endpoint, serving) = server(vec![DONE]).await;
    let answer = service(&endpoint).await.post(request()).await.unwrap();
    assert_eq!(answer, "done");
    let wanted = serving.await.unwrap().remove(0);
    assert!(
        wanted.starts_with("POST /2015-03-31/functions/a%3Ab/invocations HTTP/1.1\r\n"),
        "{wanted}"
    );
    for part in [
        "x-amz-invocation-type: Event\r\n",
        "/us-east-1/lambda/aws4_request, SignedHeaders=host;x-amz-date;x-amz-invocation-type, Signature=",
        "\r\n\r\n{\"an\": \"event\"}END",
    ] {
        assert!(wanted.contains(part), "{part} in {wanted}");
    }
}

#[tokio::test]
async fn transient_errors_are_retried_and_permanent_ones_return() {
    let broken = ("503 Service Unavailable", "", "");
    let throttled = ("400 Bad Request", "ThrottlingException:", "{}");
    let (endpoint, serving) = server(vec![broken, throttled, DONE]).await;
    assert_eq!(service(&endpoint).await.post(request()).await.unwrap(), "done");
    assert_eq!(serving.await.unwrap().len(), 3);

    let body = r#"{"__type": "com.amazon#AccessDeniedException", "Message": "no"}"#;
    let refused = ("403 Forbidden", "", body);
    let (endpoint, serving) = server(vec![refused]).await;
    let error = service(&endpoint).await.post(request()).await.unwrap_err();
    assert_eq!(serving.await.unwrap().len(), 1);
    let service_error = error.as_service_error().unwrap();
    assert_eq!(
        (service_error.code(), service_error.message()),
        (Some("AccessDeniedException"), Some("no"))
    );
    assert!(!port_error("invoking".into(), error).is_transient());

    let (endpoint, serving) = server(vec![broken; 3]).await;
    let error = service(&endpoint).await.post(request()).await.unwrap_err();
    assert_eq!(
        serving.await.unwrap().len(),
        3,
        "three attempts, as every client here"
    );
    assert!(port_error("invoking".into(), error).is_transient());
}

#[tokio::test]
async fn a_service_defaults_to_its_aws_endpoint() {
    for (region, expected) in [
        ("eu-central-1", "https://lambda.eu-central-1.amazonaws.com"),
        ("cn-north-1", "https://lambda.cn-north-1.amazonaws.com.cn"),
        ("us-gov-west-1", "https://lambda.us-gov-west-1.amazonaws.com"),
    ] {
        let shared = SdkConfig::builder()
            .region(aws_config::Region::new(region))
            .build();
        let endpoint = usual_endpoint(ServiceName::Lambda, &shared).await.unwrap();
        assert_eq!(endpoint, expected);
    }
    let shared = SdkConfig::builder()
        .region(aws_config::Region::new("us-east-2"))
        .use_fips(true)
        .build();
    let endpoint = usual_endpoint(ServiceName::SecretsManager, &shared)
        .await
        .unwrap();
    assert_eq!(endpoint, "https://secretsmanager-fips.us-east-2.amazonaws.com");
    assert!(
        usual_endpoint(ServiceName::Lambda, &SdkConfig::builder().build())
            .await
            .is_err()
    );
}

#[test]
fn an_error_code_is_read_from_any_location() {
    let code = |header, body: &str| error(header, body.as_bytes()).code().map(str::to_owned);
    let expected = Some("FooError".to_owned());
    assert_eq!(code(Some("FooError"), "{}"), expected);
    assert_eq!(
        code(Some("FooError:http://internal.amazon.com/coral/x/"), "not JSON"),
        expected
    );
    assert_eq!(
        code(None, r#"{"__type": "aws.protocoltests#FooError"}"#),
        expected
    );
    assert_eq!(
        code(None, r#"{"code": "aws.protocoltests#FooError:http://x/"}"#),
        expected
    );
    assert_eq!(code(None, "<html>"), None);
}
