//! Services that make images, by the endpoint that most of them have: `POST /v1/images/generations`, with images in base 64 or at
//! addresses in the answer, and refusals in the forms of the common services.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::common::external_services::{Client, Failure, NotAnswered, client, is_worth_a_call, kind_of};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dataperf_aws::Pauses;
use dataperf_collections::nibbler::{Generation, Provider, ResponseFormat};
use futures_util::future::join_all;
use http::uri::Scheme;
use http::{HeaderMap, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use serde::Deserialize;
use serde_json::{Value, json};

const PATH: &str = "/v1/images/generations";
/// The maximum bytes of an answer besides its images.
const MAX_WRAPPING_BYTES: u64 = 256 << 10;
/// The most bytes that a refusal may have.
const MAX_REFUSAL_BYTES: usize = 64 << 10;
const PAUSES: Pauses = Pauses {
    first: Duration::from_millis(250),
    longest: Duration::from_secs(20),
};
/// The words by which services say that their policy forbids a prompt or an image, in small letters and without separators.
const POLICY_WORDS: &[&str] = &[
    "contentblocked",
    "contentfilter",
    "contentfiltered",
    "contentmoderated",
    "contentmoderation",
    "contentpolicy",
    "contentpolicyviolation",
    "imagesafety",
    "invalidprompt",
    "moderationblocked",
    "nsfwcontent",
    "prohibitedcontent",
    "requestmoderated",
    "responsibleaipolicyviolation",
    "safety",
    "safetyviolation",
    "sensitivecontent",
];
/// The members of an answer that have such words; messages for people are not read.
const POLICY_MEMBERS: &[&str] = &[
    "code",
    "finish_reason",
    "finishReason",
    "name",
    "reason",
    "status",
    "type",
];
/// The statuses of answers that may refuse a prompt.
const POLICY_STATUSES: &[u16] = &[400, 403, 422, 451];
/// How many levels of an answer are searched for such words.
const MAX_DEPTH: usize = 6;

/// The result of a service.
#[derive(Debug, PartialEq)]
pub(crate) enum Given {
    /// The images' bytes, not inspected yet and perhaps too few, and the number of images that were
    /// made but withheld.
    Images(Vec<Vec<u8>>, usize),
    /// Nothing: its policy forbids the prompt.
    Refused,
}

/// The connections to all services.
pub(crate) struct Services {
    http: Client,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Datum>,
}

/// One image: its bytes in base 64, or where they are.
#[derive(Deserialize)]
struct Datum {
    #[serde(default)]
    b64_json: Option<String>,
    #[serde(default)]
    url: Option<String>,
    #[serde(flatten)]
    rest: serde_json::Map<String, Value>,
}

/// One image of an answer.
#[derive(Debug, PartialEq)]
enum Answered {
    Bytes(Vec<u8>),
    At(String),
    Blocked,
}

impl Services {
    pub(crate) fn new() -> Result<Self, std::io::Error> {
        Ok(Self { http: client()? })
    }

    /// Calls a service until it returns a result that `look` accepts, as often as the configuration
    /// allows and until `deadline`. Sets `may_cost` if a call may have to be paid for, whatever its
    /// result.
    pub(crate) async fn ask<T>(
        &self,
        (provider, key): (&Provider, &str),
        prompt: &str,
        limits: &Generation,
        (deadline, may_cost): (Instant, &Cell<bool>),
        look: impl Fn(Given) -> Result<T, NotAnswered>,
    ) -> Result<T, NotAnswered> {
        let mut tries = 0;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let patience = Duration::from_secs(limits.call_seconds).min(left);
            let call = self.call(provider, key, prompt, limits, may_cost);
            let called = tokio::time::timeout(patience, call).await;
            let called = called.unwrap_or_else(|_| {
                may_cost.set(true); // the service may have made images all the same
                Err(Failure::transient(format!(
                    "gave no answer in {:.1} s",
                    patience.as_secs_f64()
                )))
            });
            let failure = match called.and_then(|given| look(given).map_err(Failure::from)) {
                Ok(seen) => return Ok(seen),
                Err(failure) => failure,
            };
            tries += 1;
            let pause = failure.pause(PAUSES, tries);
            let left = deadline.saturating_duration_since(Instant::now());
            if matches!(failure.error, NotAnswered::Organizer(_))
                || tries > limits.retries
                || !is_worth_a_call(left, pause)
            {
                return Err(named(failure.error, provider, tries));
            }
            tokio::time::sleep(pause).await;
        }
    }

    async fn call(
        &self,
        provider: &Provider,
        key: &str,
        prompt: &str,
        limits: &Generation,
        may_cost: &Cell<bool>,
    ) -> Result<Given, Failure> {
        let mut question = json!({
            "model": provider.model, "prompt": prompt, "n": provider.images, "size": provider.size,
        });
        match provider.response_format {
            ResponseFormat::Base64 => question["response_format"] = json!("b64_json"),
            ResponseFormat::Url => question["response_format"] = json!("url"),
            ResponseFormat::LeftOut => {}
        }
        let request = Request::post(format!("{}{PATH}", provider.url.trim_end_matches('/')))
            .header(header::AUTHORIZATION, format!("Bearer {key}"))
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json")
            .body(Full::from(question.to_string()));
        let request =
            request.map_err(|_| Failure::organizer("its address or its key can't be put into a request"))?;
        let answer = self.http.request(request).await;
        let answer = answer.map_err(|error| {
            if !error.is_connect() {
                may_cost.set(true); // it has the request
            }
            Failure::transient(format!("can't be reached: {}", kind_of(&error)))
        })?;
        let (parts, body) = answer.into_parts();
        // a gateway that gives up does not stop the service behind it
        let gave_up = [StatusCode::BAD_GATEWAY, StatusCode::GATEWAY_TIMEOUT].contains(&parts.status);
        if parts.status.is_success() || gave_up {
            may_cost.set(true);
        }
        if parts.status != StatusCode::OK {
            let body = Limited::new(body, MAX_REFUSAL_BYTES).collect().await;
            let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
            return refusal(parts.status, &parts.headers, &body);
        }
        let is_json = parts.headers.get(header::CONTENT_TYPE).is_some_and(|kind| {
            kind.to_str()
                .is_ok_and(|kind| kind.trim_start().starts_with("application/json"))
        });
        if !is_json {
            return Err(Failure::transient("answered with something else than JSON"));
        }
        // base 64 is a third longer than its bytes
        let most = provider.images as u64 * (limits.max_image_bytes / 3 + 1) * 4 + MAX_WRAPPING_BYTES;
        let body = Limited::new(body, usize::try_from(most).unwrap_or(usize::MAX));
        let body = body.collect().await;
        let body = body
            .map_err(|_| Failure::transient(format!("broke off, or answered with more than {most} bytes")))?;
        let answered = images(&body.to_bytes(), provider.images)?;
        let n_blocked = answered
            .iter()
            .filter(|image| **image == Answered::Blocked)
            .count();
        let bytes = answered.into_iter().map(|image| async {
            match image {
                Answered::Bytes(bytes) => Ok(Some(bytes)),
                Answered::At(url) => self
                    .image_at(&url, provider, limits.max_image_bytes)
                    .await
                    .map(Some),
                Answered::Blocked => Ok(None),
            }
        });
        let downloads: Vec<Result<Option<Vec<u8>>, Failure>> = join_all(bytes).await;
        let fault = || downloads.iter().all(Result::is_err);
        if !downloads.is_empty() && fault() {
            let first = downloads.into_iter().find_map(Result::err);
            return Err(first.unwrap_or_else(|| Failure::transient("gave no image")));
        }
        let bytes = downloads.into_iter().filter_map(Result::ok).flatten().collect();
        Ok(Given::Images(bytes, n_blocked))
    }

    /// Fetches the image at an address of an answer. The request omits the key, which belongs to
    /// the service and not to the host of its images.
    async fn image_at(&self, url: &str, provider: &Provider, max_bytes: u64) -> Result<Vec<u8>, Failure> {
        let url = image_address(url, provider)?;
        let answer = self.http.get(url).await;
        let answer = answer
            .map_err(|error| Failure::transient(format!("gave an image's address: {}", kind_of(&error))))?;
        let (parts, body) = answer.into_parts();
        if parts.status != StatusCode::OK {
            let message = format!(
                "gave an image's address that answers with {}",
                parts.status.as_u16()
            );
            let after = Failure::of_status(parts.status, &parts.headers, "").after;
            return Err(Failure {
                after,
                ..Failure::transient(message)
            });
        }
        // one byte more than allowed is read, so that an image that is too large is found to be so
        let most = usize::try_from(max_bytes).unwrap_or(usize::MAX).saturating_add(1);
        let body = Limited::new(body, most).collect().await;
        let body = body.map_err(|_| {
            Failure::transient(format!(
                "gave an image of more than {max_bytes} bytes, or broke off"
            ))
        })?;
        Ok(body.to_bytes().to_vec())
    }
}

/// An address of an answer, if the service may have images there: at its own host and port, or over HTTPS at a host that the configuration lists. No
/// service can have the function send requests to other machines.
fn image_address(url: &str, provider: &Provider) -> Result<Uri, Failure> {
    let no_address = || Failure::transient("gave an address without an image");
    let (image, own): (Uri, Option<Uri>) =
        (url.parse().map_err(|_| no_address())?, provider.url.parse().ok());
    let host = image.host().filter(|_| image.scheme().is_some());
    let host = host.ok_or_else(no_address)?;
    let is_own =
        own.is_some_and(|own| (image.scheme(), image.authority()) == (own.scheme(), own.authority()));
    let is_https = image.scheme() == Some(&Scheme::HTTPS) && image.port_u16().is_none_or(|port| port == 443);
    if is_own || is_https && provider.has_images_at(host) {
        return Ok(image);
    }
    Err(Failure::organizer(
        "gave an image's address at a host that `image_hosts` does not list: list the host, or ask for `b64_json`",
    ))
}

/// The images of an answer, at most as many as requested. It drops those that are neither base 64
/// nor an address.
fn images(body: &[u8], request: usize) -> Result<Vec<Answered>, Failure> {
    let answer: Result<Answer, _> = serde_json::from_slice(body);
    let answer = answer.map_err(|_| Failure::transient("answered with JSON of another form"))?;
    let data = answer.data.into_iter().take(request);
    Ok(data
        .filter_map(|datum| match (datum.b64_json, datum.url) {
            _ if is_policy(&Value::Object(datum.rest), MAX_DEPTH) => Some(Answered::Blocked),
            (Some(text), _) => STANDARD.decode(text).ok().map(Answered::Bytes),
            (None, url) => url.map(Answered::At),
        })
        .collect())
}

/// Whether a service says, in one of the members where services say so, that its policy forbids something.
fn is_policy(value: &Value, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    match value {
        Value::Object(members) => members.iter().any(|(name, value)| match value {
            Value::String(text) => POLICY_MEMBERS.contains(&name.as_str()) && is_policy_word(text),
            other => is_policy(other, depth),
        }),
        Value::Array(values) => values.iter().any(|value| is_policy(value, depth)),
        _ => false,
    }
}

fn is_policy_word(text: &str) -> bool {
    let letters = text.chars().filter(char::is_ascii_alphanumeric);
    let word: String = letters.map(|c| c.to_ascii_lowercase()).collect();
    POLICY_WORDS.contains(&word.as_str())
}

fn refusal(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Result<Given, Failure> {
    let body_one: Value = serde_json::from_slice(body).unwrap_or_default();
    if POLICY_STATUSES.contains(&status.as_u16()) && is_policy(&body_one, MAX_DEPTH) {
        return Ok(Given::Refused);
    }
    let check = "check its address, its key and its model";
    Err(Failure::of_status(status, headers, check))
}

fn named(error: NotAnswered, provider: &Provider, tries: u32) -> NotAnswered {
    error.map(|problem| format!("the provider `{}` {problem} (tried {tries} times)", provider.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_codes_classify_each_refusal() {
        let refused = |status: u16, body: &str| {
            let status = StatusCode::from_u16(status).expect("a status");
            refusal(status, &HeaderMap::new(), body.as_bytes()).map_err(|failure| failure.error)
        };
        let policy = r#"{"error": {"code": "content_policy_violation", "message": "no"}}"#;
        assert_eq!(refused(400, policy), Ok(Given::Refused));
        for (status, body) in [
            (
                400,
                r#"{"error": {"code": "invalid_prompt", "type": "invalid_request_error"}}"#,
            ),
            (403, policy),
            (
                400,
                r#"{"error": {"code": "contentFilter", "inner_error": {"code": "ResponsibleAIPolicyViolation"}}}"#,
            ),
            (
                403,
                r#"{"id": "1", "name": "content_moderation", "errors": ["no"]}"#,
            ),
            (
                422,
                r#"{"detail": [{"loc": ["body", "prompt"], "type": "content_policy_violation"}]}"#,
            ),
            (
                400,
                r#"{"error": {"code": 400, "status": "INVALID_ARGUMENT", "details": [{"reason": "IMAGE_SAFETY"}]}}"#,
            ),
        ] {
            assert_eq!(refused(status, body), Ok(Given::Refused), "{body}");
        }
        let of_a_person = r#"{"error": {"code": "invalid_value", "message": "content_policy_violation"}}"#;
        for (status, body) in [
            (400, "{}"),
            (400, of_a_person),
            (401, policy),
            (403, "{}"),
            (404, ""),
            (302, ""),
        ] {
            assert!(
                matches!(refused(status, body), Err(NotAnswered::Organizer(_))),
                "{status}"
            );
        }
        for status in [408, 409, 425, 429, 500, 502, 503, 504] {
            assert!(
                matches!(refused(status, ""), Err(NotAnswered::Transient(_))),
                "{status}"
            );
        }
    }

    #[test]
    fn images_are_fetched_from_listed_hosts_alone() {
        let at = |own: &str, url: &str| {
            let provider: Provider = serde_json::from_value(json!({
                "name": "a", "url": own, "model": "b", "secret": "c", "image_hosts": ["img.example", "*.files.example"],
            }))
            .expect("a provider");
            image_address(url, &provider)
                .map(|url| url.to_string())
                .map_err(|failure| failure.error)
        };
        let own = "https://api.example:8443/draw";
        for url in [
            "https://api.example:8443/1.png",
            "https://img.example/1.png?token=2",
            "https://img.example:443/1.png",
            "https://eu.files.example/1.png",
        ] {
            assert_eq!(at(own, url), Ok(url.to_owned()));
        }
        for url in [
            "https://169.254.169.254/latest/meta-data",
            "https://[::1]/1.png",
            "https://127.0.0.1/1.png",
            "https://localhost/1.png",
            "https://api.example/1.png",
            "http://api.example:8443/1.png",
            "http://img.example/1.png",
            "https://img.example:8080/1.png",
            "https://img.example@evil.example/1.png",
            "https://img.example.evil.example/1.png",
            "https://other.example/1.png",
        ] {
            assert!(matches!(at(own, url), Err(NotAnswered::Organizer(_))), "{url}");
        }
        let local = "http://127.0.0.1:9000";
        assert!(
            at(local, "http://127.0.0.1:9000/drawn/0").is_ok(),
            "its own images"
        );
        assert!(
            at(local, "http://127.0.0.1:8000/").is_err(),
            "another port of this machine"
        );
        assert!(matches!(at(own, "1.png"), Err(NotAnswered::Transient(_))));
    }

    #[test]
    fn an_answer_is_cut_to_the_requested_number() {
        let datum = |text: &str| json!({ "b64_json": text, "revised_prompt": "x" });
        let body = json!({"created": 1, "data": [datum("AAAA"), datum("!"), datum("AQ=="), datum("AAAA")]});
        let images = |body: &[u8]| images(body, 3).map_err(|failure| failure.error);
        let bytes = |bytes: &[u8]| Answered::Bytes(bytes.to_vec());
        assert_eq!(
            images(body.to_string().as_bytes()),
            Ok(vec![bytes(&[0, 0, 0]), bytes(&[1])])
        );
        assert!(images(b"{\"data\": 1}").is_err());
        let body = json!({"data": [
            {"url": "https://images.example/1.png", "b64_json": null},
            {"b64_json": "AAAA", "finish_reason": "CONTENT_FILTERED"},
        ]});
        let at = Answered::At("https://images.example/1.png".into());
        assert_eq!(
            images(body.to_string().as_bytes()),
            Ok(vec![at, Answered::Blocked])
        );
    }
}
