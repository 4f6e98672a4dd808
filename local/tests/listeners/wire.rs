//! Requests byte by byte, and their signatures, as a client makes them that keeps to nothing.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use aws_sigv4::sign::v4::{calculate_signature, generate_signing_key};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use time::OffsetDateTime;
use time::macros::format_description;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A page that has nothing to do with this project.
pub(crate) const FOREIGN_ORIGIN: &str = "https://elsewhere.example";
/// The key and the secret that everybody knows.
pub(crate) const PUBLIC: &str = "local";

/// A policy that lets any object into the bucket `submissions` until 2199:
/// `{"expiration":"2199-01-01T00:00:00Z","conditions":[{"bucket":"submissions"},["starts-with","$key",""]]}`.
const VERSION_2_POLICY: &str = "eyJleHBpcmF0aW9uIjoiMjE5OS0wMS0wMVQwMDowMDowMFoiLCJjb25kaXRpb25zIjpbeyJidWNrZXQiOiJzdWJtaXNzaW9ucyJ9LFsic3RhcnRzLXdpdGgiLCIka2V5IiwiIl1dfQ==";
/// Its signature with the public key: the base 64 of HMAC-SHA-1.
const VERSION_2_SIGNATURE: &str = "AmDoTrYQm3tZALaZfm6L1UuFclY=";

/// The answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
    }

    /// Whether a page of another origin may read it.
    pub(crate) fn is_readable_elsewhere(&self) -> bool {
        self.header("access-control-allow-origin").is_some()
    }
}

/// A request that is sent unchanged.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn new(method: &'static str, target: &str) -> Self {
        Self {
            method,
            target: target.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Signed with the public key for `service`, with `host` as its host.
    pub(crate) fn signed(self, service: &str, host: &str) -> Self {
        let now = Now::new();
        let payload = hex(&Sha256::digest(&self.body));
        let (path, query) = self.target.split_once('?').unwrap_or((&self.target, ""));
        let own = self.headers.iter().filter(|(name, _)| name.starts_with("x-amz-"));
        let own = own.map(|(name, value)| (name.as_str(), value.as_str()));
        let needed = [
            ("host", host),
            ("x-amz-content-sha256", &payload),
            ("x-amz-date", &now.moment),
        ];
        let headers: BTreeMap<&str, &str> = own.chain(needed).collect();
        let names: Vec<&str> = headers.keys().copied().collect();
        let names = names.join(";");
        let lines: Vec<String> = headers
            .iter()
            .map(|(name, value)| format!("{name}:{value}"))
            .collect();
        let lines = lines.join("\n");
        let canonical = format!("{}\n{path}\n{query}\n{lines}\n\n{names}\n{payload}", self.method);
        let (scope, signature) = now.sign(service, &canonical);
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={PUBLIC}/{scope}, SignedHeaders={names}, Signature={signature}"
        );
        let moment = now.moment.clone();
        self.with("x-amz-content-sha256", &payload)
            .with("x-amz-date", &moment)
            .with("authorization", &authorization)
    }

    /// The head before its body, with `host` as its host.
    fn head(&self, host: &str) -> String {
        let mut head = format!("{} {} HTTP/1.1\r\nhost: {host}\r\n", self.method, self.target);
        for (name, value) in &self.headers {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        write!(
            head,
            "content-length: {}\r\nconnection: close\r\n\r\n",
            self.body.len()
        )
        .unwrap();
        head
    }

    /// Sends it to `endpoint` except the second half of its body.
    pub(crate) async fn send_half(&self, endpoint: &str) -> TcpStream {
        let mut stream = TcpStream::connect(authority(endpoint)).await.unwrap();
        let head = self.head(authority(endpoint));
        stream.write_all(head.as_bytes()).await.unwrap();
        let half = &self.body[..self.body.len() / 2];
        stream.write_all(half).await.unwrap();
        stream
    }

    /// Sends it to `endpoint`, `http://HOST:PORT`, with `host` as its host.
    pub(crate) async fn send_as(&self, endpoint: &str, host: &str) -> Answer {
        let mut stream = TcpStream::connect(authority(endpoint)).await.unwrap();
        stream.write_all(self.head(host).as_bytes()).await.unwrap();
        // a request that is refused by its head may be answered before its body is read
        let _ = stream.write_all(&self.body).await;
        let mut bytes = Vec::new();
        // and then the connection may be reset behind the answer
        let ended = stream.read_to_end(&mut bytes).await;
        assert!(ended.is_ok() || !bytes.is_empty(), "{ended:?}");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer {
            status,
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    /// Sends it to `endpoint` under its own name.
    pub(crate) async fn send(&self, endpoint: &str) -> Answer {
        self.send_as(endpoint, authority(endpoint)).await
    }
}

/// `HOST:PORT` of a URL without a path.
pub(crate) fn authority(endpoint: &str) -> &str {
    endpoint.strip_prefix("http://").unwrap()
}

/// The name of a machine elsewhere that was made to point here, with the port of `endpoint`.
pub(crate) fn rebound(endpoint: &str) -> String {
    let port = endpoint.rsplit_once(':').unwrap().1;
    format!("rebound.example:{port}")
}

/// A moment, as signatures write it.
struct Now {
    at: OffsetDateTime,
    day: String,
    moment: String,
}

impl Now {
    fn new() -> Self {
        let at = OffsetDateTime::now_utc();
        let day = at.format(format_description!("[year][month][day]")).unwrap();
        let moment = at
            .format(format_description!("[year][month][day]T[hour][minute][second]Z"))
            .unwrap();
        Self { at, day, moment }
    }

    /// The scope, and the signature of a canonical request.
    fn sign(&self, service: &str, canonical: &str) -> (String, String) {
        let scope = format!("{}/us-east-1/{service}/aws4_request", self.day);
        let text = format!(
            "AWS4-HMAC-SHA256\n{}\n{scope}\n{}",
            self.moment,
            hex(&Sha256::digest(canonical))
        );
        let key = generate_signing_key(PUBLIC, self.at.into(), "us-east-1", service);
        (scope, calculate_signature(key, text.as_bytes()))
    }
}

/// The target of a request for an object that anybody can make who has the address, signed for `host`.
pub(crate) fn presigned(method: &str, path: &str, host: &str) -> String {
    let now = Now::new();
    let scope = format!("{}/us-east-1/s3/aws4_request", now.day);
    let query = format!(
        "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={PUBLIC}%2F{}&X-Amz-Date={}&X-Amz-Expires=60&X-Amz-SignedHeaders=host",
        scope.replace('/', "%2F"),
        now.moment
    );
    let canonical = format!("{method}\n{path}\n{query}\nhost:{host}\n\nhost\nUNSIGNED-PAYLOAD");
    let (_, signature) = now.sign("s3", &canonical);
    format!("{path}?{query}&X-Amz-Signature={signature}")
}

/// How a form is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FormSignature {
    /// By version 4, with a secret.
    Of(&'static str),
    /// By version 2, which needs no time: such a form can be in a page for years.
    Version2,
    /// There is a policy, and no signature.
    PolicyOnly,
    /// There is neither.
    Nothing,
}

/// A browser's form that stores `content` under `key` in the bucket `submissions`.
pub(crate) fn form(key: &str, content: &str, signature: FormSignature) -> Request {
    let now = Now::new();
    let credential = format!("{PUBLIC}/{}/us-east-1/s3/aws4_request", now.day);
    let mut conditions = vec![json!({"bucket": "submissions"}), json!({"key": key})];
    let mut fields = vec![("key", key.to_owned())];
    let is_version_4 = matches!(signature, FormSignature::Of(_));
    if is_version_4 {
        for (name, value) in [
            ("x-amz-credential", credential),
            ("x-amz-algorithm", "AWS4-HMAC-SHA256".into()),
            ("x-amz-date", now.moment.clone()),
        ] {
            conditions.push(json!({ (name): value }));
            fields.push((name, value));
        }
    }
    let policy = json!({"expiration": "2199-01-01T00:00:00Z", "conditions": conditions});
    let mut policy = STANDARD.encode(policy.to_string());
    match signature {
        FormSignature::Of(secret) => {
            let key = generate_signing_key(secret, now.at.into(), "us-east-1", "s3");
            fields.push(("x-amz-signature", calculate_signature(key, policy.as_bytes())));
        }
        FormSignature::Version2 => {
            VERSION_2_POLICY.clone_into(&mut policy);
            fields.push(("AWSAccessKeyId", PUBLIC.to_owned()));
            fields.push(("signature", VERSION_2_SIGNATURE.to_owned()));
        }
        FormSignature::PolicyOnly | FormSignature::Nothing => {}
    }
    if signature != FormSignature::Nothing {
        fields.push(("policy", policy));
    }
    let mut body = String::new();
    for (name, value) in fields {
        write!(
            body,
            "--edge\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
        )
        .unwrap();
    }
    write!(
        body,
        "--edge\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n{content}\r\n--edge--\r\n"
    )
    .unwrap();
    Request::new("POST", "/submissions")
        .with("content-type", "multipart/form-data; boundary=edge")
        .body(body)
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
