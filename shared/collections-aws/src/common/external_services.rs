//! External services that a function calls, such as target models and makers of images: the client, what a failed call means, and how long to wait
//! before the next.

use std::time::Duration;

use bytes::Bytes;
use dataperf::evaluation::failure_judge::FaultKind;
use dataperf::evaluation::workflow::WorkflowError;
use dataperf_aws::Pauses;
use http::{HeaderMap, StatusCode, header};
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

/// How long a connection to a service may take to open.
const CONNECT: Duration = Duration::from_secs(5);

/// The client for services, over HTTP or HTTPS.
pub type Client = legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// A client that trusts the certificates of this machine.
///
/// # Errors
/// When this machine has no certificates to trust.
pub fn client() -> Result<Client, std::io::Error> {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_connect_timeout(Some(CONNECT)); // what can't be reached is told from what does not answer
    let connector = HttpsConnectorBuilder::new()
        .with_provider_and_native_roots(rustls::crypto::ring::default_provider())?;
    let connector = connector.https_or_http().enable_http1().wrap_connector(http);
    Ok(legacy::Client::builder(TokioExecutor::new()).build(connector))
}

/// Why a service has not answered. None of the words is the service's own: they might contain its key, or a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAnswered {
    /// It failed this time; another call may succeed.
    #[error("{0}")]
    Transient(String),
    /// It was not called this time, and may be the next time.
    #[error("{0}")]
    NotAsked(String),
    /// It refuses this request, and answers others.
    #[error("{0}")]
    Refused(String),
    /// It will not answer before the organizer fixes something.
    #[error("{0}")]
    Organizer(String),
}

impl NotAnswered {
    /// The same kind with other words.
    #[must_use]
    pub fn map(self, words: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::Transient(message) => Self::Transient(words(message)),
            Self::NotAsked(message) => Self::NotAsked(words(message)),
            Self::Refused(message) => Self::Refused(words(message)),
            Self::Organizer(message) => Self::Organizer(words(message)),
        }
    }
}

impl From<NotAnswered> for WorkflowError {
    fn from(not: NotAnswered) -> Self {
        let fault = match not {
            NotAnswered::Transient(_) | NotAnswered::NotAsked(_) => FaultKind::Provider,
            NotAnswered::Refused(_) | NotAnswered::Organizer(_) => FaultKind::Organizer,
        };
        Self::judge(fault, not.to_string())
    }
}

/// One failed call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Why it failed.
    pub error: NotAnswered,
    /// When the service asks to be called again.
    pub after: Option<Duration>,
}

impl Failure {
    /// A failure that may pass.
    pub fn transient(message: impl Into<String>) -> Self {
        NotAnswered::Transient(message.into()).into()
    }

    /// A failure that the organizer has to fix.
    pub fn organizer(message: impl Into<String>) -> Self {
        NotAnswered::Organizer(message.into()).into()
    }

    /// The meaning of an answer other than 200; `check` tells the organizer what to check if a
    /// retry does not help.
    pub fn of_status(status: StatusCode, headers: &HeaderMap, check: &str) -> Self {
        let seconds = headers
            .get(header::RETRY_AFTER)
            .and_then(|value| value.to_str().ok());
        let after = seconds
            .and_then(|seconds| seconds.trim().parse().ok())
            .map(Duration::from_secs);
        let passes = status.is_server_error()
            || [
                StatusCode::REQUEST_TIMEOUT,
                StatusCode::CONFLICT,
                StatusCode::TOO_EARLY,
                StatusCode::TOO_MANY_REQUESTS,
            ]
            .contains(&status);
        let message = format!("answered with {}", status.as_u16());
        if passes {
            let error = NotAnswered::Transient(message);
            return Self { error, after };
        }
        Self::organizer(format!("{message}: {check}"))
    }

    /// The wait after the `n_tries`-th try, from 1, ended so. It is longer than the service
    /// demands, so that callers with the same demand do not all return at once.
    pub fn pause(&self, pauses: Pauses, n_tries: u32) -> Duration {
        let after = self.after.unwrap_or_default();
        after.saturating_add(pauses.after(n_tries))
    }
}

/// The least time for which a call is made again.
const SHORTEST_CALL: Duration = Duration::from_secs(1);

/// Whether there is time for another call after a pause: of a call that has next to no time nothing would be known but that it was made.
pub fn is_worth_a_call(left: Duration, pause: Duration) -> bool {
    left > pause.saturating_add(SHORTEST_CALL)
}

impl From<NotAnswered> for Failure {
    fn from(error: NotAnswered) -> Self {
        Self { error, after: None }
    }
}

/// The kind of error that ended a call, without the service's words.
pub fn kind_of(error: &legacy::Error) -> &'static str {
    if error.is_connect() {
        "no connection"
    } else {
        "the connection broke off"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_pauses_are_bounded_and_respect_the_service() {
        let pauses = Pauses {
            first: Duration::from_millis(250),
            longest: Duration::from_secs(20),
        };
        let mut failure = Failure::transient("is busy");
        for n_tries in 1..40 {
            let pause = failure.pause(pauses, n_tries);
            assert!(pause <= pauses.longest, "{n_tries} {pause:?}");
        }
        let after = Duration::from_secs(70);
        failure.after = Some(after);
        let waits: Vec<Duration> = (0..40).map(|_| failure.pause(pauses, 1)).collect();
        assert!(
            waits
                .iter()
                .all(|wait| (after..=after + pauses.first).contains(wait)),
            "{waits:?}"
        );
        assert!(waits.iter().any(|wait| *wait > after), "not all at once");
    }

    #[test]
    fn a_call_has_a_second_at_least() {
        let [second, minute] = [Duration::from_secs(1), Duration::from_mins(1)];
        assert!(is_worth_a_call(minute, second));
        assert!(!is_worth_a_call(minute, minute) && !is_worth_a_call(minute, Duration::from_secs(59)));
        assert!(!is_worth_a_call(minute, Duration::MAX));
    }

    #[test]
    fn status_codes_determine_transient_failures() {
        for status in [408, 409, 425, 429, 500, 502, 503, 504, 400, 401, 403, 404, 302] {
            let code = StatusCode::from_u16(status).expect("a status");
            let failure = Failure::of_status(code, &HeaderMap::new(), "check its key");
            let passes = [408, 409, 425, 429].contains(&status) || status >= 500;
            let is_transient = matches!(failure.error, NotAnswered::Transient(_));
            assert_eq!(is_transient, passes, "{status}: {failure:?}");
        }
        let headers = [(header::RETRY_AFTER, "7".parse().expect("a value"))];
        let headers: HeaderMap = headers.into_iter().collect();
        let busy = Failure::of_status(StatusCode::TOO_MANY_REQUESTS, &headers, "");
        assert_eq!(busy.after, Some(Duration::from_secs(7)));
    }
}
