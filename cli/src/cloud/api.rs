//! The page of a cloud over HTTP: the read API, and the forms that upload files. A token is enough; nothing here needs an AWS account.

mod answers;

use std::fmt;
use std::io::Cursor;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Error, Result, anyhow};
use dataperf::{Digest, SubmissionId};
use indicatif::ProgressBar;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use ureq::http::{Response, Uri, header};
use ureq::{Agent, Body, SendBody};

pub(crate) use answers::{Benchmark, Board, Form, Line, Submission, Who};

use answers::History;

/// How long a connection, and how long an answer may take.
const PATIENCE: Duration = Duration::from_mins(1);
/// The largest answer that is read, in bytes: more than a function can send.
const MAX_ANSWER_BYTES: u64 = 16 << 20;
/// Lines of a page of a list: as many as the read API sends.
const PAGE: usize = 200;
/// How a token begins.
const PREFIX: &str = "dpk_";
/// The part before the token in a link that signs in.
const IN_LINK: &str = "#token=";

/// The secret that says who asks.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Token({PREFIX}…)")
    }
}

impl FromStr for Token {
    type Err = Error;

    /// Reads a token, or the link to a page with a token in it. The error does not show the text, which may be another secret.
    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        let text = text.split_once(IN_LINK).map_or(text, |(_, token)| token);
        let digits = text.strip_prefix(PREFIX).unwrap_or_default();
        let is_token = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_token.then(|| Self(text.to_owned())).ok_or_else(|| {
            anyhow!("this is not a token: a token is one word that begins with `{PREFIX}`, as the organizer sent it")
        })
    }
}

/// The answer by which a page refuses a request.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: u16,
    code: String,
    text: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl std::error::Error for Refusal {}

/// A problem document of the read API.
#[derive(Default, Deserialize)]
struct Problem {
    #[serde(default)]
    code: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    detail: String,
}

impl Refusal {
    fn read(url: &str, status: u16, body: &[u8]) -> Self {
        let Problem { code, title, detail } = serde_json::from_slice(body).unwrap_or_default();
        let again = format!("Store it with `dataperf login {url}`.");
        let text = match code.as_str() {
            "" => format!("`{url}` answered {status}, and not like a page of DataPerf: check the address"),
            "bad_token" => format!(
                "`{url}` does not know this token: check that you copied all of it, or ask the organizer for a new one. {again}"
            ),
            "expired_token" => {
                format!("the token has expired: ask the organizer for a new one. {again}")
            }
            "token_needed" => format!("{title}: ask the organizer for one. {again}"),
            _ if detail.is_empty() => title,
            _ => detail,
        };
        Self { status, code, text }
    }
}

/// Whether a later try may succeed: the network or the service did not answer.
pub(crate) fn is_transient(error: &Error) -> bool {
    let refusal = error.downcast_ref::<Refusal>();
    refusal.map_or_else(
        || error.chain().any(<dyn std::error::Error>::is::<ureq::Error>),
        |refusal| refusal.status >= 500 || refusal.status == 429,
    )
}

/// The host of an address.
fn host(url: &str) -> Option<String> {
    let uri: Uri = url.parse().ok()?;
    Some(uri.host()?.trim_matches(['[', ']']).to_owned())
}

/// Whether an address is on this machine.
fn is_here(url: &str) -> bool {
    host(url).is_some_and(|host| {
        let address = host.parse::<IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    })
}

/// Whether nobody else on the network can read what is sent to an address.
pub(crate) fn is_private(url: &str) -> bool {
    url.starts_with("https://") || is_here(url)
}

/// A client for an address. It uses the proxy that the environment names, but not for this machine.
pub(crate) fn agent(url: &str, patience: Duration) -> Agent {
    let mut config = Agent::config_builder()
        .http_status_as_error(false)
        .user_agent(concat!("dataperf/", env!("CARGO_PKG_VERSION")))
        .timeout_connect(Some(patience))
        .timeout_recv_response(Some(patience));
    if is_here(url) {
        config = config.proxy(None);
    }
    config.build().into()
}

/// A name as a part of an address.
fn escaped(name: &str) -> String {
    let byte = |byte: u8| match byte {
        b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    name.bytes().map(byte).collect()
}

/// The address of a page, in one spelling: without what follows the path.
///
/// # Errors
/// If it is no address, or has a password in it.
pub(crate) fn page_address(text: &str) -> Result<String> {
    let address = text.trim().split(['#', '?']).next().unwrap_or_default();
    let uri: Uri = address.parse().map_err(|_| anyhow!("this is not an address"))?;
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    anyhow::ensure!(
        matches!(uri.scheme_str(), Some("http" | "https")) && !authority.is_empty(),
        "this is not an address: it begins with `https://` or `http://`"
    );
    anyhow::ensure!(
        !authority.contains('@'),
        "leave the name and the password out of the address: a token is enough"
    );
    Ok(address.trim_end_matches('/').to_owned())
}

/// A page, and the token that is sent to it.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    url: String,
    token: Option<Token>,
    agent: Agent,
}

impl Page {
    /// The page at an address, for the holder of a token or for the public.
    pub(crate) fn new(url: String, token: Option<Token>) -> Self {
        let agent = agent(&url, PATIENCE);
        Self { url, token, agent }
    }

    /// The address.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Whether a token is sent.
    pub(crate) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    fn address(&self, path: &[&str]) -> String {
        let path: Vec<String> = path.iter().map(|part| escaped(part)).collect();
        format!("{}/api/v1/{}", self.url, path.join("/"))
    }

    /// Reads a path of the read API.
    async fn bytes(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Vec<u8>> {
        let mut request = self.agent.get(self.address(path));
        for (name, value) in query {
            request = request.query(name, value);
        }
        if let Some(Token(token)) = &self.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        self.answered(move || request.call()).await
    }

    async fn get<T: DeserializeOwned>(&self, path: &[&str], query: &[(&str, &str)]) -> Result<T> {
        self.parsed(&self.bytes(path, query).await?)
    }

    fn parsed<T: DeserializeOwned>(&self, bytes: &[u8]) -> Result<T> {
        serde_json::from_slice(bytes).with_context(|| {
            format!(
                "`{}` does not answer like a page of DataPerf: check the address",
                self.url
            )
        })
    }

    async fn answered(
        &self,
        call: impl FnOnce() -> Result<Response<Body>, ureq::Error> + Send + 'static,
    ) -> Result<Vec<u8>> {
        let read = move || {
            let mut response = call()?;
            let body = response
                .body_mut()
                .with_config()
                .limit(MAX_ANSWER_BYTES)
                .read_to_vec()?;
            Ok::<_, ureq::Error>((response.status(), body))
        };
        let (status, body) = tokio::task::spawn_blocking(read).await?.with_context(|| {
            format!(
                "`{}` does not answer: check the address, the network, and the proxy in HTTPS_PROXY",
                self.url
            )
        })?;
        if status.is_success() {
            return Ok(body);
        }
        Err(Refusal::read(&self.url, status.as_u16(), &body).into())
    }

    /// The token's owner.
    pub(crate) async fn who(&self) -> Result<Who> {
        self.get(&["token"], &[]).await
    }

    /// A benchmark with its boards.
    pub(crate) async fn benchmark(&self, id: &str) -> Result<Benchmark> {
        self.get(&["benchmarks", id], &[]).await
    }

    /// A submitter's newest `n` submissions, newest first.
    pub(crate) async fn history(&self, benchmark: &str, submitter: &str, n: usize) -> Result<Vec<Line>> {
        let (mut lines, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let limit = PAGE.min(n - lines.len()).to_string();
            let mut query = vec![("submitter", submitter), ("limit", &limit)];
            query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
            let page: History = self
                .get(&["benchmarks", benchmark, "submissions"], &query)
                .await?;
            lines.extend(page.submissions);
            cursor = page.next;
            if cursor.is_none() || lines.len() >= n {
                return Ok(lines);
            }
        }
    }

    /// Reads a submission; `None` if no submission has this id.
    pub(crate) async fn submission(&self, benchmark: &str, id: &SubmissionId) -> Result<Option<Submission>> {
        let answer = self
            .get(&["benchmarks", benchmark, "submissions", id.as_str()], &[])
            .await;
        match answer {
            Err(error)
                if error
                    .downcast_ref::<Refusal>()
                    .is_some_and(|refusal| refusal.code == "unknown_submission") =>
            {
                Ok(None)
            }
            answer => answer.map(Some),
        }
    }

    /// The receipt of a submission that has ended, as it is answered.
    pub(crate) async fn receipt(&self, benchmark: &str, id: &SubmissionId) -> Result<Vec<u8>> {
        self.bytes(
            &["benchmarks", benchmark, "submissions", id.as_str(), "receipt"],
            &[],
        )
        .await
    }

    /// A board with its first `n` rows, best first.
    pub(crate) async fn board(
        &self,
        benchmark: &str,
        leaderboard: &str,
        round: &str,
        n: usize,
    ) -> Result<Board> {
        let path = ["benchmarks", benchmark, "leaderboards", leaderboard];
        let mut board: Option<Board> = None;
        loop {
            let n_read = board.as_ref().map_or(0, |board| board.rows.len());
            let limit = PAGE.min(n - n_read).to_string();
            let mut query = vec![("round", round), ("limit", &limit)];
            let cursor = board.as_ref().and_then(|board| board.next.clone());
            query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
            let page: Board = self.get(&path, &query).await?;
            let whole = match board.take() {
                None => page,
                Some(mut first) => {
                    first.rows.extend(page.rows);
                    first.next = page.next;
                    first
                }
            };
            if whole.next.is_none() || whole.rows.len() >= n {
                return Ok(whole);
            }
            board = Some(whole);
        }
    }

    /// A form that uploads one file, if the file can be scored now.
    pub(crate) async fn form(&self, request: &UploadRequest<'_>) -> Result<Form> {
        let UploadRequest {
            benchmark,
            leaderboard,
            submitter,
            file,
            n_bytes,
        } = request;
        let mut document =
            json!({ "benchmark": benchmark, "leaderboard": leaderboard, "file": file, "n_bytes": n_bytes });
        if let (Some(submitter), Value::Object(document)) = (submitter, &mut document) {
            document.insert("submitter".into(), json!(submitter));
        }
        let mut request = self
            .agent
            .post(self.address(&["uploads"]))
            .header(header::CONTENT_TYPE, "application/json");
        if let Some(Token(token)) = &self.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let body = document.to_string();
        self.parsed(&self.answered(move || request.send(body)).await?)
    }

    /// Sends a file by its form, straight to the bucket; the bar counts what is sent.
    pub(crate) async fn send(&self, form: &Form, name: &str, bytes: &[u8], bar: ProgressBar) -> Result<()> {
        let boundary = Digest::compute(bytes).hex(); // which no file has in it
        let mut body = Vec::new();
        for field in &form.fields {
            let disposition = format!("Content-Disposition: form-data; name=\"{}\"", field.name);
            body.extend_from_slice(
                format!("--{boundary}\r\n{disposition}\r\n\r\n{}\r\n", field.value).as_bytes(),
            );
        }
        let name: String = name
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || "._-".contains(*c))
            .collect();
        let disposition = format!("Content-Disposition: form-data; name=\"file\"; filename=\"{name}\"");
        let media = "Content-Type: application/octet-stream";
        body.extend_from_slice(format!("--{boundary}\r\n{disposition}\r\n{media}\r\n\r\n").as_bytes());
        body.extend_from_slice(bytes);
        body.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
        bar.set_length(body.len() as u64);
        let request = agent(&form.url, PATIENCE)
            .post(&form.url)
            .header(
                header::CONTENT_TYPE,
                format!("multipart/form-data; boundary={boundary}"),
            )
            .header(header::CONTENT_LENGTH, body.len().to_string());
        let sent = tokio::task::spawn_blocking(move || {
            let mut response = request.send(SendBody::from_owned_reader(bar.wrap_read(Cursor::new(body))))?;
            let text = response.body_mut().read_to_string().unwrap_or_default();
            Ok::<_, ureq::Error>((response.status(), text))
        });
        let bucket = host(&form.url).unwrap_or_default();
        let (status, text) = sent.await?.with_context(|| {
            format!("can't send the file to `{bucket}`: check the network and the proxy in HTTPS_PROXY, then submit again")
        })?;
        if status.is_success() {
            return Ok(());
        }
        let message = text
            .split_once("<Message>")
            .and_then(|(_, rest)| rest.split_once("</Message>"));
        let message = message.map_or_else(
            || format!("it answered {status}"),
            |(message, _)| message.to_owned(),
        );
        Err(anyhow!(
            "`{bucket}` refused the file: {message}. Submit it again; if it stays so, tell the organizer"
        ))
    }
}

/// A file for which a form is wanted.
pub(crate) struct UploadRequest<'a> {
    pub(crate) benchmark: &'a str,
    pub(crate) leaderboard: &'a str,
    /// Its owner if given; otherwise the token's.
    pub(crate) submitter: Option<&'a str>,
    pub(crate) file: &'a str,
    pub(crate) n_bytes: usize,
}
